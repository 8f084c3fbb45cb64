import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { countRows, type Db, scalar, scalars } from '../db/index.ts'
import { countActivities, RECORDED_ACTIVITIES } from '../events/activities.ts'
import { allCounts } from '../events/counts.ts'
import { maskEvent } from '../events/masked-event.ts'
import { CursorQuery, cursorList, readKeysetPage } from '../http/core/paging.ts'
import { Timestamp } from '../http/core/validate.ts'
import { skipScanCte } from '../ledger/skip-scan.ts'
import { idTime, isId } from '../lib/id.ts'
import type { Secrets } from '../lib/secrets.ts'
import { readIdRange } from './moment.ts'
import { ACTIVITY_TYPES, type ActivityType, IS_TRIGGERED, readTypes, typeOfEvent, type WantedTypes } from './type.ts'

export const ActivityQuery = CursorQuery.extend({
  types: z
    .union([
      z.string().max(2_000),
      z
        .array(z.string().max(100))
        .max(100)
        .transform((types) => types.join(',')),
    ])
    .optional()
    .describe('Types separated by commas, or the parameter several times. Unknown ones are ignored.'),
  contactId: z.string().max(100).optional(),
  startDate: z.string().max(100).optional().describe('A day or time. Days are those of UTC.'),
  endDate: z.string().max(100).optional().describe('A day or time, included.'),
})

const Activity = z
  .object({
    id: z.uuid(),
    type: z.enum(ACTIVITY_TYPES),
    timestamp: Timestamp,
    contactId: z.uuid().nullable(),
    contactEmail: z.string().nullable(),
    metadata: z
      .record(z.string(), z.unknown())
      .describe(
        'Details: the data of an event, or the ids and names of the workflow, campaign or email. An `event.triggered` has `eventName` and `data`. Bodies of emails are left out.',
      ),
  })
  .meta({ id: 'Activity' })
export const ActivityList = cursorList(Activity)

type Filter = { types: WantedTypes | undefined; contactId: string | undefined } & ReturnType<typeof readIdRange>
type Row = {
  id: string
  name: string
  isEvent: boolean
  contactId: string | null
  contactEmail: string | null
  data: Record<string, unknown>
  campaignName: string | null
  workflowName: string | null
}

type Query = z.output<typeof ActivityQuery> & { isMasked: boolean }

/** Events and recorded activities as one list, newest first, in the order of their ids. */
export async function listActivity(db: Db, secrets: Secrets, projectId: string, query: Query) {
  const filter = { types: readTypes(query.types), contactId: query.contactId, ...readIdRange(query) }
  // Not an id: no contact has it.
  if (filter.contactId !== undefined && !isId(filter.contactId)) return { data: [], cursor: null, hasMore: false, total: 0 }
  const triggeredNames = filter.types?.triggered && filter.contactId === undefined ? await listTriggeredNames(db, projectId) : undefined
  return readKeysetPage(db, secrets, {
    scope: JSON.stringify(['activity', projectId, filter]),
    query,
    select: ({ after, limit }) => pageSql(projectId, { filter, triggeredNames, before: after?.[0] as string | undefined, limit }),
    positionOf: ({ id }) => [id],
    show: (row) => showActivity(query.isMasked ? maskEvent(row) : row),
    count: () => countMatching(db, projectId, { filter, triggeredNames, before: undefined, limit: COUNT_UP_TO }),
  })
}

/** Names with events of a project up to which each is looked up by the index of names; more are found by reading all events. */
const MAX_NAMES = 40

/** The names of events that have no type of their own; undefined if there are many. A skip scan over the counts. */
async function listTriggeredNames(db: Db, projectId: string): Promise<string[] | undefined> {
  const names = await scalars<string>(db)`
    with recursive ${skipScanCte('names', { table: 'event_counts', by: ['name'], where: sql`project_id = ${projectId}` })}
    select name from (select name from names limit ${MAX_NAMES * 2}) as counted where ${IS_TRIGGERED}
    union
    select name from event_count_deltas where project_id = ${projectId} and ${IS_TRIGGERED}
    limit ${MAX_NAMES + 1}
  `
  return names.length > MAX_NAMES ? undefined : names
}

type Page = { filter: Filter; triggeredNames: string[] | undefined; before: string | undefined; limit: number }

