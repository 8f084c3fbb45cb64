import { sql } from 'kysely'
import { many, type Tx } from '../db/index.ts'
import type { Reaction, ReactionHandler } from '../events/dispatch.ts'
import { CAUSED_BY_HUMAN } from '../events/last-events.ts'
import { groupBy } from '../lib/group-by.ts'
import { NIL_ID } from '../lib/id.ts'
import { cancelExecutionsOf } from './cancel.ts'
import { enrol, holdWorkflows, notifyDue, type Start, type StartEvent } from './enrol.ts'
import { IS_ACTIVE, workflowIdOf } from './listeners.ts'

/**
 * Handles reactions for workflows: events start executions and end waits, a deleted contact ends its executions. Executions are started
 * first, so that an event right after the one that starts an execution is not missed.
 */
export const reactForWorkflows: ReactionHandler = async (tx, { projectId, reactions }) => {
  const deleted = reactions.flatMap(({ contactId, topics }) => (contactId && topics.includes('contact:deleted') ? [contactId] : []))
  await cancelExecutionsOf(tx, projectId, { contactIds: deleted, reason: 'contact_deleted' })
  const happened = await readHappened(tx, projectId, reactions)
  await startByEvents(tx, projectId, happened)
  await endWaits(tx, projectId, happened)
}

type Happened = { event: StartEvent; contactId: string; workflowIds: string[] }

/** The events of the reactions that concern a contact, in order. Opens and clicks of machines do not count. */
async function readHappened(tx: Tx, projectId: string, reactions: Reaction[]): Promise<Happened[]> {
  const byEvent = new Map(reactions.flatMap((reaction) => (reaction.eventId ? [[reaction.eventId, reaction] as const] : [])))
  if (!byEvent.size) return []
  const rows = await many(
    tx,
    sql<{ id: string; name: string; data: Record<string, unknown>; contactId: string; createdAt: Date }>`
      select id, name, data, contact_id as "contactId", created_at as "createdAt" from events
      where project_id = ${projectId} and id = any(${[...byEvent.keys()]}::uuid[]) and contact_id is not null
        and (name not in ('email.open', 'email.click') or ${CAUSED_BY_HUMAN})
      order by id
    `,
  )
  return rows.map(({ contactId, createdAt, ...event }) => ({
    event: { ...event, createdAt: createdAt.toISOString() },
    contactId,
    workflowIds: byEvent.get(event.id)!.listeners.map(workflowIdOf),
  }))
}

async function startByEvents(tx: Tx, projectId: string, happened: Happened[]) {
  const byWorkflow = groupBy(
    happened.flatMap(({ workflowIds, ...each }) => workflowIds.map((workflowId) => ({ workflowId, ...each }))),
    ({ workflowId }) => workflowId,
  )
  for (const workflow of await holdWorkflows(tx, projectId, [...byWorkflow.keys()])) {
    if (workflow.triggerType !== 'EVENT') continue
    const starts = (byWorkflow.get(workflow.id) ?? [])
      .filter(({ event }) => event.name === workflow.triggerConfig.eventName)
      .map(({ contactId, event }): Start => ({ contactId, event }))
    await enrol(tx, workflow, starts)
  }
}

/** Of an execution `e` and the events `h` of its contact. Times of events are whole milliseconds. */
const ENDS_WAIT = sql`(
  e.awaits = any(h.names) and (h.events -> e.awaits ->> 'createdAt')::timestamptz >= date_trunc('milliseconds', e.arrived_at))`

/**
 * An execution that waits for one of the events goes on. One that has yet to come to the step that waits for it remembers the event: it
 * counts if it happened after the execution had left the step before. That also holds for an event whose reaction was delayed until the
 * execution waits. The row decides between an event and the end of a wait: the one that comes second finds that the execution no longer waits.
 */
async function endWaits(tx: Tx, projectId: string, happened: Happened[]) {
  if (!happened.length) return
  const rows = happened.flatMap(({ event, contactId, workflowIds }) =>
    workflowIds.map((workflowId) => ({ contactId, workflowId, name: event.name, event })),
  )
  const ended = await many(
    tx,
    sql<{ id: string }>`
      with happened as materialized (
        -- Of several events of a name the last one counts. The project is a column: see writeRecords.
        select ${projectId}::uuid as project_id, "contactId", "workflowId", jsonb_object_agg(name, event order by n) as events, array_agg(name) as names
        from rows from (jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as ("contactId" uuid, "workflowId" uuid, name text, event jsonb))
          with ordinality as h("contactId", "workflowId", name, event, n)
        group by 1, 2, 3
      )
      update workflow_executions e set
        -- Ids of events are in the order of their times: a delayed event takes the place of no later one.
        seen = e.seen || coalesce((
          select jsonb_object_agg(name, event) from jsonb_each(h.events) as n(name, event)
          where (event ->> 'id')::uuid > coalesce((e.seen -> name ->> 'id')::uuid, ${NIL_ID})), '{}'),
        awaits = case when ${ENDS_WAIT} then null else e.awaits end,
        due_at = case when ${ENDS_WAIT} then now() else e.due_at end,
        updated_at = now()
      from happened h
      where e.project_id = h.project_id and e.contact_id = h."contactId" and e.workflow_id = h."workflowId" and ${IS_ACTIVE}
        and exists (
          select from workflow_graphs g
          where g.project_id = e.project_id and g.workflow_id = e.workflow_id and g.version = e.version and g.uses -> 'awaited' ?| h.names)
      returning e.id
    `,
  )
  if (ended.length) await notifyDue(tx)
}
