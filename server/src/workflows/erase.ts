import { type RawBuilder, sql } from 'kysely'
import { countAffected, many, type Tx } from '../db/index.ts'
import { type WipeScope, wipeRows, wipeSql } from '../db/wipe-rows.ts'
import { IS_ACTIVE, listenForWorkflow, stopListening } from './listeners.ts'
import { WORKFLOW_COLUMNS, type WorkflowRow } from './workflow.ts'

/** For a project reset or deletion: workflows first, so that nothing starts any more. At most 1,000 of a project. */
export async function wipeWorkflows(tx: Tx, scope: WipeScope) {
  const { projectId } = scope
  const deleted = await many(tx, sql<{ id: string }>`${wipeSql('workflows', scope)} returning id`)
  for (const { id } of deleted) await stopListening(tx, { projectId, id })
  return deleted.length
}

const startedInScope = ({ before }: WipeScope) => sql`t.started_at <= ${before}::timestamptz`

/** Also of workflows that are already gone. */
export const wipeExecutions = (tx: Tx, scope: WipeScope) => wipeRows(tx, 'workflow_executions', scope)
export const wipeStepExecutions = (tx: Tx, scope: WipeScope) =>
  wipeRows(tx, 'workflow_step_executions', scope, { key: ['execution_id', 'visit'], which: startedInScope(scope) })
export const wipeGraphs = (tx: Tx, scope: WipeScope) =>
  wipeRows(tx, 'workflow_graphs', scope, {
    key: ['workflow_id', 'version'],
    which: sql`not exists (select from workflows w where w.project_id = t.project_id and w.id = t.workflow_id)`,
  })
export const wipeFigures = async (tx: Tx, scope: WipeScope) =>
  (await wipeRows(tx, 'workflow_tallies', scope)) +
  (await wipeRows(tx, 'workflow_figures', scope, { key: ['workflow_id', 'subject_id', 'kind'] }))
export const wipeRefusals = (tx: Tx, scope: WipeScope) =>
  wipeRows(tx, 'workflow_refusals', scope, { key: ['workflow_id', 'contact_id', 'hour', 'reason'] })
/** A reset keeps the secret, as it keeps the keys. */
export const wipeWebhookSecret = (tx: Tx, scope: WipeScope) =>
  wipeRows(tx, 'webhook_secrets', scope, {
    key: ['project_id'],
    which: sql`exists (select from projects p where p.id = t.project_id and p.deleted_at is not null)`,
  })
export const wipeFirings = (tx: Tx, scope: WipeScope) => wipeRows(tx, 'workflow_firings', scope)

/** Ended executions that are older than the retention, or whose workflow was deleted; with their steps. Returns their number. */
export async function dropOldExecutions(tx: Tx, { months, limit }: { months: number; limit: number }) {
  const old = sql`
    select project_id, id from workflow_executions where completed_at < now() - make_interval(months => ${months})
    order by completed_at limit ${limit}`
  const dropped = months > 0 ? await dropExecutions(tx, old) : 0
  return dropped || dropExecutions(tx, endedWithoutWorkflow(limit))
}

/** A skip scan over the workflows that have executions: it must not read them all, as there may be millions to keep. */
const endedWithoutWorkflow = (limit: number) => sql`
  with recursive used as (
    (select project_id, workflow_id from workflow_executions order by project_id, workflow_id limit 1)
    union all
    select n.project_id, n.workflow_id from used u cross join lateral (
      select e.project_id, e.workflow_id from workflow_executions e where (e.project_id, e.workflow_id) > (u.project_id, u.workflow_id)
      order by e.project_id, e.workflow_id limit 1
    ) as n
  )
  select e.project_id, e.id from used u cross join lateral (
    select project_id, id from workflow_executions
    where project_id = u.project_id and workflow_id = u.workflow_id and completed_at is not null limit ${limit}
  ) as e
  where not exists (select from workflows w where w.project_id = u.project_id and w.id = u.workflow_id)
  limit ${limit}`

async function dropExecutions(tx: Tx, which: RawBuilder<unknown>) {
  const dropped = await many(
    tx,
    sql<{ projectId: string; id: string }>`
      delete from workflow_executions where (project_id, id) in (${which}) returning project_id as "projectId", id
    `,
  )
  await sql`
    delete from workflow_step_executions s using jsonb_to_recordset(${JSON.stringify(dropped)}::jsonb) as d("projectId" uuid, id uuid)
    where s.project_id = d."projectId" and s.execution_id = d.id
  `.execute(tx)
  return dropped.length
}

/** Graphs that no execution has followed since: all executions were deleted, or the workflow. */
export const dropUnusedGraphs = (tx: Tx, limit: number) =>
  countAffected(
    tx,
    sql`
      delete from workflow_graphs where (project_id, workflow_id, version) in (
        select g.project_id, g.workflow_id, g.version from workflow_graphs g
        where not exists (select from workflows w where w.project_id = g.project_id and w.id = g.workflow_id and w.version = g.version)
          and not exists (
            select from workflow_executions e where e.project_id = g.project_id and e.workflow_id = g.workflow_id and e.version = g.version)
        limit ${limit})
    `,
  )

const KEPT_REFUSALS_DAYS = 30

export const dropOldRefusals = (tx: Tx, limit: number) =>
  countAffected(
    tx,
    sql`
      delete from workflow_refusals where ctid in (
        select ctid from workflow_refusals where hour < now() - make_interval(days => ${KEPT_REFUSALS_DAYS}) limit ${limit})
    `,
  )

/** Disabled workflows listen until their last execution has ended. Enabled ones forget events of graphs that no execution follows. */
export async function refreshListeners(tx: Tx) {
  const workflows = await many(
    tx,
    sql<WorkflowRow>`
      select ${WORKFLOW_COLUMNS} from workflows w
      where not w.enabled and exists (select from listeners l where l.project_id = w.project_id and l.listener = 'workflow:' || w.id)
        and not exists (select from workflow_executions e where e.project_id = w.project_id and e.workflow_id = w.id and ${IS_ACTIVE})
      limit 1000 for update of w skip locked
    `,
  )
  for (const workflow of workflows) await listenForWorkflow(tx, workflow)
}
