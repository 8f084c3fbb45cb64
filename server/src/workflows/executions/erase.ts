import { sql } from 'kysely'
import { countAffected, many, type Pool, scalars, type Tx, transact } from '../../db/index.ts'
import { recordset } from '../../db/rows.ts'
import { createdInScope, OF_DELETED_PROJECT, type WipeScope, wipeRows, wipeSql } from '../../db/wipe-rows.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import { workInPieces } from '../../jobs/job.ts'
import type { Wiper } from '../../projects/wipe.ts'
import { deleteWorkflowTemplates } from '../../templates/workflow-templates.ts'
import { IS_ACTIVE, listenForWorkflow, stopListening } from '../definition/listeners.ts'
import { WORKFLOW_COLUMNS, type WorkflowRow } from '../definition/workflow.ts'
import { utcDay } from './days.ts'
import { workflowLedger } from './figures.ts'
import { VISIT_OUTCOME } from './visit-outcome.ts'

/** First, so that nothing starts any more. At most 1,000 of a project. */
async function wipeWorkflows(tx: Tx, scope: WipeScope) {
  const { projectId } = scope
  const deleted = await scalars<string>(tx)`${wipeSql('workflows', scope)} returning id`
  for (const id of deleted) await stopListening(tx, { projectId, id })
  return deleted.length
}

/** Rows of workflows that are gone: others write some of them after the wipe was requested. */
const isOrphan = sql`not exists (select from workflows w where w.project_id = t.project_id and w.id = t.workflow_id)`
const inScope = (scope: WipeScope) => sql`${createdInScope(scope)} or ${isOrphan}`

/** For a project reset or deletion, in this order. */
export const WORKFLOW_WIPERS: Wiper[] = [
  wipeWorkflows,
  (tx, scope) => wipeRows(tx, 'workflow_executions', scope, { which: inScope(scope) }),
  (tx, scope) => wipeRows(tx, 'workflow_step_executions', scope, { key: ['execution_id', 'visit'], which: isOrphan }),
  (tx, scope) => wipeRows(tx, 'workflow_graphs', scope, { key: ['workflow_id', 'version'], which: isOrphan }),
  (tx, scope) => workflowLedger.wipe(tx, scope, inScope(scope)),
  (tx, scope) => wipeRows(tx, 'workflow_refusals', scope, { key: ['workflow_id', 'contact_id', 'hour', 'reason'], which: inScope(scope) }),
  (tx, scope) => wipeRows(tx, 'workflow_entries', scope, { key: ['workflow_id', 'contact_id'], which: inScope(scope) }),
  (tx, scope) => wipeRows(tx, 'workflow_firings', scope, { which: inScope(scope) }),
  // A reset keeps the secret, as it keeps the keys.
  (tx, scope) => wipeRows(tx, 'webhook_secrets', scope, { key: ['project_id'], which: OF_DELETED_PROJECT }),
]

type ErasedWorkflow = { projectId: string; workflowId: string }
/** Rows deleted in one transaction. */
const CHUNK = 1_000
/** Graphs deleted in one transaction: each may have a megabyte. */
const GRAPHS_CHUNK = 100

/** Templates deleted in one transaction: each has up to 20 MB of versions. */
const TEMPLATES_CHUNK = 10

/** Deletes what a deleted workflow has left, for about a second; a new job does the rest. Its emails stay. */
export const continueErasing = (db: Pool, workflow: ErasedWorkflow) =>
  workInPieces((isLast) =>
    transact(db, async (tx) => {
      const erased = await eraseSome(tx, workflow)
      if (erased && isLast) await enqueue(tx, 'workflows.erase', workflow)
      return erased
    }),
  )

/** One chunk of the first table that has rows left. Returns their number. */
async function eraseSome(tx: Tx, { projectId, workflowId }: ErasedWorkflow): Promise<number> {
  const which = sql`t.workflow_id = ${workflowId}`
  const scope = (limit: number): WipeScope => ({ projectId, before: 'infinity', limit })
  const executions = await scalars<string>(tx)`${wipeSql('workflow_executions', scope(CHUNK), { which })} returning id`
  await dropStepsSql(executions.map((id) => ({ projectId, id }))).execute(tx)
  return (
    executions.length ||
    (await deleteWorkflowTemplates(tx, { projectId, workflowId, limit: TEMPLATES_CHUNK })) ||
    (await wipeRows(tx, 'workflow_graphs', scope(GRAPHS_CHUNK), { key: ['workflow_id', 'version'], which })) ||
    (await workflowLedger.wipe(tx, scope(CHUNK), which)) ||
    (await wipeRows(tx, 'workflow_refusals', scope(CHUNK), { key: ['workflow_id', 'contact_id', 'hour', 'reason'], which })) ||
    (await wipeRows(tx, 'workflow_firings', scope(CHUNK), { which })) ||
    wipeRows(tx, 'workflow_entries', scope(CHUNK), { key: ['workflow_id', 'contact_id'], which })
  )
}

