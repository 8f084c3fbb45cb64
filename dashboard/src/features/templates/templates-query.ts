import type { Sterna } from '@sterna/sdk'
import type { ListRequest } from '../../list/list-search.ts'

type Query = NonNullable<Parameters<Sterna['templates']['list']>[0]>

export const TYPE_NAMES = { TRANSACTIONAL: 'Transactional', MARKETING: 'Marketing', HEADLESS: 'Marketing, own footer' } as const
type TemplateType = keyof typeof TYPE_NAMES

const isType = (value: string | undefined): value is TemplateType => value !== undefined && Object.hasOwn(TYPE_NAMES, value)

/** Anyone can edit a URL: what is no page number is the first page. */
const pageOf = (cursor: string | undefined) => (cursor && /^[1-9]\d{0,8}$/.test(cursor) ? Number(cursor) : 1)

/** The API pages by number: the number of the page is the cursor in the URL. */
export function templatesQuery({ limit, cursor, q, sort, dir, filters: { type } }: ListRequest): Query {
  return {
    page: pageOf(cursor),
    pageSize: limit,
    sort: sort ?? 'updatedAt',
    dir: dir ?? 'desc',
    ...(isType(type) && { type }),
    ...(q && { search: q }),
  }
}

type NumberedPage<Row> = { data: Row[]; total: number; page: number; totalPages: number }

export function toCursorPage<Row>({ data, total, page, totalPages }: NumberedPage<Row>) {
  const hasMore = page < totalPages
  return { data, total, hasMore, cursor: hasMore ? String(page + 1) : null }
}
