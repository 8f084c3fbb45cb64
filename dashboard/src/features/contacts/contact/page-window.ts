/** Pages of the timeline on screen: 200 entries. */
export const PAGES_SHOWN = 4

/** The loaded pages within the window: without `skipped` newer ones, and without older ones. */
export const pagesInWindow = <Page>(pages: Page[], skipped: number) => pages.slice(skipped, skipped + PAGES_SHOWN)

/** Newer pages to leave out so that the last one is shown. */
export const skippedToShow = (loaded: number) => Math.max(0, loaded - PAGES_SHOWN)
