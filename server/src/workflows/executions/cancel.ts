import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { many, type Tx } from '../../db/index.ts'
import { recordset } from '../../db/rows.ts'
import { newId } from '../../lib/id.ts'
import { IS_ACTIVE } from '../definition/listeners.ts'
import { addFigures, type FigureKind, figureOfEnd } from './figures.ts'
import { recordExecutionEnds } from './record-ends.ts'
import { STARTED_FILTER, startedSql } from './started.ts'

/** Executions cancelled by one statement. */
const CHUNK = 1_000

type Ended = { id: string; workflowId: string; contactId: string; stepId: string | null; visits: number; wasOpen: boolean }
type End = { status: 'CANCELLED' | 'FAILED'; reason: string }

/**
 * Ends active executions on the alias `e` from outside, at most 1,000. An email that is already in the outbox is sent. A webhook under way is
 * not recalled, and its outcome is ignored.
 */
async function endExecutions(tx: Tx, projectId: string, which: RawBuilder<unknown>, { status, reason }: End) {
  const ended = await many<Ended>(tx)`
    with chosen as materialized (
      select e.id, e.status = 'WAITING' as was_open from workflow_executions e
      where e.project_id = ${projectId} and ${which} and ${IS_ACTIVE} order by e.id limit ${CHUNK} for update
    )
    update workflow_executions e set status = ${status}, exit_reason = ${reason}, completed_at = now(), updated_at = now(), due_at = null,
      awaits = null, deadline_at = null, webhook_host = null
    from chosen c where e.project_id = ${projectId} and e.id = c.id
    returning e.id, e.workflow_id as "workflowId", e.contact_id as "contactId", e.current_step_id as "stepId", e.visits,
      c.was_open as "wasOpen"
  `
  const open = ended.filter(({ wasOpen, stepId }) => wasOpen && stepId)
  await sql`
    update workflow_step_executions s set status = ${status === 'FAILED' ? 'FAILED' : 'SKIPPED'}, error = ${reason}, completed_at = now()
    from ${recordset('workflow_executions', open, ['id', 'visits'])} as o
    where s.project_id = ${projectId} and s.execution_id = o.id and s.visit = o.visits and s.completed_at is null
  `.execute(tx)
  const kind = status === 'FAILED' ? ('failed' as const) : ('cancelled' as const)
  await addFigures(tx, projectId, [
    ...open.map(({ workflowId, stepId }) => ({ workflowId, subjectId: stepId!, kind })),
    ...ended.map(({ workflowId }) => figureOfEnd(workflowId, kind)),
  ])
  if (status === 'FAILED')
    await recordFailedVisits(tx, projectId, { reason, ended: ended.filter(({ wasOpen, stepId }) => !wasOpen && stepId) })
  const ends = ended.map((execution) => ({ ...execution, status, exitReason: reason }))
  await recordExecutionEnds(tx, projectId, ends)
  return ended.length
}

/** Steps that could not be run: the visit that never began is recorded, so that the history of the execution says where it failed. */
async function recordFailedVisits(tx: Tx, projectId: string, { reason, ended }: { reason: string; ended: Ended[] }) {
  const visits = ended.map(({ id: executionId, workflowId, stepId, visits }) => {
    return { executionId, workflowId, stepId: stepId!, visit: visits + 1, id: newId() }
  })
  await sql`
    with failed as (
      select * from ${recordset('workflow_step_executions', visits, ['executionId', 'workflowId', 'stepId', 'visit', 'id'])} as r
    ), counted as (
      update workflow_executions e set visits = f.visit from failed f where e.project_id = ${projectId} and e.id = f."executionId"
    )
    insert into workflow_step_executions (project_id, execution_id, visit, id, workflow_id, step_id, status, error, completed_at)
    select ${projectId}, "executionId", visit, id, "workflowId", "stepId", 'FAILED', ${reason}, now() from failed
  `.execute(tx)
  const figuresOf = (kind: FigureKind) => ended.map(({ workflowId, stepId }) => ({ workflowId, subjectId: stepId!, kind }))
  await addFigures(tx, projectId, [...figuresOf('entered'), ...figuresOf('failed')])
}

const cancel = (tx: Tx, projectId: string, which: RawBuilder<unknown>, reason: string) =>
  endExecutions(tx, projectId, which, { status: 'CANCELLED', reason })

/** For an execution that cannot be advanced. */
export const failExecution = (tx: Tx, projectId: string, { id, reason }: { id: string; reason: string }) =>
  endExecutions(tx, projectId, sql`e.id = ${id}`, { status: 'FAILED', reason })

/** Cancels the executions of deleted contacts. */
export async function cancelExecutionsOf(tx: Tx, projectId: string, { contactIds, reason }: { contactIds: string[]; reason: string }) {
  if (!contactIds.length) return
  while ((await cancel(tx, projectId, sql`e.contact_id = any(${contactIds}::uuid[])`, reason)) === CHUNK);
}

export const CANCEL_FILTER = {
  status: z.enum(['RUNNING', 'WAITING']).optional(),
  stepId: z.uuid().optional().describe('Executions that are at this step.'),
  contactId: z.uuid().optional(),
  ...STARTED_FILTER,
}
type CancelFilter = z.output<z.ZodObject<typeof CANCEL_FILTER>>

/** One chunk of the active executions of a workflow that match. Returns their number: 0 when none is left. */
export function cancelExecutionsOfWorkflow(tx: Tx, projectId: string, workflowId: string, filter: CancelFilter = {}) {
  const { status, stepId, contactId } = filter
  const which = sql`e.workflow_id = ${workflowId}
    ${status ? sql`and e.status = ${status}` : sql``}
    ${stepId ? sql`and e.current_step_id = ${stepId}` : sql``}
    ${contactId ? sql`and e.contact_id = ${contactId}` : sql``} ${startedSql(filter)}`
  return cancel(tx, projectId, which, 'cancelled')
}

/** False if it has ended. */
export const cancelExecution = async (tx: Tx, projectId: string, id: string) =>
  (await cancel(tx, projectId, sql`e.id = ${id}`, 'cancelled')) > 0
