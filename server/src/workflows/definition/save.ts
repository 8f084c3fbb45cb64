import { isDeepStrictEqual } from 'node:util'
import { type RawBuilder, sql } from 'kysely'
import { maybeOne, one, scalar, type Tx } from '../../db/index.ts'
import type { CallingProject } from '../../http/auth/key-lookup.ts'
import { changeAs, lockTemplatesOf, requireSendersOf } from '../../http/auth/what-sends.ts'
import { nextRevision, refuseStale } from '../../http/core/if-match.ts'
import type { Given } from '../../http/core/validate.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import { fail, invalid } from '../../lib/errors/errors.ts'
import { newId } from '../../lib/id.ts'
import { lockSegments } from '../../segments/definition/limits.ts'
import { findSegment } from '../../segments/definition/segment.ts'
import { copyWorkflowTemplates } from '../../templates/workflow-templates.ts'
import { copyGraph, newStep, withTemplates } from './edit-graph.ts'
import type { Graph } from './graph.ts'
import { IS_ACTIVE, listenForWorkflow, stopListening } from './listeners.ts'
import { insertGraph } from './save-graph.ts'
import { nextFiringOf } from './schedule.ts'
import type { TriggerType } from './trigger.ts'
import { usesOfGraph } from './uses.ts'
import { lockWorkflow, readGraph, WORKFLOW_COLUMNS, type WorkflowKey, type WorkflowRow } from './workflow.ts'

export const MAX_WORKFLOW_NAME = 255
/** Workflows of a project. */
const MAX_WORKFLOWS = 1_000

type NewWorkflow = Omit<WorkflowRow, 'id' | 'enabled' | 'version' | 'createdAt' | 'updatedAt'> & {
  /** Undefined: a new one. */
  id?: string
  /** The person who makes it. Undefined: an API key. */
  savedBy?: string | undefined
}

/** Started by an event, disabled, with nothing but its TRIGGER step. */
export function createWorkflow(tx: Tx, workflow: Omit<NewWorkflow, 'triggerType'>) {
  const trigger = newStep({ type: 'TRIGGER', config: {}, templateId: null }, new Date().toISOString())
  return insertWorkflow(tx, { ...workflow, triggerType: 'EVENT' }, { steps: [trigger], transitions: [] })
}

/** Disabled. The caller has checked what the graph refers to. */
export async function insertWorkflow(tx: Tx, workflow: NewWorkflow, graph: Graph) {
  const { projectId, id = newId(), name, description, triggerType, triggerConfig, allowReentry, savedBy } = workflow
  await lockSegments(tx, projectId)
  await assertRoomForWorkflow(tx, projectId)
  const row = await one<WorkflowRow>(tx)`
    insert into workflows as w (project_id, id, name, description, trigger_type, trigger_config, allow_reentry)
    values (${projectId}, ${id}, ${name}, ${description}, ${triggerType}, ${JSON.stringify(triggerConfig)}::jsonb, ${allowReentry})
    returning ${WORKFLOW_COLUMNS}
  `
  await insertGraph(tx, { projectId, id: row.id, version: row.version, graph, savedBy })
  return { row, graph }
}

/** Under the lock of the project's segments, which serialises changes of workflows too. */
async function assertRoomForWorkflow(tx: Tx, projectId: string) {
  const count = await scalar<number>(tx)`select count(*)::int from workflows where project_id = ${projectId}`
  if (count >= MAX_WORKFLOWS) fail('CONFLICT', { message: `A project has at most ${MAX_WORKFLOWS.toLocaleString('en')} workflows.` })
}

type WorkflowChanges = Given<Pick<WorkflowRow, 'name' | 'description' | 'enabled' | 'allowReentry'>> & {
  trigger?: { type: TriggerType; config: Record<string, unknown> } | undefined
}
type Edit = WorkflowKey & {
  caller: CallingProject
  revisions?: string[] | undefined
  /** Gets the stored workflow: the config of a trigger depends on its type. */
  changesOf: (stored: WorkflowRow) => WorkflowChanges
}

