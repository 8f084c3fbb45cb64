/** How much smaller the next page of contacts is after a slow one, and how much larger at most after a quick one. */
export const PAGE_FACTOR = 4
/** Other scans wait for the page, so pages should take less. */
const SLOW_MS = 500
/** A slow page of no more contacts is slow for another reason, such as a busy machine. If not, it exceeds its limit and is made smaller. */
const SMALL_PAGE = 100

/** Contacts of the page that follows one of `size` contacts, which took `ms`. */
export function sizeAfterPage(size: number, { ms, largest }: { ms: number; largest: number }) {
  if (ms < SLOW_MS) return Math.min(largest, Math.floor(size * Math.min(PAGE_FACTOR, SLOW_MS / ms)))
  return size > SMALL_PAGE ? Math.max(SMALL_PAGE, Math.floor(size / PAGE_FACTOR)) : size
}
