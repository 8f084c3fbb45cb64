import { sql } from 'kysely'
import { type Db, many, one, type Tx } from '../db/index.ts'

/** `started`: of the workflow. `taken`: of a transition. The others: of a step. */
export type FigureKind = 'started' | 'entered' | 'completed' | 'skipped' | 'failed' | 'cancelled' | 'taken'
export type Figure = { workflowId: string; subjectId: string; kind: FigureKind }

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
        returning project_id, workflow_id, subject_id, kind, n
      ), added as (
        insert into workflow_figures as f (project_id, workflow_id, subject_id, kind, n)
        select project_id, workflow_id, subject_id, kind, sum(n) from merged group by 1, 2, 3, 4 order by 1, 2, 3, 4
        on conflict (project_id, workflow_id, subject_id, kind) do update set n = f.n + excluded.n
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
