import type { Body, Query } from '@sterna/sdk'
import type { ListRequest } from '../../../list/list-search.ts'
import {
  type Activity,
  EXCLUSION_WORDS,
  type Exclusion,
  OUTCOME_WORDS,
  type Outcome,
  REASON_WORDS,
  RECIPIENT_ACTIVITY_WORDS,
  type Reason,
} from '../campaign/words.ts'

export type RecipientFilters = NonNullable<Body<'POST /campaigns/{id}/copy-to-segment'>['filter']>

/** Anyone can edit a URL: a value that the server does not know is left out. */
const known = <Value extends string>(words: Record<Value, string>, value: string | undefined): Value | undefined =>
  value !== undefined && Object.hasOwn(words, value) ? (value as Value) : undefined

/** The filters of the ledger, of its export, and of a copy as segment. */
export function recipientFilters({ q, filters }: Pick<ListRequest, 'q' | 'filters'>): RecipientFilters {
  const outcome = known<Outcome>(OUTCOME_WORDS, filters.outcome)
  const reason = known<Reason>(REASON_WORDS, filters.reason)
  const activity = known<Activity>(RECIPIENT_ACTIVITY_WORDS, filters.activity)
  return {
    ...(outcome && { outcome }),
    ...(reason && { reason }),
    ...(activity && { activity }),
    ...(filters.link && { link: filters.link }),
    ...(q && { search: q }),
  }
}

export const recipientsQuery = (request: ListRequest): NonNullable<Query<'GET /campaigns/{id}/recipients'>> => ({
  limit: request.limit,
  ...(request.cursor && { cursor: request.cursor }),
  ...recipientFilters(request),
})

export function excludedQuery({ limit, cursor, filters }: ListRequest): NonNullable<Query<'GET /campaigns/{id}/excluded'>> {
  const reason = known<Exclusion>(EXCLUSION_WORDS, filters.reason)
  return { limit, ...(cursor && { cursor }), ...(reason && { reason }) }
}

export const AUDIENCE_PARTS = { recipients: 'Will get it', ...EXCLUSION_WORDS }
type Part = keyof typeof AUDIENCE_PARTS

export function audienceQuery({ limit, cursor, q, filters }: ListRequest): NonNullable<Query<'GET /campaigns/{id}/audience'>> {
  const part = known<Part>(AUDIENCE_PARTS, filters.part)
  return { limit, ...(cursor && { cursor }), ...(part && { part }), ...(q && { search: q }) }
}
