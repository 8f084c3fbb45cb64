import { createCache } from '../../lib/collections/cache.ts'
import { fingerprint } from '../../lib/text/fingerprint.ts'

/** LRU cache by template source, bounded by entries and by bytes as the caller estimates them. Sources with the same fingerprint replace each other. */
export function createSourceCache<Value>({ entries, bytes }: { entries: number; bytes: number }) {
  const kept = createCache<string, { text: string; value: Value }>({ maxEntries: entries, maxWeight: bytes })
  return {
    get(text: string): Value | undefined {
      const key = fingerprint(text)
      const entry = kept.get(key)
      if (entry?.text !== text) return undefined
      return kept.touch(key)?.value
    },
    set(text: string, value: Value, size: number) {
      kept.set(fingerprint(text), { text, value }, size)
    },
    get size() {
      return kept.size
    },
  }
}