type Dropped = { projectId: string; id: string }[]

const dropStepsSql = (executions: Dropped) => sql`
  delete from workflow_step_executions s using ${recordset('workflow_executions', executions, ['projectId', 'id'])} as d
  where s.project_id = d."projectId" and s.execution_id = d.id`

/** Takes the visits back from the figures of their steps: each figure is that of a list. */
const dropCountedSteps = (tx: Tx, executions: Dropped) =>
  sql`
    with visits as (${dropStepsSql(executions)} returning s.project_id, s.workflow_id, s.step_id, ${VISIT_OUTCOME} as outcome)
    insert into workflow_tallies (project_id, workflow_id, subject_id, kind, n)
    select project_id, workflow_id, step_id, kind, -count(*)
    from visits cross join lateral (values ('entered'), (outcome)) as counted(kind)
    where kind <> 'waiting' group by 1, 2, 3, 4 order by 1, 2, 3, 4
  `.execute(tx)

type Retention = { months: number; limit: number }

/**
 * Ended executions that are older than the retention, with their steps. Returns their number. The contacts are remembered: a workflow without
 * re-entry must not take them again. The figures are those of what is kept, except for `started` and for transitions.
 */
export async function dropOldExecutions(tx: Tx, { months, limit }: Retention) {
  if (months === 0) return 0
  const dropped = await many<{ projectId: string; id: string }>(tx)`
    with dropped as (
      delete from workflow_executions where (project_id, id) in (
        select project_id, id from workflow_executions where completed_at < now() - make_interval(months => ${months})
        order by completed_at limit ${limit} for update skip locked)
      returning project_id, id, workflow_id, contact_id, status, started_at
    ), remembered as (
      insert into workflow_entries (project_id, workflow_id, contact_id)
      select distinct d.project_id, d.workflow_id, d.contact_id from dropped d
      where exists (select from workflows w where w.project_id = d.project_id and w.id = d.workflow_id)
        and exists (select from contacts c where c.project_id = d.project_id and c.id = d.contact_id)
      order by 1, 2, 3
      on conflict do nothing
    ), counted as (
      insert into workflow_tallies (project_id, workflow_id, subject_id, kind, n, created_at)
      select project_id, workflow_id, workflow_id, lower(status), -count(*), now() from dropped group by 1, 2, status
      union all
      select project_id, workflow_id, workflow_id, 'dropped', count(*), min(started_at) from dropped group by 1, 2, ${utcDay(sql`started_at`)}
    )
    select project_id as "projectId", id from dropped
  `
  await dropCountedSteps(tx, dropped)
  return dropped.length
}

/** Graphs that were replaced before the retention, and that no active execution follows. As long as executions are kept, their graphs are. */
export async function dropOldGraphs(tx: Tx, { months, limit }: Retention) {
  if (months === 0) return 0
  return countAffected(tx)`
    delete from workflow_graphs where (project_id, workflow_id, version) in (
      select g.project_id, g.workflow_id, g.version from workflow_graphs g
      where exists (
          select from workflow_graphs n
          where n.project_id = g.project_id and n.workflow_id = g.workflow_id and n.version > g.version
            and n.created_at < now() - make_interval(months => ${months}))
        and not exists (
          select from workflow_executions e
          where e.project_id = g.project_id and e.workflow_id = g.workflow_id and e.version = g.version and ${IS_ACTIVE})
      limit ${limit})
  `
}

const KEPT_REFUSALS_DAYS = 30

export const dropOldRefusals = (tx: Tx, limit: number) =>
  countAffected(tx)`
    delete from workflow_refusals where ctid in (
      select ctid from workflow_refusals where hour < now() - make_interval(days => ${KEPT_REFUSALS_DAYS}) limit ${limit})
  `

/** Disabled workflows listen until their last execution has ended. */
export async function refreshListeners(tx: Tx) {
  const workflows = await many<WorkflowRow>(tx)`
    select ${WORKFLOW_COLUMNS} from workflows w
    where not w.enabled and exists (select from listeners l where l.project_id = w.project_id and l.listener = 'workflow:' || w.id)
      and not exists (select from workflow_executions e where e.project_id = w.project_id and e.workflow_id = w.id and ${IS_ACTIVE})
    limit 1000 for update of w skip locked
  `
  for (const workflow of workflows) await listenForWorkflow(tx, workflow)
}
