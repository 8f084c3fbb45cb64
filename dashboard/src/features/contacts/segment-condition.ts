import type { Body } from '@sterna/sdk'
import type { ListRequest } from '../../list/list-search.ts'
import { contactFilter } from './contact-filter.ts'

type Condition = NonNullable<Body<'POST /segments'>['condition']>
type ConditionFilter = Condition['groups'][number]['filters'][number]
type KnownField = { field: string; type: string }

/** The condition of a segment that has the contacts of this list. Undefined if nothing is filtered. */
export function conditionOf(request: Pick<ListRequest, 'q' | 'filters'>, fields: KnownField[]): Condition | undefined {
  const { search, subscribed, createdFrom, createdTo, segmentId, field, value } = contactFilter(request)
  const filters: ConditionFilter[] = [
    ...(search ? [{ field: 'email', operator: 'contains' as const, value: search }] : []),
    ...(subscribed !== undefined ? [{ field: 'subscribed', operator: 'equals' as const, value: subscribed }] : []),
    ...(createdFrom ? [{ field: 'createdAt', operator: 'greaterThanOrEqual' as const, value: createdFrom }] : []),
    ...(createdTo ? [{ field: 'createdAt', operator: 'lessThanOrEqual' as const, value: createdTo }] : []),
    ...(field !== undefined && value !== undefined
      ? [{ field: `data.${field}`, operator: 'equals' as const, value: typed(value, fields.find((each) => each.field === field)?.type) }]
      : []),
    ...(segmentId ? [{ field: `segment.${segmentId}`, operator: 'memberOfSegment' as const }] : []),
  ]
  return filters.length > 0 ? { logic: 'AND', groups: [{ filters }] } : undefined
}

/** A value in a URL is text; a condition compares it with its type. */
function typed(value: string, type: string | undefined): string | number | boolean {
  if (type === 'number' && value.trim() !== '' && Number.isFinite(Number(value))) return Number(value)
  return type === 'boolean' && (value === 'true' || value === 'false') ? value === 'true' : value
}
