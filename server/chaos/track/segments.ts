import { type RawBuilder, sql } from 'kysely'
import { connect, one } from '../../src/db/index.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { type Check, checkRules } from '../support/check.ts'
import { until } from '../support/until.ts'

const WINDOW_MINUTES = 1
/** Time within which a contact must have left a window; the promise is a minute, and the load has just ended. */
const LATE_SECONDS = 15
const SETTLE_MS = 60_000

const filter = (field: string, operator: string, more: object = {}) => ({ field, operator, ...more })
const allOf = (...filters: object[]) => ({ logic: 'AND', groups: [{ filters }] })

/** Tracked segments, and the same question in hand-written SQL about a contact `c`. */
const SEGMENTS: { name: string; condition: (ids: Record<string, string>) => object; sql: RawBuilder<boolean> }[] = [
  { name: 'subscribed', condition: () => allOf(filter('subscribed', 'equals', { value: true })), sql: sql`c.subscribed` },
  { name: 'seven', condition: () => allOf(filter('data.key', 'contains', { value: '7' })), sql: sql`c.data ->> 'key' like '%7%'` },
  {
    name: 'ordered',
    condition: () => allOf(filter('event.order placed', 'triggered')),
    sql: sql`exists (select from events e where e.project_id = c.project_id and e.contact_id = c.id and e.name = 'order placed')`,
  },
  {
    name: 'refers',
    condition: ({ seven }) => allOf(filter('subscribed', 'equals', { value: false }), filter(`segment.${seven}`, 'notMemberOfSegment')),
    sql: sql`not c.subscribed and c.data ->> 'key' not like '%7%'`,
  },
]
const WINDOW = {
  name: 'viewed lately',
  condition: allOf(filter('event.page viewed', 'triggeredWithin', { value: WINDOW_MINUTES, unit: 'minutes' })),
}

/** Names of the events that tracked segments emit. */
export const isMembershipEvent = (name: RawBuilder<unknown>) => sql<boolean>`${name} like 'segment.%'`

export async function createTrackedSegments(url: string, secretKey: string) {
  const ids: Record<string, string> = {}
  const create = async (name: string, condition: object) => {
    const answer = await fetch(`${url}/segments`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secretKey}` },
      body: JSON.stringify({ name, condition, trackMembership: true }),
    })
    if (answer.status !== 201) throw new Error(`POST /segments: ${answer.status} ${await answer.text()}`)
    ids[name] = ((await answer.json()) as { id: string }).id
  }
  for (const { name, condition } of SEGMENTS) await create(name, condition(ids))
  await create(WINDOW.name, WINDOW.condition)
}

/** Waits until every reaction was handled, and no recomputation is under way. */
export async function settleSegments(databaseUrl: string, projectId: string) {
  const db = connect({ url: databaseUrl, max: 1, log: createLog('silent') })
  const isDone = async () =>
    (
      await one(
        db,
        sql<{ done: boolean }>`
          select not exists (select from reactions where project_id = ${projectId})
            and not exists (select from jobs where project_id = ${projectId} and finished_at is null) as done
        `,
      )
    ).done
  await until('the reactions are handled', SETTLE_MS, isDone).finally(() => db.destroy())
}

export const checkSegments = (projectId: string): Check =>
  checkRules({
    ...Object.fromEntries(
      SEGMENTS.map((segment) => [`members of "${segment.name}" that differ from a recomputation`, differences(projectId, segment)]),
    ),
    'members of the window that left it long ago, or are missing': sql`
      select c.email, m.contact_id is not null as "isMember", c.last
      from (
        select c.*, (select max(id_time(e.id)) from events e
          where e.project_id = c.project_id and e.contact_id = c.id and e.name = 'page viewed') as last
        from contacts c where c.project_id = ${projectId}
      ) as c
      left join ${membersOf(projectId, WINDOW.name)} m on m.contact_id = c.id
      where case when m.contact_id is null then c.last >= clock_timestamp() - make_interval(mins => ${WINDOW_MINUTES})
        else c.last is null or c.last < clock_timestamp() - make_interval(mins => ${WINDOW_MINUTES}, secs => ${LATE_SECONDS}) end
    `,
    'entries and exits that do not alternate': sql`
      select contact_id, name, before from (
        select contact_id, id, name, split_part(name, '.', 3) as kind, lag(split_part(name, '.', 3)) over same_segment as before
        from events where project_id = ${projectId} and ${isMembershipEvent(sql`name`)}
        window same_segment as (partition by contact_id, split_part(name, '.', 2) order by id)
      ) as changes where kind = coalesce(before, 'exit')
    `,
    'memberships that differ from the last entry or exit': sql`
      select s.slug, coalesce(m.contact_id, l.contact_id) as contact_id, l.kind
      from (select * from segment_members where project_id = ${projectId}) m
      join segments s on s.project_id = m.project_id and s.id = m.segment_id
      full join (
        select distinct on (contact_id, split_part(name, '.', 2)) contact_id, split_part(name, '.', 2) as slug, split_part(name, '.', 3) as kind
        from events where project_id = ${projectId} and ${isMembershipEvent(sql`name`)}
        order by contact_id, split_part(name, '.', 2), id desc
      ) l on l.slug = s.slug and l.contact_id = m.contact_id
      where (m.contact_id is not null) <> (l.kind is not distinct from 'entry')
    `,
  })

const membersOf = (projectId: string, name: string) => sql`(
  select contact_id from segment_members
  where project_id = ${projectId} and segment_id = (select id from segments where project_id = ${projectId} and name = ${name}))`

const differences = (projectId: string, segment: { name: string; sql: RawBuilder<boolean> }) => sql`
  select c.email, m.contact_id is not null as "isMember"
  from contacts c left join ${membersOf(projectId, segment.name)} m on m.contact_id = c.id
  where c.project_id = ${projectId} and (m.contact_id is not null) <> coalesce(${segment.sql}, false)
`
