import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { type Db, one } from '../db/index.ts'
import { CursorQuery, readCursor, readPage, writeCursor } from '../http/paging.ts'
import type { Secrets } from '../lib/secrets.ts'
import { countEvents } from './counts.ts'
import { EVENT_COLUMNS, EventRecord, type EventRow, showEvent } from './event.ts'

export const EventsQuery = CursorQuery.extend({ eventName: z.string().max(1_000).optional() })

const Listed = EventRecord.extend({ contact: z.object({ id: z.uuid(), email: z.string() }).nullable() })
export const EventList = z.object({
  data: z.array(Listed),
  events: z.array(Listed).describe('The same as `data`.'),
  cursor: z.string().nullable(),
  hasMore: z.boolean(),
  total: z.int(),
})

/** `events` repeats `data`, which may have megabytes: turned into text once, sent twice. */
export function printEventList({ data, events: _same, ...rest }: z.output<typeof EventList>) {
  const records = JSON.stringify(data)
  return `{"data":${records},"events":${records},${JSON.stringify(rest).slice(1)}`
}

type ListedRow = EventRow & { contactEmail: string | null }
type Filter = { eventName?: string | undefined; contactId?: string | undefined }
type Query = Filter & { limit: number; cursor?: string | undefined }

/** Counted exactly up to here: one person's events, all of one index. */
const COUNT_UP_TO = 100_000

/** Newest first. */
export async function listEvents(db: Db, secrets: Secrets, projectId: string, query: Query): Promise<z.output<typeof EventList>> {
  const { limit, cursor, ...filter } = query
  const scope = JSON.stringify(['events', projectId, filter.eventName ?? null, filter.contactId ?? null])
  const after = cursor === undefined ? undefined : (readCursor(secrets, scope, cursor)[0] as string)
  const { rows, hasMore } = await readPage(db, selectPage(projectId, filter, { after, limit: limit + 1 }), limit)
  const data = rows.map(showListed)
  return {
    data,
    events: data,
    cursor: hasMore ? writeCursor(secrets, scope, [rows.at(-1)!.id]) : null,
    hasMore,
    total: cursor === undefined ? await countMatching(db, projectId, filter) : 0,
  }
}

/** The page first, then whom it is about: joined the other way round, a large project would be joined as a whole. */
const selectPage = (projectId: string, filter: Filter, { after, limit }: { after: string | undefined; limit: number }) => sql<ListedRow>`
  select page.*, contacts.email as "contactEmail"
  from (
    select ${EVENT_COLUMNS} from events
    where ${matching(projectId, filter)} ${after ? sql`and id < ${after}` : sql``}
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
  ...showEvent(row),
  contact: row.contactId && contactEmail !== null ? { id: row.contactId, email: contactEmail } : null,
})

async function countMatching(db: Db, projectId: string, filter: Filter) {
  if (filter.contactId === undefined) return countEvents(db, projectId, filter.eventName)
  const { count } = await one(
    db,
    sql<{ count: number }>`
      select count(*)::int as count from (select 1 from events where ${matching(projectId, filter)} limit ${COUNT_UP_TO}) as bounded
    `,
  )
  return count
}
