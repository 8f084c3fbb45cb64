import { z } from 'zod'
import { columns } from '../../db/columns.ts'
import { type Db, many, maybeOne } from '../../db/index.ts'
import { readLastEvents } from '../../events/last-events.ts'
import { Timestamp } from '../../http/core/validate.ts'
import type { WorkflowRow } from '../definition/workflow.ts'
import { findEntryRefusal, MAX_STARTS_PER_HOUR } from '../executions/enrol.ts'
import { EXECUTION_STATUSES } from './execution.ts'

/** Executions and refusals shown. */
const MAX_HISTORY = 100

export const WorkflowExplanation = z.object({
  contact: z.object({ id: z.uuid(), email: z.string(), subscribed: z.boolean() }),
  isActive: z.boolean().describe('Whether the contact is in the workflow now.'),
  canEnter: z.boolean(),
  reason: z.enum(['disabled', 'active', 'reentry', 'too_many', 'not_triggered', 'ready']).describe('Why the contact is or is not in it.'),
  message: z.string(),
  triggeredAt: Timestamp.nullable().describe('When the event that starts the workflow last happened for the contact.'),
  executions: z
    .array(
      z.object({
        id: z.uuid(),
        version: z.int(),
        status: z.enum(EXECUTION_STATUSES),
        exitReason: z.string().nullable(),
        currentStepId: z.uuid().nullable(),
        startedAt: Timestamp,
        completedAt: Timestamp.nullable(),
      }),
    )
    .describe(`Newest first, at most ${MAX_HISTORY}.`),
  refusals: z.array(z.object({ reason: z.string(), hour: Timestamp, count: z.int() })).describe('Starts that a limit refused, by hour.'),
})

type Explained = z.output<typeof WorkflowExplanation>

/** Undefined when there is no such contact. */
export async function explainWorkflow(db: Db, workflow: WorkflowRow, contactId: string): Promise<Explained | undefined> {
  const { projectId, id } = workflow
  const contact = await maybeOne<{ id: string; email: string; subscribed: boolean }>(db)`
    select id, email, subscribed from contacts where project_id = ${projectId} and id = ${contactId}
  `
  if (!contact) return undefined
  const executions = await many<Explained['executions'][number]>(db)`
    select ${columns('workflow_executions', 'e', ['id', 'version', 'status', 'exitReason', 'currentStepId', 'startedAt', 'completedAt'])}
    from workflow_executions e where e.project_id = ${projectId} and e.workflow_id = ${id} and e.contact_id = ${contactId}
    order by e.id desc limit ${MAX_HISTORY}
  `
  const refusals = await many<Explained['refusals'][number]>(db)`
    select reason, hour, count from workflow_refusals
    where project_id = ${projectId} and workflow_id = ${id} and contact_id = ${contactId} order by hour desc limit ${MAX_HISTORY}
  `
  const triggeredAt = await readTriggered(db, workflow, contactId)
  const refusal = await findEntryRefusal(db, workflow, contactId)
  const reason = reasonOf(workflow, refusal, triggeredAt)
  return {
    contact,
    isActive: refusal === 'active',
    canEnter: reason === 'not_triggered' || reason === 'ready',
    reason,
    message: MESSAGES[reason],
    triggeredAt: triggeredAt ?? null,
    executions,
    refusals,
  }
}

async function readTriggered(db: Db, { projectId, triggerType, triggerConfig }: WorkflowRow, contactId: string) {
  if (triggerType !== 'EVENT') return undefined
  const name = triggerConfig.eventName as string
  const event = { name, humanOnly: name === 'email.open' || name === 'email.click' }
  return (await readLastEvents(db, { projectId, contactIds: [contactId], eventsFor: () => [event] }))(contactId, event)
}

const MESSAGES: Record<Explained['reason'], string> = {
  active: 'The contact is in the workflow now.',
  disabled: 'The workflow is disabled: no contact enters it.',
  reentry: 'The contact has been in the workflow, which does not allow re-entry.',
  too_many: `The contact has entered the workflow ${MAX_STARTS_PER_HOUR} times in the last hour, the most that is allowed.`,
  not_triggered: 'What starts the workflow has not happened for this contact.',
  ready: 'The contact enters the workflow the next time that it is started for the contact.',
}

type Refusal = Awaited<ReturnType<typeof findEntryRefusal>>

function reasonOf({ enabled, triggerType }: WorkflowRow, refusal: Refusal, triggeredAt: Date | undefined): Explained['reason'] {
  if (refusal === 'active') return 'active'
  if (!enabled) return 'disabled'
  if (refusal) return refusal
  return !triggeredAt && triggerType === 'EVENT' ? 'not_triggered' : 'ready'
}
