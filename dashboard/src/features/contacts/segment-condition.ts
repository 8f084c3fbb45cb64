import type { Body } from '@sterna/sdk'
import type { ListRequest } from '../../list/list-search.ts'
import { contactFilter } from './contact-filter.ts'

type Condition = NonNullable<Body<'POST /segments'>['condition']>
type ConditionFilter = Condition['groups'][number]['filters'][number]
type KnownField = { field: string; type: string }

/** The condition of a segment that has the contacts of this list. Undefined if nothing is filtered. */
export function conditionOf(
  request: Pick<ListRequest, 'q' | 'filters'>,
  fields: KnownField[],
  nameFields: string[],
): Condition | undefined {
  const { q, subscribed, createdFrom, createdTo, segmentId, field, value, condition } = contactFilter(request)
  const filters: ConditionFilter[] = [
    ...(subscribed !== undefined ? [{ field: 'subscribed', operator: 'equals' as const, value: subscribed }] : []),
    ...(createdFrom ? [{ field: 'createdAt', operator: 'greaterThanOrEqual' as const, value: createdFrom }] : []),
    ...(createdTo ? [{ field: 'createdAt', operator: 'lessThanOrEqual' as const, value: createdTo }] : []),
    ...(field !== undefined && value !== undefined
      ? [{ field: `data.${field}`, operator: 'equals' as const, value: typed(value, fields.find((each) => each.field === field)?.type) }]
      : []),
    ...(segmentId ? [{ field: `segment.${segmentId}`, operator: 'memberOfSegment' as const }] : []),
  ]
  const nested = [q ? namedLike(q, nameFields) : undefined, condition].filter((each) => each !== undefined)
  if (filters.length === 0 && nested.length < 2) return nested[0]
  const [first, ...others] = nested
  return {
    logic: 'AND',
    groups: [{ filters, ...(first && { conditions: first }) }, ...others.map((conditions) => ({ filters: [], conditions }))],
  }
}

/** Part of the address or of a name. A name of several fields has a word in each of them, or all of it in one. */
function namedLike(q: string, nameFields: string[]): Condition {
  const contains = (field: string, value: string): ConditionFilter => ({ field, operator: 'contains', value })
  const words = q.trim().split(/\s+/)
  const alternatives = nameFields.flatMap((alternative) => {
    const fields = alternative.split(' + ').map((field) => `data.${field}`)
    const each = fields.map((field) => [contains(field, q)])
    return fields.length > 1 && fields.length === words.length ? [...each, fields.map((field, at) => contains(field, words[at]!))] : each
  })
  return { logic: 'OR', groups: [[contains('email', q)], ...alternatives].map((filters) => ({ filters })) }
}

/** A value in a URL is text; a condition compares it with its type. */
function typed(value: string, type: string | undefined): string | number | boolean {
  if (type === 'number' && value.trim() !== '' && Number.isFinite(Number(value))) return Number(value)
  return type === 'boolean' && (value === 'true' || value === 'false') ? value === 'true' : value
}
