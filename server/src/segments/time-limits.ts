import { SECOND } from '../lib/text/units.ts'

/** A request that creates or changes a segment counts this long before it answers with an estimate. */
export const COUNT_NOW_MS = SECOND
/** The segment is stored by then, so the request must not fail: without an estimate in this time the count is left to a job. */
export const ESTIMATE_MS = 2 * SECOND
/** Longest scan of all contacts for a preview. */
export const PREVIEW_SCAN_MS = 2 * SECOND
