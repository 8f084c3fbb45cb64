import { type RawBuilder, sql } from 'kysely'
import { type Db, many, one, type Tx } from '../db/index.ts'
import { OF_DELETED_PROJECT, type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { defineSums } from '../ledger/repair.ts'
import {
  allEmailCounts,
  changesSql,
  countsOfSql,
  type EmailCount,
  isUsage,
  lockEmailCounts,
  REPUTATION_KINDS,
} from '../projects/email-counts.ts'
import type { Figures, Windows } from './levels.ts'

/**
 * Adds counts to the sums of their projects and marks these to be judged. Late bounces of emails that were sent before an acknowledgement
 * count for all time, not since it.
 */
export async function addToReputations(tx: Tx, changes: EmailCount[]) {
  const counted = changes.filter(({ kind }) => !isUsage(kind))
  if (!counted.length) return
  const sums = REPUTATION_KINDS.flatMap((kind) => [
    sql`coalesce(sum(n) filter (where kind = ${sql.lit(kind)} and (old.since is null or hour >= old.since)), 0) as ${sql.ref(kind)}`,
    sql`coalesce(sum(n) filter (where kind = ${sql.lit(kind)}), 0) as ${sql.ref(`all_${kind}`)}`,
  ])
  const columns = REPUTATION_KINDS.flatMap((kind) => [kind, `all_${kind}`]).map((column) => sql.ref(column))
  const sets = columns.map((column) => sql`${column} = r.${column} + excluded.${column}`)
  await sql`
    insert into reputations as r (project_id, ${sql.join(columns)})
    select c."projectId", ${sql.join(sums)}
    from ${changesSql(counted)}
    join projects p on p.id = c."projectId"
    left join reputations old on old.project_id = c."projectId"
    group by 1 order by 1
    on conflict (project_id) do update set ${sql.join(sets)}, due = true
  `.execute(tx)
}

/** Counts since then are kept. */
const isKept = (since: RawBuilder<unknown>) => sql`${since} > now() - interval '399 days'`

/** Sums that can still be counted; others stay as they are. */
export const reputationSums = defineSums({
  name: 'reputation',
  sums: {
    reputations: {
      key: [],
      values: REPUTATION_KINDS.flatMap((kind) => [kind, `all_${kind}`]),
      rows: 'existing',
      lock: lockEmailCounts,
      actual: ({ projectId }) => sql`
        select ${sql.join(REPUTATION_KINDS.flatMap(actualSums))}
        from reputations r join projects p on p.id = r.project_id left join email_counts c on c.project_id = r.project_id
        where r.project_id = ${projectId} group by r.project_id, p.created_at`,
    },
  },
})

function actualSums(kind: string) {
  const [since, all] = [sql.ref(`r.${kind}`), sql.ref(`r.all_${kind}`)]
  const sum = (which: RawBuilder<unknown>) => sql`coalesce(sum(c.count) filter (where c.kind = ${sql.lit(kind)} and ${which}), 0)`
  return [
    sql`case when ${isKept(sql`coalesce(r.since, p.created_at)`)}
      then ${sum(sql`(r.since is null or c.hour >= r.since)`)} - ${sql.ref(`r.before_${kind}`)} else ${since} end as ${sql.ref(kind)}`,
    sql`case when ${isKept(sql`p.created_at`)} then ${sum(sql`true`)} else ${all} end as ${sql.ref(`all_${kind}`)}`,
  ]
}

export type ReputationFigures = Windows & { history: Figures; acknowledgedAt: Date | null; acknowledgedBy: string | null }

type SumRow = { [Kind in (typeof REPUTATION_KINDS)[number] as `day_${Kind}` | `week_${Kind}` | Kind | `all_${Kind}`]: number } & Pick<
  ReputationFigures,
  'acknowledgedAt' | 'acknowledgedBy'
>

/** Emails sent in the last 24 hours, the last 7 days and since the acknowledgement, to the hour; and of all time. Read in one snapshot. */
export async function readReputation(db: Db, projectId: string): Promise<ReputationFigures> {
  const sums = REPUTATION_KINDS.flatMap((kind) => {
    const of = (after: ReturnType<typeof sql>) => sql`coalesce(sum(n) filter (where kind = ${sql.lit(kind)} and ${after}), 0)`
    const column = (name: string) => sql.ref(`r.${name}`)
    // Counts of the hour of the acknowledgement, before it.
    const before = (hours: number) =>
      sql`case when r.since > now() - make_interval(hours => ${hours}) then ${column(`before_${kind}`)} else 0 end`
    const inWindow = (hours: number) => sql`hour > now() - make_interval(hours => ${hours}) and (r.since is null or hour >= r.since)`
    return [
      sql`(${of(inWindow(24))} - ${before(24)})::float8 as ${sql.ref(`day_${kind}`)}`,
      sql`(${of(inWindow(7 * 24))} - ${before(7 * 24)})::float8 as ${sql.ref(`week_${kind}`)}`,
      sql`(${column(kind)} + ${of(sql`not merged and (r.since is null or hour >= r.since)`)})::float8 as ${sql.ref(kind)}`,
      sql`(${column(`all_${kind}`)} + ${of(sql`not merged`)})::float8 as ${sql.ref(`all_${kind}`)}`,
    ]
  })
  const grouped = REPUTATION_KINDS.flatMap((kind) => [kind, `all_${kind}`, `before_${kind}`]).map((name) => sql.ref(`r.${name}`))
  const row = await one<SumRow>(db)`
    with r as (
      select * from reputations where project_id = ${projectId}
      union all
      select p.id, 0, 0, 0, 0, 0, 0, null, 0, 0, 0, null, null, false from projects p
      where p.id = ${projectId} and not exists (select from reputations where project_id = ${projectId})
    ), counted as (
      select kind, hour, count as n, true as merged from email_counts
      where project_id = ${projectId} and kind = any(${[...REPUTATION_KINDS]}) and hour > now() - interval '7 days'
      union all
      select kind, hour, n, false from ${countsOfSql()} as changes where project_id = ${projectId} and kind = any(${[...REPUTATION_KINDS]})
    )
    select ${sql.join(sums)}, r.acknowledged_at as "acknowledgedAt", r.acknowledged_by as "acknowledgedBy"
    from r left join counted on true
    group by ${sql.join(grouped)}, r.since, r.acknowledged_at, r.acknowledged_by
  `
  const figures = (prefix: 'day_' | 'week_' | 'all_' | ''): Figures => ({
    total: row[`${prefix}attempted`],
    bounces: row[`${prefix}bounced`],
    complaints: row[`${prefix}complained`],
  })
  const { acknowledgedAt, acknowledgedBy } = row
  const windows = { twentyFourHour: figures('day_'), sevenDay: figures('week_'), allTime: figures('') }
  return { ...windows, history: figures('all_'), acknowledgedAt, acknowledgedBy }
}

/** The figures count from now on. The counts of this hour so far are stored, since counts are kept by the hour. */
export async function startAnew(tx: Tx, projectId: string, by: string) {
  await lockEmailCounts(tx)
  const counted = REPUTATION_KINDS.map((kind) => sql`coalesce(sum(n) filter (where kind = ${sql.lit(kind)}), 0)`)
  const columns = [...REPUTATION_KINDS.map((kind) => `before_${kind}`), ...REPUTATION_KINDS].map((column) => sql.ref(column))
  // Appended counts are added to the sums later, although they are older.
  const waiting = REPUTATION_KINDS.map(
    (kind) => sql`- coalesce((select sum(n) from ${countsOfSql()} as changes
    where project_id = ${projectId} and kind = ${sql.lit(kind)} and hour >= date_trunc('hour', now(), 'UTC')), 0)`,
  )
  await sql`
    insert into reputations (project_id, since, acknowledged_at, acknowledged_by, ${sql.join(columns)})
    select ${projectId}, date_trunc('hour', now(), 'UTC'), now(), ${by}, ${sql.join(counted)}, ${sql.join(waiting)}
    from ${allEmailCounts(projectId, sql`hour >= date_trunc('hour', now(), 'UTC')`)}
    on conflict (project_id) do update set since = excluded.since, acknowledged_at = excluded.acknowledged_at,
      acknowledged_by = excluded.acknowledged_by, ${sql.join(columns.map((column) => sql`${column} = excluded.${column}`))}
  `.execute(tx)
}

/** The last acknowledgement. The row is locked, so that two requests at the same moment are not both the first. */
export const lockAcknowledgement = async (tx: Tx, projectId: string) => {
  // Before the row: so does whoever adds up counts.
  await lockEmailCounts(tx)
  await sql`insert into reputations (project_id) values (${projectId}) on conflict do nothing`.execute(tx)
  return one<{ at: Date | null; isRecent: boolean }>(tx)`
    select acknowledged_at as at, coalesce(acknowledged_at > now() - interval '30 days', false) as "isRecent"
    from reputations where project_id = ${projectId} for update
  `
}

/** Takes projects that were counted since they were judged. */
export const takeDueReputations = (tx: Tx, { limit, except }: { limit: number; except: string[] }) =>
  many<{ projectId: string }>(tx)`
    update reputations set due = false where project_id in (
      select project_id from reputations where due and project_id <> all(${except}::uuid[]) order by project_id limit ${limit} for update skip locked)
    returning project_id as "projectId"
  `

/** Whether the projects are to be judged. */
export const setReputationsDue = (tx: Tx, projectIds: string[], due: boolean) =>
  sql`update reputations set due = ${due} where project_id = any(${projectIds}::uuid[])`.execute(tx)

/** A reset keeps the reputation. */
export const wipeReputations = (tx: Tx, scope: WipeScope) =>
  wipeRows(tx, 'reputations', scope, { key: ['project_id'], which: OF_DELETED_PROJECT })
