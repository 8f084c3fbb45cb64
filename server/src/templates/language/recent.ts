/** Keeps what was used last, up to a number of entries and of bytes, as estimated by whoever adds them. */
export function createRecent<Value>({ entries, bytes }: { entries: number; bytes: number }) {
  // A Map remembers the order of insertion; what is used moves to its end.
  const kept = new Map<string, { value: Value; size: number }>()
  let total = 0
  const drop = (key: string) => {
    total -= kept.get(key)?.size ?? 0
    kept.delete(key)
  }
  return {
    get(key: string): Value | undefined {
      const entry = kept.get(key)
      if (entry === undefined) return undefined
      kept.delete(key)
      kept.set(key, entry)
      return entry.value
    },
    set(key: string, value: Value, size: number) {
      drop(key)
      kept.set(key, { value, size })
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
