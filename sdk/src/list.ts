import { SternaError } from './error.ts'

/** `max`: stops after this many items. Without it, the iteration reads the list to its end. */
export type Bound = { max?: number | undefined }

/** The items of a list, for `for await`. A page is requested when its first item is. */
export type Items<Item> = AsyncGenerator<Item, void, undefined>

const PAGE_SIZE = 100

type CursorPage = { cursor: string | null; hasMore: boolean }
type NumberedPage = { totalPages: number }

/** Items of a list that is paged by cursor: no item is skipped or repeated while others are added. */
export async function* iterateByCursor<Page extends CursorPage, Item>(
  fetchPage: (size: number, cursor: string | undefined) => Promise<Page>,
  itemsOf: (page: Page) => Item[],
  { max = Number.POSITIVE_INFINITY, pageSize = PAGE_SIZE }: Bound & { pageSize?: number | undefined },
): Items<Item> {
  const size = Math.min(pageSize, max)
  let cursor: string | undefined
  for (let left = max; left > 0; ) {
    const page = await fetchPage(size, cursor)
    const items = itemsOf(page).slice(0, left)
    yield* items
    left -= items.length
    if (!page.hasMore || page.cursor === null) return
    // An endless loop otherwise.
    if (page.cursor === cursor) throw new SternaError('UNEXPECTED_RESPONSE', 'The server returned the same page twice.')
    cursor = page.cursor
  }
}

/** Items of a list that is paged by number. Items added or removed meanwhile move the pages, so one may be repeated or skipped. */
export async function* iterateByPage<Page extends NumberedPage, Item>(
  fetchPage: (size: number, page: number) => Promise<Page>,
  itemsOf: (page: Page) => Item[],
  { max = Number.POSITIVE_INFINITY, pageSize = PAGE_SIZE }: Bound & { pageSize?: number | undefined },
): Items<Item> {
  const size = Math.min(pageSize, max)
  let left = max
  for (let page = 1; left > 0; page++) {
    const answer = await fetchPage(size, page)
    const items = itemsOf(answer).slice(0, left)
    yield* items
    left -= items.length
    if (items.length === 0 || page >= answer.totalPages) return
  }
}

/** Items of a list that the server returns as a whole. */
export async function* iterateWhole<Item>(fetchList: () => Promise<Item[]>, { max = Number.POSITIVE_INFINITY }: Bound): Items<Item> {
  if (max > 0) yield* (await fetchList()).slice(0, max)
}
