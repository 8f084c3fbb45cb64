/** Typed or pasted entries: addresses, and domains with or without an @. The server validates each. */
export function readEntries(text: string): string[] {
  const found = text
    .split(/[\s,;<>"'()]+/)
    .map((entry) => entry.replace(/^@/, ''))
    .filter((entry) => /.[.@]./.test(entry))
  return [...new Map(found.map((entry) => [entry.toLowerCase(), entry])).values()]
}

/** One request takes this many. */
export const MAX_ENTRIES = 1_000

export function inBatches(entries: string[]): string[][] {
  const count = Math.ceil(entries.length / MAX_ENTRIES)
  return Array.from({ length: count }, (_, index) => entries.slice(index * MAX_ENTRIES, (index + 1) * MAX_ENTRIES))
}

type Result = { addedCount: number; existingCount: number; invalid: string[] }

const NOTHING: Result = { addedCount: 0, existingCount: 0, invalid: [] }

export const addUp = (results: Result[]): Result =>
  results.reduce(
    (sum, { addedCount, existingCount, invalid }) => ({
      addedCount: sum.addedCount + addedCount,
      existingCount: sum.existingCount + existingCount,
      invalid: [...sum.invalid, ...invalid],
    }),
    NOTHING,
  )

/** `12 suppressed, 3 were suppressed before, 1 is neither an address nor a domain`. */
export function describeSuppressed({ addedCount, existingCount, invalid }: Result): string {
  const parts = [
    `${addedCount} suppressed`,
    ...(existingCount > 0 ? [`${existingCount} ${existingCount === 1 ? 'was' : 'were'} suppressed before`] : []),
    ...(invalid.length > 0 ? [`${invalid.length} ${invalid.length === 1 ? 'is' : 'are'} neither an address nor a domain`] : []),
  ]
  return parts.join(', ')
}