/** Changes the given fields only; a newer revision is refused. */
export async function changeWorkflow(tx: Tx, { projectId, id, caller, revisions, changesOf }: Edit): Promise<WorkflowRow> {
  await lockSegments(tx, projectId)
  const stored = await lockWorkflow(tx, { projectId, id })
  refuseStale(stored, revisions)
  const changes = changesOf(stored)
  const next: WorkflowRow = {
    ...stored,
    name: changes.name ?? stored.name,
    description: changes.description === undefined ? stored.description : changes.description,
    triggerType: changes.trigger?.type ?? stored.triggerType,
    triggerConfig: changes.trigger?.config ?? stored.triggerConfig,
    enabled: changes.enabled ?? stored.enabled,
    allowReentry: changes.allowReentry ?? stored.allowReentry,
  }
  await checkSegment(tx, next)
  if (next.enabled && !stored.enabled) await lockTemplatesOf(tx, next)
  const nextFiringAt = await nextFiringAfter(tx, stored, next)
  const update = () => updateWorkflow(tx, next, nextFiringAt)
  const row = changes.enabled || startsOtherwise(stored, next) ? await changeAs(tx, caller, { workflow: id }, update) : await update()
  await listenForWorkflow(tx, row)
  return row
}

/** A change of more than its name and description, and whether it is enabled. */
function startsOtherwise(stored: WorkflowRow, next: WorkflowRow) {
  const startOf = ({ triggerType, triggerConfig, allowReentry }: WorkflowRow) => ({ triggerType, triggerConfig, allowReentry })
  return !isDeepStrictEqual(startOf(stored), startOf(next))
}

/** A change that does not concern the schedule leaves the next firing as it is: it may be due at this moment. */
async function nextFiringAfter(tx: Tx, stored: WorkflowRow, next: WorkflowRow) {
  const scheduleOf = ({ enabled, triggerType, triggerConfig }: WorkflowRow) => ({ enabled, triggerType, triggerConfig })
  if (isDeepStrictEqual(scheduleOf(stored), scheduleOf(next))) return sql`w.next_firing_at`
  const now = await scalar<Date>(tx)`select clock_timestamp()`
  return sql`${nextFiringOf(next, now) ?? null}::timestamptz`
}

async function checkSegment(tx: Tx, { projectId, triggerType, triggerConfig }: WorkflowRow) {
  if (triggerType !== 'SCHEDULE') return
  if (!(await findSegment(tx, projectId, triggerConfig.segmentId as string))) invalid('triggerConfig.segmentId', 'No such segment.')
}

const updateWorkflow = (tx: Tx, next: WorkflowRow, nextFiringAt: RawBuilder<unknown>) =>
  one<WorkflowRow>(tx)`
    update workflows w set name = ${next.name}, description = ${next.description}, trigger_type = ${next.triggerType},
      trigger_config = ${JSON.stringify(next.triggerConfig)}::jsonb, enabled = ${next.enabled}, allow_reentry = ${next.allowReentry},
      next_firing_at = ${nextFiringAt}, updated_at = ${nextRevision(sql.ref('w.updated_at'))}
    where project_id = ${next.projectId} and id = ${next.id}
    returning ${WORKFLOW_COLUMNS}
  `

const COPY = ' (Copy)'

/** The copy is disabled, and has copies of the templates that were written in the original. */
export async function duplicateWorkflow(tx: Tx, key: WorkflowKey & { caller: CallingProject; savedBy?: string | undefined }) {
  await lockSegments(tx, key.projectId)
  const original = await lockWorkflow(tx, key)
  await requireSendersOf(tx, key.caller, { workflow: original.id })
  const graph = copyGraph(await readGraph(tx, original), new Date().toISOString())
  const id = newId()
  const { templates: ids } = usesOfGraph(graph)
  const templates = await copyWorkflowTemplates(tx, { projectId: key.projectId, from: original.id, to: id, ids, savedBy: key.savedBy })
  const name = original.name.slice(0, MAX_WORKFLOW_NAME - COPY.length) + COPY
  return insertWorkflow(tx, { ...original, id, savedBy: key.savedBy, name }, withTemplates(graph, templates))
}

/** Refused while executions are active. A job deletes its executions, templates, figures and graphs. */
export async function deleteWorkflow(tx: Tx, { projectId, id, caller }: WorkflowKey & { caller: CallingProject }) {
  await lockSegments(tx, projectId)
  await lockWorkflow(tx, { projectId, id })
  await requireSendersOf(tx, caller, { workflow: id })
  const active = await maybeOne(tx)`
    select from workflow_executions e where e.project_id = ${projectId} and e.workflow_id = ${id} and ${IS_ACTIVE} limit 1
  `
  if (active) fail('CONFLICT', { message: 'The workflow has active executions. Cancel them first, or wait until they end.' })
  await stopListening(tx, { projectId, id })
  await sql`delete from workflows where project_id = ${projectId} and id = ${id}`.execute(tx)
  await enqueue(tx, 'workflows.erase', { projectId, workflowId: id })
}
