const FIRST_MS = 250
const SLOWEST_MS = 2_000

/** Poll interval for something that usually happens within a second: short at first, then longer. `asked` counts the polls so far. */
export const pollInterval = (asked: number): number => Math.min(SLOWEST_MS, FIRST_MS * 2 ** asked)
