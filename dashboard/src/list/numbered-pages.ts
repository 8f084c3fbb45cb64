/** For an API that pages by number: the number of the page is the cursor in the URL. Anyone can edit a URL: what is no page number is the first page. */
export const pageOf = (cursor: string | undefined) => (cursor && /^[1-9]\d{0,8}$/.test(cursor) ? Number(cursor) : 1)

type NumberedPage<Row> = { data: Row[]; total: number; page: number; totalPages: number }

export function toCursorPage<Row>({ data, total, page, totalPages }: NumberedPage<Row>) {
  const hasMore = page < totalPages
  return { data, total, hasMore, cursor: hasMore ? String(page + 1) : null }
}
