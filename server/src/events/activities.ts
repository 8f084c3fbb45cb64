import { type RawBuilder, sql } from 'kysely'
import { type Db, scalar, type Tx } from '../db/index.ts'
import { prepared } from '../db/prepared.ts'
import { recordset } from '../db/rows.ts'
import { createdInScope, type WipeScope } from '../db/wipe-rows.ts'
import { defineLedger } from '../ledger/ledger.ts'
import { lowestId, newId } from '../lib/id.ts'
import { type Days, inDaysSql } from './day.ts'

/** Activities that are no events. The activity feed has both. */
export const RECORDED_ACTIVITIES = [
  'workflow.started',
  'workflow.completed',
  'workflow.failed',
  'campaign.sent',
  'email.skipped',
  'contact.suppressed',
] as const
export type RecordedActivity = (typeof RECORDED_ACTIVITIES)[number]

export type NewActivity = { projectId: string; type: RecordedActivity; contactId?: string | null; data?: object }

/** Records any number of activities in one statement, in the transaction that caused them. */
export async function recordActivities(tx: Tx, activities: NewActivity[]) {
  if (!activities.length) return
  const rows = activities.map((activity) => ({ id: newId(), ...activity }))
  await prepared`
    with new_activities as materialized (
      select "projectId" as project_id, id, type, "contactId" as contact_id, coalesce(data, '{}') as data
      from ${recordset('activities', rows, ['projectId', 'id', 'type', 'contactId', 'data'])} as a
    ), ${recordActivitiesCte(sql`new_activities`)}
    select
  `.execute(tx)
}

/** CTEs that record activities given as rows of (project_id, id, type, contact_id, data), and count them. */
export const recordActivitiesCte = (activities: RawBuilder<unknown>) => sql`
    recorded_activities as (
      insert into activities (project_id, id, type, contact_id, data)
      select project_id, id, type, contact_id, data from ${activities}
    ), counted_activities as (
      insert into activity_count_deltas (project_id, type, day, count)
      select project_id, type, id_day(id), count(*) from ${activities} group by 1, 2, 3
    )`

/** Activities by type and UTC day. */
export const activityLedger = defineLedger({
  name: 'activities',
  deltas: 'activity_count_deltas',
  sums: {
    activity_counts: {
      key: { type: sql`d.type`, day: sql`d.day` },
      values: { count: sql`d.count` },
      actual: ({ projectId }) =>
        sql`select type, id_day(id) as day, count(*) as count from activities where project_id = ${projectId} group by 1, 2`,
    },
  },
})

/** Counts activities of these types between two UTC days. */
export const countActivities = (db: Db, projectId: string, types: readonly string[], days: Days = {}) => scalar<number>(db)`
  select coalesce(sum(count), 0)::float8 from ${activityLedger.readSql('activity_counts', projectId)}
  where type = any(${types}::text[]) ${inDaysSql(days)}
`

/** `which`: a condition on the rows of the project. */
export type RemovedRows = { projectId: string; which: RawBuilder<unknown>; limit: number }

/** Removes activities on the alias `t`, at most `limit`, and subtracts them from the counts. Returns their number. */
export const removeActivities = (tx: Tx, { projectId, which, limit }: RemovedRows) =>
  remove(tx, sql`select t.project_id, t.id from activities t where t.project_id = ${projectId} and (${which}) order by t.id limit ${limit}`)

const remove = (tx: Tx, keys: RawBuilder<unknown>) => scalar<number>(tx)`
  with deleted as (
    delete from activities where (project_id, id) in (${keys}) returning project_id, type, id
  ), counted as (
    insert into activity_count_deltas (project_id, type, day, count)
    select project_id, type, id_day(id), -count(*) from deleted group by 1, 2, 3
  )
  select count(*)::int from deleted
`

/** Deletes activities older than the retention of events, project by project. Returns their number. */
export async function dropOldActivities(tx: Tx, { months, limit, now = new Date() }: { months: number; limit: number; now?: Date }) {
  if (months === 0) return 0
  const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months))
  const keys = sql`
    select a.project_id, a.id from projects p cross join lateral (
      select t.project_id, t.id from activities t where t.project_id = p.id and t.id < ${lowestId(first)} order by t.id limit ${limit}
    ) as a limit ${limit}`
  return remove(tx, keys)
}

/** The subject of an activity, if it was deleted. Activities written after the wipe was requested go with it. */
const isGone = (key: string, table: string) => sql`t.data ? ${key} and not exists (
  select from ${sql.table(table)} o where o.project_id = t.project_id and o.id = (t.data ->> ${key})::uuid)`

/** For a project reset or deletion, after contacts, emails, campaigns and workflows. */
export const wipeActivities = (tx: Tx, scope: WipeScope) =>
  removeActivities(tx, {
    projectId: scope.projectId,
    which: sql`${createdInScope(scope)} or ${isGone('emailId', 'emails')} or ${isGone('campaignId', 'campaigns')}
      or ${isGone('workflowId', 'workflows')}
      or t.contact_id is not null and not exists (select from contacts c where c.project_id = t.project_id and c.id = t.contact_id)`,
    limit: scope.limit,
  })
