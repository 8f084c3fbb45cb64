import type { ConditionInput, Sterna } from '@sterna/sdk'
import { readConditionText } from '../../conditions/builder/condition-text.ts'
import { readRange } from '../../list/filters.ts'
import type { ListRequest } from '../../list/list-search.ts'
import type { Selection } from '../../list/selection.ts'

type Query = NonNullable<Parameters<Sterna['contacts']['list']>[0]>
type BulkBody = Parameters<Sterna['contacts']['bulkDelete']>[0]
type Filter = Pick<Query, 'q' | 'field' | 'value' | 'createdFrom' | 'createdTo' | 'segmentId'> & {
  subscribed?: boolean
  condition?: ConditionInput
}

/** A field and its value, as one value in the URL: `plan=pro`. A field name may not contain `=`, a value may. */
export function readFieldFilter(text: string | undefined): { field: string; value: string } | undefined {
  const at = text?.indexOf('=') ?? -1
  return at > 0 ? { field: text!.slice(0, at), value: text!.slice(at + 1) } : undefined
}

/** Ignores a text that is no condition: anyone can edit a URL. */
export function readConditionFilter(text: string | undefined): { condition: ConditionInput } | undefined {
  const read = readConditionText(text ?? '')
  return 'condition' in read ? { condition: read.condition } : undefined
}

/** The filter of the URL as the API takes it. */
export function contactFilter({ q, filters }: Pick<ListRequest, 'q' | 'filters'>): Filter {
  const { from, to } = readRange(filters.created)
  const isChosen = filters.subscribed === 'true' || filters.subscribed === 'false'
  return {
    ...(q && { q }),
    ...(isChosen && { subscribed: filters.subscribed === 'true' }),
    ...(from && { createdFrom: from }),
    ...(to && { createdTo: to }),
    ...(filters.segment && { segmentId: filters.segment }),
    ...readConditionFilter(filters.condition),
    ...readFieldFilter(filters.field),
  }
}

export function contactsQuery(request: ListRequest): Query {
  const { subscribed, condition, ...filter } = contactFilter(request)
  const { limit, cursor, sort, dir } = request
  return {
    limit,
    ...filter,
    ...(subscribed !== undefined && { subscribed: subscribed ? ('true' as const) : ('false' as const) }),
    ...(condition && { condition: JSON.stringify(condition) }),
    ...(cursor && { cursor }),
    ...(sort && { sort }),
    ...(dir && { dir }),
  }
}

/** The contacts of a bulk job: the selected ones, or all that match the filters except a few. */
export function bulkBody(selection: Selection, request: Pick<ListRequest, 'q' | 'filters'>): BulkBody {
  if (selection.kind === 'ids') return { mode: 'ids', contactIds: [...selection.ids] }
  const filter = contactFilter(request)
  const isEmpty = Object.keys(filter).length === 0
  return { mode: 'query', excludeIds: [...selection.except], filter, ...(isEmpty && { all: true }) }
}