/** Keys first: the data of events that are not on the page is never read. Contacts and names are joined to the page. */
const pageSql = (projectId: string, page: Page) => sql<Row>`
  with keys as materialized (
    (${eventKeysSql(projectId, page)}) union all (${recordedKeysSql(projectId, page)})
    order by id desc limit ${page.limit}
  ), page as materialized (
    select k.id, k.is_event, e.name, e.contact_id, e.data - ${BODIES}::text[] as data
    from keys k join events e on e.project_id = ${projectId} and e.id = k.id where k.is_event
    union all
    select k.id, k.is_event, a.type, a.contact_id, a.data
    from keys k join activities a on a.project_id = ${projectId} and a.id = k.id where not k.is_event
  )
  select p.id, p.name, p.is_event as "isEvent", p.contact_id as "contactId", c.email as "contactEmail", p.data, m.name as "campaignName",
    w.name as "workflowName"
  from page p
  left join contacts c on c.project_id = ${projectId} and c.id = p.contact_id
  left join campaigns m on m.project_id = ${projectId} and m.id = ${idIn('campaignId')} and m.deleted_at is null
  left join workflows w on w.project_id = ${projectId} and w.id = ${idIn('workflowId')}
  order by p.id desc
`

/** An id in the data of an activity that the service recorded: what customers track may have anything there. */
const idIn = (key: string) => sql`
  case when (not p.is_event or p.name like 'email.%') and p.data ->> ${key} ~ '^[0-9a-f-]{36}$' then (p.data ->> ${key})::uuid end`

/** Keys of event data that hold what a person wrote. */
const BODIES = ['text', 'html', 'textTruncated', 'htmlTruncated', 'headers']

const inRange = ({ filter: { from, to, contactId }, before }: Page) => sql`
  ${before ? sql`and id < ${before}` : sql``} ${from ? sql`and id >= ${from}` : sql``} ${to ? sql`and id < ${to}` : sql``}
  ${contactId ? sql`and contact_id = ${contactId}` : sql``}`

function eventKeysSql(projectId: string, page: Page): RawBuilder<unknown> {
  const { filter, triggeredNames, limit } = page
  const newest = (which: RawBuilder<unknown>) => sql`
    select id, true as is_event from events where project_id = ${projectId} ${which} ${inRange(page)} order by id desc limit ${limit}`
  if (!filter.types) return newest(sql``)
  const { names, triggered } = filter.types
  if (!triggered && !names.length) return sql`select null::uuid as id, true as is_event where false`
  if (filter.contactId !== undefined || (triggered && !triggeredNames)) return newest(isAskedSql(filter.types))
  // One look at the index of names for each.
  return sql`
    select newest.id, true as is_event from unnest(${[...names, ...(triggeredNames ?? [])]}::text[]) as asked(name)
    cross join lateral (${newest(sql`and name = asked.name`)}) as newest
    order by newest.id desc limit ${limit}`
}

function recordedKeysSql(projectId: string, page: Page): RawBuilder<unknown> {
  const recorded = page.filter.types?.recorded ?? RECORDED_ACTIVITIES
  const newest = (which: RawBuilder<unknown>) => sql`
    select id, false as is_event from activities where project_id = ${projectId} ${which} ${inRange(page)} order by id desc limit ${page.limit}`
  if (!page.filter.types) return newest(sql``)
  if (!recorded.length) return sql`select null::uuid as id, false as is_event where false`
  return sql`
    select newest.id, false as is_event from unnest(${[...recorded]}::text[]) as asked(type)
    cross join lateral (${newest(sql`and type = asked.type`)}) as newest
    order by newest.id desc limit ${page.limit}`
}

function showActivity({ id, name, isEvent, contactId, contactEmail, data, campaignName, workflowName }: Row): z.output<typeof Activity> {
  const type = isEvent ? typeOfEvent(name) : (name as ActivityType)
  const names = { ...(campaignName === null ? {} : { campaignName }), ...(workflowName === null ? {} : { workflowName }) }
  const metadata = type === 'event.triggered' ? { eventName: name, data } : { ...data, ...names }
  return { id, type, timestamp: idTime(id).toISOString(), contactId: contactEmail === null ? null : contactId, contactEmail, metadata }
}

/** Totals of lists with a contact or dates stop at this number. */
const COUNT_UP_TO = 10_000

/** From the counts, unless a contact or dates are given. */
async function countMatching(db: Db, projectId: string, page: Page): Promise<number> {
  const { types, contactId, from, to } = page.filter
  if (contactId !== undefined || from || to) {
    const keys = sql`(${eventKeysSql(projectId, page)}) union all (${recordedKeysSql(projectId, page)})`
    return countRows(db, sql`select 1 from (${keys}) as k limit ${COUNT_UP_TO}`)
  }
  const events = await scalar<number>(db)`
    select coalesce(sum(count), 0)::float8 from ${allCounts(projectId, types && isAskedSql(types))}
  `
  return events + (await countActivities(db, projectId, types?.recorded ?? RECORDED_ACTIVITIES))
}

/** Condition on the name of an event. */
const isAskedSql = ({ names, triggered }: WantedTypes) =>
  triggered ? sql`and (${IS_TRIGGERED} or name = any(${names}::text[]))` : sql`and name = any(${names}::text[])`
