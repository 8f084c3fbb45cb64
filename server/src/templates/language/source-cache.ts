import { createCache } from '../../lib/cache.ts'
import { fingerprint } from '../../lib/fingerprint.ts'

/**
 * Keeps what was used last, up to a number of entries and of bytes, as estimated by whoever adds them. Of texts with the same gist only
 * the last.
 */
export function createSourceCache<Value>({ entries, bytes }: { entries: number; bytes: number }) {
  const kept = createCache<string, { text: string; value: Value }>({ maxEntries: entries, maxWeight: bytes })
  return {
    get(text: string): Value | undefined {
      const gist = fingerprint(text)
      const entry = kept.get(gist)
      if (entry?.text !== text) return undefined
      return kept.touch(gist)?.value
    },
    set(text: string, value: Value, size: number) {
      kept.set(fingerprint(text), { text, value }, size)
    },
    get size() {
      return kept.size
    },
  }
}
