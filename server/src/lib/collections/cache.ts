type Limits = { maxEntries?: number; maxWeight?: number }

export type Cache<Key, Value> = ReturnType<typeof createCache<Key, Value>>

/** A map with limits. Beyond them the entry that was written or touched longest ago is dropped first. */
export function createCache<Key, Value>({ maxEntries = Number.POSITIVE_INFINITY, maxWeight = Number.POSITIVE_INFINITY }: Limits) {
  // A Map iterates in the order of insertion, so the first entry is the oldest. A cache without weights pays nothing for them.
  const entries = new Map<Key, Value>()
  const weights = new Map<Key, number>()
  let totalWeight = 0

  function drop(key: Key) {
    entries.delete(key)
    if (!weights.size) return
    totalWeight -= weights.get(key) ?? 0
    weights.delete(key)
  }

  return {
    /** Does not count as a use: a lookup on a hot path stays a lookup. */
    get: (key: Key) => entries.get(key),
    has: (key: Key) => entries.has(key),
    /** Reads an entry and makes it the last to be dropped. */
    touch(key: Key) {
      const value = entries.get(key)
      if (value === undefined) return undefined
      entries.delete(key)
      entries.set(key, value)
      return value
    },
    set(key: Key, value: Value, weight = 0) {
      drop(key)
      entries.set(key, value)
      if (weight) weights.set(key, weight)
      totalWeight += weight
      if (entries.size <= maxEntries && totalWeight <= maxWeight) return
      for (const oldest of entries.keys()) {
        if (entries.size <= maxEntries && totalWeight <= maxWeight) break
        drop(oldest)
      }
    },
    delete: drop,
    values: () => entries.values(),
    get size() {
      return entries.size
    },
  }
}
