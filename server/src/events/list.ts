import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { countRows, type Db } from '../db/index.ts'
import { CursorQuery, readKeysetPage } from '../http/core/paging.ts'
import type { Secrets } from '../lib/secrets.ts'
import { countEvents } from './counts.ts'
import { EVENT_COLUMNS, EventRecord, type EventRow } from './event.ts'
import { maskEvent } from './masked-event.ts'

export const EventsQuery = CursorQuery.extend({ eventName: z.string().max(1_000).optional() })

const Listed = EventRecord.extend({ contact: z.object({ id: z.uuid(), email: z.string() }).nullable() })
export const EventList = z.object({
  data: z.array(Listed),
  events: z.array(Listed).describe('The same as `data`.'),
  cursor: z.string().nullable(),
  hasMore: z.boolean(),
  total: z.int(),
})

/** `events` repeats `data`, which may have megabytes, so it is serialised once and sent twice. */
export function printEventList({ data, events: _same, ...rest }: z.output<typeof EventList>) {
  const records = JSON.stringify(data)
  return `{"data":${records},"events":${records},${JSON.stringify(rest).slice(1)}`
}

type ListedRow = EventRow & { contactEmail: string | null }
type Filter = { eventName?: string | undefined; contactId?: string | undefined }
type Query = Filter & { limit: number; cursor?: string | undefined; isMasked: boolean }

/** Limit of counting the events of one contact, which one index covers. */
const COUNT_UP_TO = 100_000

/** Newest first. */
export async function listEvents(db: Db, secrets: Secrets, projectId: string, query: Query): Promise<z.output<typeof EventList>> {
  const page = await readKeysetPage(db, secrets, {
    scope: JSON.stringify(['events', projectId, query.eventName ?? null, query.contactId ?? null]),
    query,
    select: ({ after, limit }) => selectPage(projectId, query, after ? sql`and id < ${after[0]}` : sql``, limit),
    positionOf: ({ id }) => [id],
    show: (row) => showListed(query.isMasked ? maskEvent(row) : row),
    count: () => countMatching(db, projectId, query),
  })
  return { ...page, events: page.data }
}

/** Joins contacts to the page, not to the table: otherwise all events of a large project would be joined. */
const selectPage = (projectId: string, filter: Filter, after: RawBuilder<unknown>, limit: number) => sql<ListedRow>`
  select page.*, contacts.email as "contactEmail"
  from (
    select ${EVENT_COLUMNS} from events
    where ${matching(projectId, filter)} ${after}
    order by id desc limit ${limit}
  ) as page
  left join contacts on contacts.project_id = ${projectId} and contacts.id = page."contactId"
  order by page.id desc
`

const matching = (projectId: string, { eventName, contactId }: Filter): RawBuilder<unknown> => sql`
  project_id = ${projectId}
  ${eventName === undefined ? sql`` : sql`and name = ${eventName}`} ${contactId === undefined ? sql`` : sql`and contact_id = ${contactId}`}
`

const showListed = ({ contactEmail, ...row }: ListedRow) => ({
  ...row,
  contact: row.contactId && contactEmail !== null ? { id: row.contactId, email: contactEmail } : null,
})

const countMatching = (db: Db, projectId: string, filter: Filter) =>
  filter.contactId === undefined
    ? countEvents(db, projectId, filter.eventName)
    : countRows(db, sql`select 1 from events where ${matching(projectId, filter)} limit ${COUNT_UP_TO}`)
