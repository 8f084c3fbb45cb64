import { fingerprint } from '../../lib/fingerprint.ts'

/**
 * Keeps what was used last, up to a number of entries and of bytes, as estimated by whoever adds them. Of texts with the same gist only
 * the last.
 */
export function createRecent<Value>({ entries, bytes }: { entries: number; bytes: number }) {
  // A Map remembers the order of insertion; what is used moves to its end.
  const kept = new Map<string, { text: string; value: Value; size: number }>()
  let total = 0
  const drop = (gist: string) => {
    total -= kept.get(gist)?.size ?? 0
    kept.delete(gist)
  }
  return {
    get(text: string): Value | undefined {
      const gist = fingerprint(text)
      const entry = kept.get(gist)
      if (entry?.text !== text) return undefined
      kept.delete(gist)
      kept.set(gist, entry)
      return entry.value
    },
    set(text: string, value: Value, size: number) {
      const gist = fingerprint(text)
      drop(gist)
      kept.set(gist, { text, value, size })
      total += size
      for (const oldest of kept.keys()) {
        if (kept.size <= entries && total <= bytes) break
        drop(oldest)
      }
    },
    get size() {
      return kept.size
    },
  }
}
