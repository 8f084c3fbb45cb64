/** Numbers by key. Without a number a key is not there. */
export type Counts = ReadonlyMap<string, number>

/** Counts that go up and down, for what is asked too often to be counted anew each time. */
export function createCounts() {
  const counts = new Map<string, number>()
  const of = (key: string) => counts.get(key) ?? 0
  return {
    counts: counts as Counts,
    of,
    change(key: string, by: number) {
      const count = of(key) + by
      if (count > 0) counts.set(key, count)
      else counts.delete(key)
    },
  }
}
