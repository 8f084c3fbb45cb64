import type { Tx } from '../../db/index.ts'
import { fail } from '../../lib/errors.ts'
import type { WorkflowKey } from '../definition/workflow.ts'
import { enrol, findEntryRefusal, holdWorkflows } from './enrol.ts'

const MESSAGES = {
  active: 'The contact is in this workflow already.',
  reentry: 'The contact has been in this workflow, which does not allow re-entry.',
  too_many: 'The contact has entered this workflow too often in the last hour.',
}

/** Starts an execution by request. Returns its id. The contact exists. */
export async function startExecution(
  tx: Tx,
  key: WorkflowKey,
  { contactId, context }: { contactId: string; context: Record<string, unknown> },
): Promise<string> {
  const [workflow] = await holdWorkflows(tx, key.projectId, [key.id])
  if (!workflow) return fail('CONFLICT', { message: 'The workflow is disabled.' })
  const refusal = await findEntryRefusal(tx, workflow, contactId)
  if (refusal) fail('CONFLICT', { message: MESSAGES[refusal], details: { reason: refusal } })
  const started = await enrol(tx, workflow, [{ contactId, context }])
  // Another request was faster.
  return started.get(contactId) ?? fail('CONFLICT', { message: MESSAGES.active, details: { reason: 'active' } })
}
