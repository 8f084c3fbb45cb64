import { sql } from 'kysely'
import { many, type Tx } from '../../db/index.ts'
import { recordset } from '../../db/rows.ts'
import type { Reaction, ReactionHandler } from '../../events/dispatch.ts'
import { COUNTS_FOR_WORKFLOWS, exactTime } from '../../events/first-events.ts'
import { groupBy } from '../../lib/collections/group-by.ts'
import { NIL_ID } from '../../lib/id.ts'
import { IS_ACTIVE, workflowIdOf } from '../definition/listeners.ts'
import type { WorkflowRow } from '../definition/workflow.ts'
import { cancelExecutionsOf } from './cancel.ts'
import { enrol, holdWorkflows, notifyDue, type Start } from './enrol.ts'

/** Handles reactions for workflows: events start executions and wake those that wait, a deleted contact ends its executions. */
export const reactForWorkflows: ReactionHandler = async (tx, { projectId, reactions }) => {
  const deleted = reactions.flatMap(({ contactId, topics }) => (contactId && topics.includes('contact:deleted') ? [contactId] : []))
  await cancelExecutionsOf(tx, projectId, { contactIds: deleted, reason: 'contact_deleted' })
  const happened = await readHappened(tx, projectId, reactions)
  await startByEvents(tx, projectId, happened)
  await wakeWaiting(tx, projectId, happened)
}

/** `at`: to the microsecond. */
type Happened = { id: string; name: string; contactId: string; createdAt: Date; at: string; workflowIds: string[] }

/** The events of the reactions that concern a contact, in order. Without their data: most of them only wake executions. */
async function readHappened(tx: Tx, projectId: string, reactions: Reaction[]): Promise<Happened[]> {
  const byEvent = new Map(reactions.flatMap((reaction) => (reaction.eventId ? [[reaction.eventId, reaction] as const] : [])))
  if (!byEvent.size) return []
  const rows = await many<Omit<Happened, 'workflowIds'>>(tx)`
    select id, name, contact_id as "contactId", created_at as "createdAt", ${exactTime(sql`created_at`)} as at from events
    where project_id = ${projectId} and id = any(${[...byEvent.keys()]}::uuid[]) and contact_id is not null and ${COUNTS_FOR_WORKFLOWS}
    order by created_at, id
  `
  return rows.map((row) => ({ ...row, workflowIds: byEvent.get(row.id)!.listeners.map(workflowIdOf) }))
}

async function startByEvents(tx: Tx, projectId: string, happened: Happened[]) {
  const byWorkflow = groupBy(
    happened.flatMap((event) => event.workflowIds.map((workflowId) => ({ workflowId, event }))),
    ({ workflowId }) => workflowId,
  )
  const starting = (await holdWorkflows(tx, projectId, [...byWorkflow.keys()])).map((workflow) => ({
    workflow,
    events: (byWorkflow.get(workflow.id) ?? []).map(({ event }) => event).filter((event) => startsBy(workflow, event)),
  }))
  const dataOf = await readEventData(tx, projectId, [...new Set(starting.flatMap(({ events }) => events.map(({ id }) => id)))])
  for (const { workflow, events } of starting) {
    const starts = events.map(
      ({ id, name, createdAt, contactId, at }): Start => ({
        contactId,
        event: { id, name, data: dataOf(id), createdAt: createdAt.toISOString() },
        at,
      }),
    )
    await enrol(tx, workflow, starts)
  }
}

const startsBy = ({ triggerType, triggerConfig }: WorkflowRow, { name }: Happened) =>
  triggerType === 'EVENT' && name === triggerConfig.eventName

async function readEventData(tx: Tx, projectId: string, ids: string[]) {
  const rows = ids.length
    ? await many<{ id: string; data: Record<string, unknown> }>(tx)`
      select id, data from events where project_id = ${projectId} and id = any(${ids}::uuid[])
    `
    : []
  const found = new Map(rows.map(({ id, data }) => [id, data]))
  return (id: string) => found.get(id) ?? {}
}

/** One of the events `h` of its contact is what an execution `e` waits for. */
const ENDS_WAIT = sql`exists (
  select from jsonb_to_recordset(h.events) as v(name text, at timestamptz, id uuid)
  where v.name = e.awaits and (v.at, v.id) > (e.arrived_at, coalesce(e.arrived_event_id, ${NIL_ID}::uuid))
    and (e.deadline_at is null or v.at < e.deadline_at))`

/**
 * Makes executions due that wait for one of the events; which event ends a wait is decided by the stored events, when the execution is
 * advanced. One that is being advanced at this moment may have asked too early, and come to its wait by the end of its transaction: this
 * statement waits for the rows of all executions that are due, and then looks at them again. Clocks may step back by a minute.
 */
async function wakeWaiting(tx: Tx, projectId: string, happened: Happened[]) {
  if (!happened.length) return
  const rows = happened.flatMap(({ id, name, at, contactId, workflowIds }) =>
    workflowIds.map((workflowId) => ({ contactId, workflowId, name, at, id })),
  )
  const touched = await many<{ isDue: boolean }>(tx)`
    with happened as materialized (
      -- The project is a column: see writeRecords.
      select ${projectId}::uuid as project_id, "contactId", "workflowId", array_agg(name) as names,
        jsonb_agg(jsonb_build_object('name', name, 'at', at, 'id', id)) as events
      from ${recordset('workflow_executions', rows, ['contactId', 'workflowId'], { name: 'text', at: 'text', id: 'uuid' })} as h
      group by 1, 2, 3
    )
    update workflow_executions e set
      due_at = case when ${ENDS_WAIT} then now() else e.due_at end,
      updated_at = case when ${ENDS_WAIT} then now() else e.updated_at end
    from happened h
    where e.project_id = h.project_id and e.contact_id = h."contactId" and e.workflow_id = h."workflowId" and ${IS_ACTIVE}
      and (${ENDS_WAIT} or e.webhook_host is null and e.due_at <= clock_timestamp() + interval '1 minute')
      and exists (
        select from workflow_graphs g
        where g.project_id = e.project_id and g.workflow_id = e.workflow_id and g.version = e.version and g.uses -> 'awaited' ?| h.names)
    returning e.due_at = now() as "isDue"
  `
  if (touched.some(({ isDue }) => isDue)) await notifyDue(tx)
}
