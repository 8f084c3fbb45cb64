import { sql } from 'kysely'
import { countAffected, type Db, many, one, type Tx } from '../../db/index.ts'
import { addToDaysSql, recentSql } from './days.ts'
import { VISIT_OUTCOME } from './visit-outcome.ts'

/** How an execution ends. The figure of the workflow, and by its status. */
export type EndKind = 'completed' | 'exited' | 'failed' | 'cancelled'
/**
 * Figures of a workflow: `started`, each way to end (executions that are kept), and `dropped` (removed by their age). Of a transition:
 * `taken`. Figures of a step count visits that are kept: `entered`, and one figure for each outcome.
 */
export type FigureKind = EndKind | 'started' | 'dropped' | 'entered' | 'skipped' | 'taken'
export type Figure = { workflowId: string; subjectId: string; kind: FigureKind }

export const figureOfEnd = (workflowId: string, kind: EndKind): Figure => ({ workflowId, subjectId: workflowId, kind })

/** Counts what happened, in the transaction in which it did. */
export async function addFigures(tx: Tx, projectId: string, figures: Figure[]) {
  if (!figures.length) return
  const counts = new Map<string, Figure & { n: number }>()
  for (const figure of figures) {
    const key = `${figure.subjectId} ${figure.kind}`
    const known = counts.get(key)
    if (known) known.n++
    else counts.set(key, { ...figure, n: 1 })
  }
  await sql`
    insert into workflow_tallies (project_id, workflow_id, subject_id, kind, n)
    select ${projectId}, "workflowId", "subjectId", kind, n
    from jsonb_to_recordset(${JSON.stringify([...counts.values()])}::jsonb) as f("workflowId" uuid, "subjectId" uuid, kind text, n int)
  `.execute(tx)
}

/** Rows added up in one transaction. */
const MERGED = 10_000

/** Adds the appended rows up. Returns the number of rows: 0 when none is left. */
export const mergeFigures = async (tx: Tx) => {
  const { merged } = await one(
    tx,
    sql<{ merged: number }>`
      with merged as (
        delete from workflow_tallies where ctid = any(array(
          select ctid from workflow_tallies order by project_id, id limit ${MERGED} for update skip locked))
        returning project_id, workflow_id, subject_id, kind, n, created_at
      ), added as (
        insert into workflow_figures as f (project_id, workflow_id, subject_id, kind, n)
        select project_id, workflow_id, subject_id, kind, sum(n) from merged group by 1, 2, 3, 4 order by 1, 2, 3, 4
        on conflict (project_id, workflow_id, subject_id, kind) do update set n = f.n + excluded.n
      ), by_day as (
        ${addToDaysSql(sql`select project_id, workflow_id, created_at as moment, n from merged where kind = 'started'`)}
      )
      select count(*)::int as merged from merged
    `,
  )
  return merged
}

/** All figures of a workflow. */
export async function readFigures(db: Db, { projectId, workflowId }: { projectId: string; workflowId: string }) {
  const rows = await many(
    db,
    sql<{ subjectId: string; kind: FigureKind; n: number }>`
      select subject_id as "subjectId", kind, sum(n)::int as n from (
        select subject_id, kind, n from workflow_figures where project_id = ${projectId} and workflow_id = ${workflowId}
        union all
        select subject_id, kind, n from workflow_tallies where project_id = ${projectId} and workflow_id = ${workflowId}
      ) as counted group by 1, 2
    `,
  )
  const counts = new Map(rows.map(({ subjectId, kind, n }) => [`${subjectId} ${kind}`, n]))
  return (subjectId: string, kind: FigureKind) => counts.get(`${subjectId} ${kind}`) ?? 0
}

/** Figures of a step, from those of its workflow. Each is the number of visits with that outcome, `entered` that of all. */
export function stepFigures(figure: (subjectId: string, kind: FigureKind) => number, stepId: string) {
  const [entered, completed, skipped, failed, cancelled] = (['entered', 'completed', 'skipped', 'failed', 'cancelled'] as const).map(
    (kind) => figure(stepId, kind),
  ) as [number, number, number, number, number]
  return { entered, waiting: Math.max(0, entered - completed - skipped - failed - cancelled), completed, skipped, failed, cancelled }
}

/**
 * Executions of each workflow `w` of a query by status, and those that started since a day: a lateral join named `counts`. From figures, since
 * there may be a million executions. Those deleted by age are in none of them, so that each number is that of a list.
 */
export const executionCountsJoin = (since: string) => sql`
  cross join lateral (
    select
      (started - dropped)::int as executions, (started - dropped - completed - exited - failed - cancelled)::int as active,
      (completed + exited)::int as finished, failed::int as failed, cancelled::int as cancelled,
      greatest(0, recent)::int as "entered30Days"
    from (
      select ${sql.join(
        ['started', 'dropped', 'completed', 'exited', 'failed', 'cancelled', 'recent'].map(
          (kind) => sql`coalesce(sum(n) filter (where kind = ${sql.lit(kind)}), 0) as ${sql.ref(kind)}`,
        ),
      )}
      from (
        select kind, n from workflow_figures f where f.project_id = w.project_id and f.workflow_id = w.id and f.subject_id = w.id
        union all
        select kind, n from workflow_tallies t where t.project_id = w.project_id and t.workflow_id = w.id and t.subject_id = w.id
        union all
        select 'recent', r.n from (${recentSql(since)}) as r
      ) as all_figures
    ) as sums
  ) as counts`

