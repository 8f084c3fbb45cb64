import { type RawBuilder, sql } from 'kysely'
import { type Db, many, scalars, type Tx } from '../../db/index.ts'
import { defineLedger } from '../../ledger/ledger.ts'
import { workflowDays } from './days.ts'
import { VISIT_OUTCOME } from './visit-outcome.ts'

/** How an execution ends. The figure of the workflow, and by its status. */
export type EndKind = 'completed' | 'exited' | 'failed' | 'cancelled'
/**
 * Figures of a workflow: `started`, each way to end (executions that are kept), and `dropped` (removed by their age). For a transition:
 * `taken`. Figures of a step count visits that are kept: `entered`, and one figure for each outcome.
 */
export type FigureKind = EndKind | 'started' | 'dropped' | 'entered' | 'skipped' | 'taken'
export type Figure = { workflowId: string; subjectId: string; kind: FigureKind }

export const figureOfEnd = (workflowId: string, kind: EndKind): Figure => ({ workflowId, subjectId: workflowId, kind })

export const workflowLedger = defineLedger({
  name: 'workflows',
  deltas: 'workflow_tallies',
  sums: {
    workflow_figures: {
      key: { workflow_id: sql`d.workflow_id`, subject_id: sql`d.subject_id`, kind: sql`d.kind` },
      values: { n: sql`d.n` },
      parts: (db, projectId) => scalars<string>(db)`select id from workflows where project_id = ${projectId} order by id`,
      within: ({ part }) => sql`workflow_id = ${part} and kind not in ('started', 'taken')`,
      actual: ({ projectId, part }) => actualFigures(projectId, part),
    },
    workflow_days: workflowDays,
  },
})

/** The figures of a workflow that are those of a list: its executions by status, and the visits of its steps by outcome. */
const actualFigures = (projectId: string, workflowId: string): RawBuilder<unknown> => {
  const isOfWorkflow = sql`project_id = ${projectId} and workflow_id = ${workflowId}`
  return sql`
    select workflow_id, workflow_id as subject_id, lower(status) as kind, count(*) as n from workflow_executions
    where ${isOfWorkflow} and status not in ('RUNNING', 'WAITING') group by 1, 3
    union all
    -- Started executions that are not there were dropped.
    select ${workflowId}::uuid, ${workflowId}::uuid, 'dropped',
      (select coalesce(sum(n), 0) from ${figuresSql(sql`${projectId}`, sql`${workflowId}`)} where kind = 'started')
        - (select count(*) from workflow_executions where ${isOfWorkflow})
    union all
    select s.workflow_id, s.step_id, counted.kind, count(*)
    from workflow_step_executions s cross join lateral (values ('entered'), (${VISIT_OUTCOME})) as counted(kind)
    where ${isOfWorkflow} and counted.kind <> 'waiting' group by 1, 2, 3`
}

/** Figures of a workflow, to be added up. */
const figuresSql = (projectId: RawBuilder<unknown>, workflowId: RawBuilder<unknown>): RawBuilder<unknown> => sql`(
  select subject_id, kind, n from ${workflowLedger.readSql('workflow_figures', projectId)} where workflow_id = ${workflowId}) as figures`

/** Counts what happened, in the transaction in which it did. */
export async function addFigures(tx: Tx, projectId: string, figures: Figure[]) {
  const counts = new Map<string, { project_id: string; workflow_id: string; subject_id: string; kind: string; n: number }>()
  for (const { workflowId, subjectId, kind } of figures) {
    const key = `${subjectId} ${kind}`
    const known = counts.get(key)
    if (known) known.n++
    else counts.set(key, { project_id: projectId, workflow_id: workflowId, subject_id: subjectId, kind, n: 1 })
  }
  await workflowLedger.append(tx, [...counts.values()])
}

/** All figures of a workflow. */
export async function readFigures(db: Db, { projectId, workflowId }: { projectId: string; workflowId: string }) {
  const rows = await many<{ subjectId: string; kind: FigureKind; n: number }>(db)`
    select subject_id as "subjectId", kind, sum(n)::int as n from ${figuresSql(sql`${projectId}`, sql`${workflowId}`)} group by 1, 2
  `
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
        select kind, n from ${figuresSql(sql`w.project_id`, sql`w.id`)} where subject_id = w.id
        union all
        select 'recent', started from ${workflowLedger.readSql('workflow_days', sql`w.project_id`)}
        where workflow_id = w.id and day >= ${since}::date
      ) as all_figures
    ) as sums
  ) as counts`

/** SQL condition on the workflow `w`: executions that are kept have failed. */
export const HAS_FAILED = sql`(
  select coalesce(sum(n), 0) > 0 from ${figuresSql(sql`w.project_id`, sql`w.id`)} where subject_id = w.id and kind = 'failed')`
