/** Numbers by key; a key at zero is not in it. */
export type Counts = ReadonlyMap<string, number>
/** Counts of what owners hold of something that they share: slots, emails, bytes. */
export type Held = { counts: Counts; of: (owner: string) => number; sum: () => number }

/** Counts that go up and down, and their sum, for numbers that are asked too often to be counted each time. */
export function createCounts() {
  const counts = new Map<string, number>()
  let sum = 0
  const of = (key: string) => counts.get(key) ?? 0
  return {
    counts: counts as Counts,
    of,
    sum: () => sum,
    change(key: string, by: number) {
      const before = of(key)
      const count = Math.max(0, before + by)
      sum += count - before
      if (count > 0) counts.set(key, count)
      else counts.delete(key)
    },
  }
}

/** The same counts by another key, such as the owners of projects. */
export function countBy(counts: Iterable<[string, number]>, keyOf: (key: string) => string) {
  const grouped = createCounts()
  for (const [key, count] of counts) grouped.change(keyOf(key), count)
  return grouped
}
