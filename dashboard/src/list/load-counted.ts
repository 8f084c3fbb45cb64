import type { ListRequest } from './list-search.ts'

/** Loads a page with the total of the list: an API that pages by cursor counts the first page only. */
export async function loadCounted<Page extends { total: number }>(
  load: (request: ListRequest) => Promise<Page>,
  request: ListRequest,
): Promise<Page> {
  const page = await load(request)
  if (request.cursor === undefined || page.total > 0) return page
  const { cursor: _, ...first } = request
  return { ...page, total: (await load({ ...first, limit: 1 })).total }
}
