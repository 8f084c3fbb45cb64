import type { Activity, Sterna } from '@sterna/sdk'
import { ACTIVITY_WORDS } from '../../figures/activity.ts'
import { readChoices, readRange } from '../../list/filters.ts'
import type { ListRequest } from '../../list/list-search.ts'

type Query = NonNullable<Parameters<Sterna['activity']['list']>[0]>

const isType = (value: string): value is Activity['type'] => Object.hasOwn(ACTIVITY_WORDS, value)

/** The filters of the URL as the API takes them. `contactId` is that of the person whose address is in the filter. */
export function activityQuery({ limit, cursor, filters }: ListRequest, contactId: string | undefined): Query {
  const { from, to } = readRange(filters.time)
  const types = readChoices(filters.kind).filter(isType)
  return {
    limit,
    ...(cursor && { cursor }),
    ...(types.length > 0 && { types: types.join(',') }),
    ...(contactId && { contactId }),
    ...(from && { startDate: from }),
    ...(to && { endDate: to }),
  }
}
