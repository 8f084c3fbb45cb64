import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import type { Db } from '../db/index.ts'
import { countEvents } from '../events/counts.ts'
import { CursorQuery, readKeysetPage } from '../http/paging.ts'
import { Timestamp } from '../http/validate.ts'
import type { Secrets } from '../lib/secrets.ts'
import { entryEventOf, exitEventOf, type SegmentRow } from './segment.ts'

const TYPES = ['entry', 'exit'] as const

export const SegmentChange = z
  .object({
    id: z.uuid().describe('The id of the event.'),
    type: z.enum(TYPES),
    at: Timestamp,
    contact: z.object({ id: z.uuid(), email: z.string() }).nullable().describe('Null if the contact was deleted.'),
  })
  .meta({ id: 'SegmentChange' })

export const HistoryQuery = CursorQuery.extend({ type: z.enum(TYPES).optional() })

type Row = { id: string; name: string; createdAt: Date; contactId: string | null; contactEmail: string | null }

/** Entries and exits of all contacts, newest first. */
export function listMembershipChanges(db: Db, secrets: Secrets, segment: SegmentRow, query: z.output<typeof HistoryQuery>) {
  const { projectId, id, slug } = segment
  const names = (query.type ? [query.type] : TYPES).map((type) => (type === 'entry' ? entryEventOf(slug) : exitEventOf(slug)))
  return readKeysetPage(db, secrets, {
    scope: JSON.stringify(['segment-history', projectId, id, query.type ?? null]),
    query,
    select: ({ after, limit }) => changesSql({ projectId, names, after: after?.[0] as string | undefined, limit }),
    positionOf: ({ id: eventId }) => [eventId],
    show: ({ id: eventId, name, createdAt, contactId, contactEmail }) => ({
      id: eventId,
      type: name === entryEventOf(slug) ? ('entry' as const) : ('exit' as const),
      at: createdAt.toISOString(),
      contact: contactId && contactEmail !== null ? { id: contactId, email: contactEmail } : null,
    }),
    count: async () => {
      const counts = await Promise.all(names.map((name) => countEvents(db, projectId, name)))
      return counts.reduce((sum, count) => sum + count, 0)
    },
  })
}

type Page = { projectId: string; names: string[]; after: string | undefined; limit: number }

/** Each name by itself, newest first: the index has the order of ids within a name only. */
function changesSql({ projectId, names, after, limit }: Page): RawBuilder<Row> {
  const pages = names.map(
    (name) => sql`(
      select id, name, created_at, contact_id from events
      where project_id = ${projectId} and name = ${name} ${after ? sql`and id < ${after}` : sql``} order by id desc limit ${limit})`,
  )
  return sql<Row>`
    select page.id, page.name, page.created_at as "createdAt", page.contact_id as "contactId", contacts.email as "contactEmail"
    from (select * from (${sql.join(pages, sql` union all `)}) as each order by id desc limit ${limit}) as page
    left join contacts on contacts.project_id = ${projectId} and contacts.id = page.contact_id
    order by page.id desc`
}
