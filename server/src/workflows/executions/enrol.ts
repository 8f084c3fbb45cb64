import { sql } from 'kysely'
import { type Db, many, one, scalar, type Tx } from '../../db/index.ts'
import { recordset } from '../../db/rows.ts'
import { recordActivities } from '../../events/activities.ts'
import { fail } from '../../lib/errors/errors.ts'
import { newId } from '../../lib/id.ts'
import { IS_ACTIVE } from '../definition/listeners.ts'
import { WORKFLOW_COLUMNS, type WorkflowKey, type WorkflowRow } from '../definition/workflow.ts'
import type { StartEvent } from '../steps/step.ts'
import { addFigures, type Figure } from './figures.ts'

/** Channel of notifications about executions that are due. */
export const EXECUTIONS_CHANNEL = 'sterna_executions'

export const notifyDue = (tx: Tx) => sql`select pg_notify(${EXECUTIONS_CHANNEL}, '')`.execute(tx)

/** Executions that a contact may start in a workflow in an hour: ends workflows that start each other. */
export const MAX_STARTS_PER_HOUR = 20

/** `at`: the exact time of the event. */
export type Start = { contactId: string; event?: StartEvent | undefined; at?: string; context?: Record<string, unknown> | undefined }

/** The workflow as it is now. No other transaction changes its graph until this one ends; others may start executions too. */
export async function holdWorkflows(tx: Tx, projectId: string, ids: string[]): Promise<WorkflowRow[]> {
  if (!ids.length) return []
  return many<WorkflowRow>(tx)`
    select ${WORKFLOW_COLUMNS} from workflows w where w.project_id = ${projectId} and w.id = any(${ids}::uuid[]) and w.enabled
    order by w.id for key share
  `
}

/**
 * Starts executions of a held workflow for contacts that exist and may enter. Returns the ids of those that started, by contact. An event
 * starts a workflow once, however often it is handled.
 */
export async function enrol(tx: Tx, workflow: WorkflowRow, starts: Start[]): Promise<Map<string, string>> {
  if (!starts.length) return new Map()
  const { projectId, id: workflowId, version, allowReentry } = workflow
  const rows = starts.map(({ contactId, event, at, context = {} }) => ({
    id: newId(),
    contactId,
    event: event ?? null,
    eventId: event?.id ?? null,
    at: at ?? null,
    context,
  }))
  // Also pins the graph: it is kept as long as executions follow it.
  const triggerId = await scalar<string>(tx)`
    with pinned as (
      update workflow_graphs set pinned = true
      where project_id = ${projectId} and workflow_id = ${workflowId} and version = ${version} and not pinned
    )
    select step ->> 'id' from workflow_graphs g cross join lateral jsonb_array_elements(g.graph -> 'steps') as step
    where g.project_id = ${projectId} and g.workflow_id = ${workflowId} and g.version = ${version} and step ->> 'type' = 'TRIGGER'
  `
  const started = await many<{ id: string; contactId: string }>(tx)`
    with given as materialized (
      -- As columns: of a constant workflow that is newer than the statistics, the planner would expect one execution and read all of them
      -- for each contact.
      select ${projectId}::uuid as project_id, ${workflowId}::uuid as workflow_id, s.*
      from ${recordset('workflow_executions', rows, ['id', 'contactId', 'event', 'context'], { eventId: 'uuid', at: 'timestamptz' })} as s
    ), allowed as materialized (
      select g.*, (
        select count(*) from workflow_executions e
        where e.project_id = g.project_id and e.workflow_id = g.workflow_id and e.contact_id = g."contactId"
          and e.created_at > now() - interval '1 hour') >= ${MAX_STARTS_PER_HOUR} as refused
      from given g
      where exists (select from contacts c where c.project_id = g.project_id and c.id = g."contactId" offset 0)
        and not exists (
          select from workflow_executions e
          where e.project_id = g.project_id and e.workflow_id = g.workflow_id and e.contact_id = g."contactId"
            ${allowReentry ? sql`and (${IS_ACTIVE} or e.source_event_id = g."eventId")` : sql``} offset 0)
        ${allowReentry ? sql`` : sql`and not ${hasEnteredSql({ projectId: sql`g.project_id`, workflowId: sql`g.workflow_id`, contactId: sql`g."contactId"` })}`}
    ), started as (
      insert into workflow_executions (project_id, id, workflow_id, version, contact_id, current_step_id, context, event, source_event_id, once, arrived_at, arrived_event_id)
      select project_id, id, workflow_id, ${version}, "contactId", ${triggerId}, context, event, "eventId", ${!allowReentry},
        -- An event right after this one counts for the first wait.
        coalesce(at, now()), "eventId"
      from allowed where not refused
      on conflict do nothing
      returning id, contact_id
    ), refusals as (
      insert into workflow_refusals as r (project_id, workflow_id, contact_id, hour, reason, count)
      select project_id, workflow_id, "contactId", date_trunc('hour', now()), 'too_many', count(*)
      from allowed where refused group by 1, 2, 3 order by 3
      on conflict (project_id, workflow_id, contact_id, hour, reason) do update set count = r.count + excluded.count
    )
    select id, contact_id as "contactId" from started
  `
  const figures = started.map((): Figure => ({ workflowId, subjectId: workflowId, kind: 'started' }))
  await addFigures(tx, projectId, figures)
  const activity = { projectId, type: 'workflow.started' as const }
  const activities = started.map(({ id, contactId }) => ({ ...activity, contactId, data: { workflowId, executionId: id } }))
  await recordActivities(tx, activities)
  if (started.length) await notifyDue(tx)
  return new Map(started.map(({ id, contactId }) => [contactId, id]))
}

