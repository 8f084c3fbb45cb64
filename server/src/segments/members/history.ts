import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { type Db, scalar } from '../../db/index.ts'
import { allCounts } from '../../events/counts.ts'
import { CursorQuery, readKeysetPage } from '../../http/core/paging.ts'
import { Timestamp } from '../../http/core/validate.ts'
import { fail } from '../../lib/errors/errors.ts'
import { lowestId } from '../../lib/id.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { DAY } from '../../lib/text/units.ts'
import { entryEventOf, exitEventOf, type SegmentRow } from '../definition/segment.ts'

const TYPES = ['entry', 'exit'] as const

export const SegmentChange = z
  .object({
    id: z.uuid().describe('The id of the event.'),
    type: z.enum(TYPES),
    at: Timestamp,
    contact: z.object({ id: z.uuid(), email: z.string() }).nullable().describe('Null if the contact was deleted.'),
  })
  .meta({ id: 'SegmentChange' })

export const HistoryQuery = CursorQuery.extend({
  type: z.enum(TYPES).optional(),
  from: z.iso.date().optional().describe('The first day, in UTC.'),
  to: z.iso.date().optional().describe('The last day, in UTC.'),
})

type Row = { id: string; name: string; createdAt: Date; contactId: string | null; contactEmail: string | null }

/** Entries and exits of all contacts, newest first. */
export function listMembershipChanges(db: Db, secrets: Secrets, segment: SegmentRow, query: z.output<typeof HistoryQuery>) {
  const { projectId, id, slug } = segment
  const names = (query.type ? [query.type] : TYPES).map((type) => (type === 'entry' ? entryEventOf(slug) : exitEventOf(slug)))
  const range = rangeOf(query)
  return readKeysetPage(db, secrets, {
    scope: JSON.stringify(['segment-history', projectId, id, query.type ?? null, query.from ?? null, query.to ?? null]),
    query,
    select: ({ after, limit }) => changesSql({ projectId, names, range, after: after?.[0] as string | undefined, limit }),
    positionOf: ({ id: eventId }) => [eventId],
    show: ({ id: eventId, name, createdAt, contactId, contactEmail }) => ({
      id: eventId,
      type: name === entryEventOf(slug) ? ('entry' as const) : ('exit' as const),
      at: createdAt,
      contact: contactId && contactEmail !== null ? { id: contactId, email: contactEmail } : null,
    }),
    count: () => countChanges(db, projectId, { names, range }),
  })
}

/** Milliseconds; `end` is exclusive. */
type Range = { start: number | undefined; end: number | undefined }

/** No id has a time before 1970. */
function rangeOf({ from, to }: { from?: string | undefined; to?: string | undefined }): Range {
  if (from && to && from > to) fail('BAD_REQUEST', { message: '"from" must not be after "to".' })
  return {
    start: from === undefined ? undefined : Math.max(0, Date.parse(from)),
    end: to === undefined ? undefined : Math.max(0, Date.parse(to) + DAY),
  }
}

/** Events are counted by the day of their id, so the number is that of the list. */
function countChanges(db: Db, projectId: string, { names, range: { start, end } }: { names: string[]; range: Range }) {
  const which = sql`and name = any(${names}::text[])
    ${start === undefined ? sql`` : sql`and day >= ${dayOf(start)}::date`} ${end === undefined ? sql`` : sql`and day <= ${dayOf(end - 1)}::date`}`
  return scalar<number>(db)`select coalesce(sum(count), 0)::float8 from ${allCounts(projectId, which)}`
}

const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10)

type Page = { projectId: string; names: string[]; range: Range; after: string | undefined; limit: number }

/** Each name by itself, newest first: the index has the order of ids within a name only. */
function changesSql({ projectId, names, range: { start, end }, after, limit }: Page): RawBuilder<Row> {
  const inRange = sql`
    ${start === undefined ? sql`` : sql`and id >= ${lowestId(new Date(start))}`} ${end === undefined ? sql`` : sql`and id < ${lowestId(new Date(end))}`}`
  const pages = names.map(
    (name) => sql`(
      select id, name, created_at, contact_id from events
      where project_id = ${projectId} and name = ${name} ${inRange} ${after ? sql`and id < ${after}` : sql``} order by id desc limit ${limit})`,
  )
  return sql<Row>`
    select page.id, page.name, page.created_at as "createdAt", page.contact_id as "contactId", contacts.email as "contactEmail"
    from (select * from (${sql.join(pages, sql` union all `)}) as each order by id desc limit ${limit}) as page
    left join contacts on contacts.project_id = ${projectId} and contacts.id = page.contact_id
    order by page.id desc`
}
