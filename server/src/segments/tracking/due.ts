import { sql } from 'kysely'
import type { Expression } from '../../conditions/expression.ts'
import { createdWindowsOf, hasDueWindows } from '../../conditions/references.ts'
import { countAffected, type Tx } from '../../db/index.ts'
import { prepared } from '../../db/prepared.ts'
import { recordset } from '../../db/rows.ts'
import { insertReactionsSql } from '../../events/listen.ts'

/** Whether the answer for a contact may change at a moment that its own dates decide, without any write. */
export const mayBecomeDue = (expression: Expression) => hasDueWindows(expression) || createdWindowsOf(expression).length > 0

/** The moment after which a contact must be checked again; undefined if time alone changes nothing. */
export type DueCheck = { segmentId: string; contactId: string; dueAt: Date | undefined }

/** Replaces the due times of these contacts. Contacts that were deleted meanwhile are left out. */
export async function saveDue(tx: Tx, projectId: string, checks: DueCheck[]) {
  if (!checks.length) return
  const rows = sql`${recordset('segment_due', checks, ['segmentId', 'contactId'], { dueAt: 'timestamptz' })} as r`
  await prepared`
    delete from segment_due d using ${rows}
    where d.project_id = ${projectId} and d.contact_id = r."contactId" and d.segment_id = r."segmentId" and r."dueAt" is null
  `.execute(tx)
  await prepared`
    with present as materialized (
      select id from contacts where project_id = ${projectId} and id = any(${checks.map(({ contactId }) => contactId)}::uuid[])
      order by email for key share -- same lock order as upserts
    )
    insert into segment_due (project_id, contact_id, segment_id, due_at)
    select ${projectId}, r."contactId", r."segmentId", r."dueAt" from ${rows} join present on present.id = r."contactId"
    where r."dueAt" is not null
    on conflict (project_id, contact_id, segment_id) do update set due_at = excluded.due_at where segment_due.due_at <> excluded.due_at
  `.execute(tx)
}

/** Rows turned into reactions by one statement. */
const CHUNK = 2_000

/** Turns due times that have come into reactions. Returns the number of rows taken; the re-check of each contact writes its next one. */
export const queueDue = (tx: Tx) =>
  countAffected(
    tx,
    prepared`
    with taken as (
      delete from segment_due where (project_id, contact_id, segment_id) in (
        select project_id, contact_id, segment_id from segment_due
        where due_at <= clock_timestamp() order by due_at limit ${CHUNK} for update skip locked)
      returning project_id, contact_id, segment_id
    ), reacted as (
      ${insertReactionsSql(sql`(
        select project_id, contact_id, array_agg('due:' || segment_id) as topics from taken group by 1, 2)`)}
    )
    select from taken
  `,
  )

/** Segments swept by one statement. */
const SEGMENTS = 100
/** Pause between two sweeps of a segment, and the longest stretch of time that one statement sweeps: after a downtime it takes several. */
const SWEEP_SECONDS = 5
const MAX_STRETCH_SECONDS = 60

/**
 * Turns events that left a window of a tracked segment into reactions of their contacts. An event is in its window up to and including
 * the millisecond `time + ms`. Returns the number of segments swept.
 */
export const queueLeftWindows = (tx: Tx) =>
  countAffected(
    tx,
    prepared`
    with swept as materialized (
      select project_id, segment_id, windows, swept_at as since,
        least(clock_timestamp(), swept_at + make_interval(secs => ${MAX_STRETCH_SECONDS})) as until
      from tracked_segments
      where windows <> '[]' and swept_at < clock_timestamp() - make_interval(secs => ${SWEEP_SECONDS})
      order by swept_at limit ${SEGMENTS} for update skip locked
    ), gone as (
      select s.project_id, e.contact_id, array_agg(distinct 'due:' || s.segment_id) as topics
      from swept s
      cross join lateral jsonb_to_recordset(s.windows) as w(name text, ms bigint)
      cross join lateral (
        select contact_id from events
        where project_id = s.project_id and name = w.name and contact_id is not null
          and id >= lowest_id(s.since - make_interval(secs => w.ms / 1000.0))
          and id < lowest_id(s.until - make_interval(secs => w.ms / 1000.0))
      ) as e
      group by 1, 2
    ), reacted as (
      ${insertReactionsSql(sql`(select * from gone)`)}
    )
    update tracked_segments t set swept_at = s.until from swept s where t.project_id = s.project_id and t.segment_id = s.segment_id
  `,
  )
