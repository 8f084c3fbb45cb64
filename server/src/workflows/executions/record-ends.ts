import type { Tx } from '../../db/index.ts'
import { recordActivities } from '../../events/activities.ts'
import { recordFacts } from '../../webhooks/facts.ts'

export type EndedExecution = { id: string; workflowId: string; contactId: string; status: string; exitReason: string | null }

const TYPES: Record<string, 'workflow.completed' | 'workflow.failed'> = {
  COMPLETED: 'workflow.completed',
  EXITED: 'workflow.completed',
  FAILED: 'workflow.failed',
}

/** Puts executions that completed or failed into the activity feed, and tells webhook endpoints; ignores the others. */
export async function recordExecutionEnds(tx: Tx, projectId: string, executions: EndedExecution[]) {
  const ends = executions.flatMap(({ id, workflowId, contactId, status, exitReason }) => {
    const type = TYPES[status]
    return type ? [{ projectId, type, contactId, data: { workflowId, executionId: id, ...(exitReason ? { exitReason } : {}) } }] : []
  })
  await recordActivities(tx, ends)
  await recordFacts(tx, ends)
}