/** SQL condition: the contact has been in the workflow, and its executions were deleted by age. */
const hasEnteredSql = ({ projectId, workflowId, contactId }: Record<'projectId' | 'workflowId' | 'contactId', unknown>) => sql`exists (
  select from workflow_entries n where n.project_id = ${projectId} and n.workflow_id = ${workflowId} and n.contact_id = ${contactId} offset 0)`

/** Why a contact cannot enter a workflow now; undefined if it can. */
export async function findEntryRefusal(db: Db, { projectId, id, allowReentry }: WorkflowRow, contactId: string) {
  const { active, any, recent } = await one<{ active: boolean; any: boolean; recent: number }>(db)`
    select coalesce(bool_or(${IS_ACTIVE}), false) as active,
      count(*) > 0 or ${hasEnteredSql({ projectId, workflowId: id, contactId })} as any,
      count(*) filter (where e.created_at > now() - interval '1 hour')::int as recent
    from workflow_executions e where e.project_id = ${projectId} and e.workflow_id = ${id} and e.contact_id = ${contactId}
  `
  if (active) return 'active' as const
  if (any && !allowReentry) return 'reentry' as const
  return recent >= MAX_STARTS_PER_HOUR ? ('too_many' as const) : undefined
}

const MESSAGES = {
  active: 'The contact is in this workflow already.',
  reentry: 'The contact has been in this workflow, which does not allow re-entry.',
  too_many: 'The contact has entered this workflow too often in the last hour.',
}

/** Starts an execution by request. Returns its id. The contact exists. */
export async function startExecution(tx: Tx, key: WorkflowKey, start: Start): Promise<string> {
  const [workflow] = await holdWorkflows(tx, key.projectId, [key.id])
  if (!workflow) return fail('CONFLICT', { message: 'The workflow is disabled.' })
  const refusal = await findEntryRefusal(tx, workflow, start.contactId)
  if (refusal) fail('CONFLICT', { message: MESSAGES[refusal], details: { reason: refusal } })
  const started = await enrol(tx, workflow, [start])
  // Another request was faster.
  return started.get(start.contactId) ?? fail('CONFLICT', { message: MESSAGES.active, details: { reason: 'active' } })
}
