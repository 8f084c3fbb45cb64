import type { Sterna } from '@sterna/sdk'
import { TYPE_NAMES } from '../../content/values/content-values.ts'
import type { ListRequest } from '../../list/list-search.ts'
import { pageOf } from '../../list/numbered-pages.ts'

type Query = NonNullable<Parameters<Sterna['templates']['list']>[0]>

type TemplateType = keyof typeof TYPE_NAMES

const isType = (value: string | undefined): value is TemplateType => value !== undefined && Object.hasOwn(TYPE_NAMES, value)

/** The API pages by number: the number of the page is the cursor in the URL. */
export function templatesQuery({ limit, cursor, q, sort, dir, filters: { type, workflow } }: ListRequest): Query {
  return {
    page: pageOf(cursor),
    pageSize: limit,
    sort: sort ?? 'updatedAt',
    dir: dir ?? 'desc',
    ...(isType(type) && { type }),
    ...(workflow === 'none' && { workflowId: 'none' as const }),
    ...(q && { search: q }),
  }
}
