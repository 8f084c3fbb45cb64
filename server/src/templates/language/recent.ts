/** Keeps what was used last, up to a number of entries and of characters of their keys. */
export function createRecent<Value>({ entries, characters }: { entries: number; characters: number }) {
  // A Map remembers the order of insertion; what is used moves to its end.
  const kept = new Map<string, Value>()
  let size = 0
  return {
    get(key: string): Value | undefined {
      const value = kept.get(key)
      if (value === undefined) return undefined
      kept.delete(key)
      kept.set(key, value)
      return value
    },
    set(key: string, value: Value) {
      if (kept.delete(key)) size -= key.length
      kept.set(key, value)
      size += key.length
      for (const oldest of kept.keys()) {
        if (kept.size <= entries && size <= characters) break
        kept.delete(oldest)
        size -= oldest.length
      }
    },
    get size() {
      return kept.size
    },
  }
}
