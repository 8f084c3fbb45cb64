/** From the deadline of a wait to its timeout, in workers of these tests: shorter than in the product, so that a run is short. */
export const TIMEOUT_AFTER_MS = 1_000
