import { sql } from 'kysely'
import { many, type Tx } from '../../db/index.ts'
import { listenTo, type Topic } from '../../events/listen.ts'
import type { WorkflowKey, WorkflowRow } from './workflow.ts'

/** Name of a workflow among the listeners of its project. */
const PREFIX = 'workflow:'
const workflowListener = (id: string) => `${PREFIX}${id}`
export const workflowIdOf = (listener: string) => listener.slice(PREFIX.length)

/** SQL condition on the alias `e`. */
export const IS_ACTIVE = sql`e.status in ('RUNNING', 'WAITING')`

/**
 * Listens to the events of the whole graph, and of graphs that executions still follow, so that no event is missed between two steps. Call it
 * under the lock of the workflow, after every change of it.
 */
export async function listenForWorkflow(tx: Tx, { projectId, id, enabled, triggerType, triggerConfig, version }: WorkflowRow) {
  const followed = await many<{ events: string[] }>(tx)`
    select g.uses -> 'awaited' as events from workflow_graphs g
    where g.project_id = ${projectId} and g.workflow_id = ${id} and (
      ${enabled} and g.version = ${version}
      or exists (select from workflow_executions e where e.project_id = g.project_id and e.workflow_id = g.workflow_id and e.version = g.version and ${IS_ACTIVE}))
  `
  const events = followed.flatMap((graph) => graph.events)
  if (enabled && triggerType === 'EVENT') events.push(triggerConfig.eventName as string)
  const topics: Topic[] = [...new Set(events)].map((name): Topic => `event:${name}`)
  await listenTo(tx, { projectId, listener: workflowListener(id) }, followed.length ? [...topics, 'contact:deleted'] : [])
}

export const stopListening = (tx: Tx, { projectId, id }: WorkflowKey) => listenTo(tx, { projectId, listener: workflowListener(id) }, [])