/** SQL condition on the workflow `w`: executions that are kept have failed. */
export const HAS_FAILED = sql`(
  select coalesce(sum(n), 0) > 0 from (
    select n from workflow_figures f
    where f.project_id = w.project_id and f.workflow_id = w.id and f.subject_id = w.id and f.kind = 'failed'
    union all
    select n from workflow_tallies t
    where t.project_id = w.project_id and t.workflow_id = w.id and t.subject_id = w.id and t.kind = 'failed'
  ) as failures)`

/** When the figures of a workflow were compared: its own with its executions, those of its steps with their visits. */
type ComparedAt = 'executions_counted_at' | 'visits_counted_at'

const dueFigures = (comparedAt: ComparedAt, limit: number) => sql`
  select project_id, id from workflows where ${sql.ref(comparedAt)} is null or ${sql.ref(comparedAt)} < now() - interval '1 day'
  order by ${sql.ref(comparedAt)} nulls first, project_id, id limit ${limit} for no key update skip locked`

const markFigures = (comparedAt: ComparedAt) =>
  sql`update workflows w set ${sql.ref(comparedAt)} = now() from due d where w.project_id = d.project_id and w.id = d.id`

/** The first workflow that is due is not compared. */
const skipDue = (tx: Tx, comparedAt: ComparedAt) =>
  countAffected(tx, sql`with due as materialized (${dueFigures(comparedAt, 1)}) ${markFigures(comparedAt)}`)

/**
 * Compares the figures of workflows with their executions, each workflow once a day, and appends the difference: nodes of an earlier release
 * count no ends. One statement reads executions, figures and appended rows, so it needs no lock against workers that count. Returns the
 * number of workflows: 0 when none is due.
 */
export const compareFigures = async (tx: Tx, limit: number) => {
  const { compared } = await one(
    tx,
    sql<{ compared: number }>`
      with due as materialized (${dueFigures('executions_counted_at', limit)}
      ), marked as (${markFigures('executions_counted_at')}
      ), actual as (
        select d.project_id, d.id, lower(e.status) as kind, count(*) as n
        from due d join workflow_executions e on e.project_id = d.project_id and e.workflow_id = d.id
        group by 1, 2, 3
      ), known as (
        select d.project_id, d.id, c.kind, c.n from due d cross join lateral (
          select kind, n from workflow_figures f where f.project_id = d.project_id and f.workflow_id = d.id and f.subject_id = d.id
          union all
          select kind, n from workflow_tallies t where t.project_id = d.project_id and t.workflow_id = d.id and t.subject_id = d.id
        ) as c
      ), differences as (
        select project_id, id, kind, n from actual where kind not in ('running', 'waiting')
        union all
        -- Started executions that are not there were dropped.
        select project_id, id, 'dropped', -n from actual
        union all
        select project_id, id, 'dropped', n from known where kind = 'started'
        union all
        select project_id, id, kind, -n from known where kind <> 'started'
      ), corrected as (
        insert into workflow_tallies (project_id, workflow_id, subject_id, kind, n)
        select project_id, id, id, kind, sum(n) from differences group by 1, 2, 3, 4 having sum(n) <> 0 order by 1, 2, 4
      )
      select count(*)::int as compared from due
    `,
  )
  return compared
}

export const skipFigures = (tx: Tx) => skipDue(tx, 'executions_counted_at')

/** Longer than the limit of the pool: a workflow has several visits for each execution. */
const COMPARE_VISITS_TIMEOUT_MS = 10_000

/**
 * Compares the figures of steps with their visits, and appends the difference, as `compareFigures` does: nodes of an earlier release do not
 * take back the visits that they delete by age.
 */
export const compareStepFigures = async (tx: Tx, limit: number) => {
  await sql`set local statement_timeout = ${sql.lit(COMPARE_VISITS_TIMEOUT_MS)}`.execute(tx)
  const { compared } = await one(
    tx,
    sql<{ compared: number }>`
      with due as materialized (${dueFigures('visits_counted_at', limit)}
      ), marked as (${markFigures('visits_counted_at')}
      ), actual as (
        select s.project_id, s.workflow_id, s.step_id, ${VISIT_OUTCOME} as kind, count(*) as n
        from due d join workflow_step_executions s on s.project_id = d.project_id and s.workflow_id = d.id
        group by 1, 2, 3, 4
      ), differences as (
        select project_id, workflow_id, step_id as subject_id, 'entered' as kind, n from actual
        union all
        select project_id, workflow_id, step_id, kind, n from actual where kind <> 'waiting'
        union all
        select d.project_id, d.id, c.subject_id, c.kind, -c.n from due d cross join lateral (
          select subject_id, kind, n from workflow_figures f where f.project_id = d.project_id and f.workflow_id = d.id
          union all
          select subject_id, kind, n from workflow_tallies t where t.project_id = d.project_id and t.workflow_id = d.id
        ) as c
        where c.subject_id <> d.id and c.kind <> 'taken'
      ), corrected as (
        insert into workflow_tallies (project_id, workflow_id, subject_id, kind, n)
        select project_id, workflow_id, subject_id, kind, sum(n) from differences
        group by 1, 2, 3, 4 having sum(n) <> 0 order by 1, 2, 3, 4
      )
      select count(*)::int as compared from due
    `,
  )
  return compared
}

export const skipStepFigures = (tx: Tx) => skipDue(tx, 'visits_counted_at')
