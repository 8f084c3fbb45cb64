import { sql } from 'kysely'
import { z } from 'zod'
import { columns, type RowOf } from '../../db/columns.ts'
import { type Db, maybeOne, scalar, type Tx } from '../../db/index.ts'
import { Timestamp } from '../../http/core/validate.ts'
import { fail } from '../../lib/errors/errors.ts'
import { isId } from '../../lib/id.ts'
import { ALL_STEP_TYPES } from '../steps/kinds.ts'
import type { Graph, GraphStep, GraphTransition } from './graph.ts'
import { TRIGGER_TYPES, type TriggerType } from './trigger.ts'

export const Transition = z
  .object({
    id: z.uuid(),
    fromStepId: z.uuid(),
    toStepId: z.uuid(),
    branch: z.string().nullable().describe('`yes`, `no`, the id of a branch, `default` or `timeout`. Null: the plain transition.'),
    condition: z.object({ branch: z.string() }).nullable().describe('The branch once more.'),
    priority: z.int(),
    createdAt: Timestamp,
  })
  .meta({ id: 'WorkflowTransition' })

const Position = z.object({ x: z.number(), y: z.number() })

const STEP = {
  id: z.uuid(),
  workflowId: z.uuid(),
  type: z.enum(ALL_STEP_TYPES),
  name: z.string(),
  position: Position,
  config: z.record(z.string(), z.unknown()).describe('By type: see docs/workflows.md.'),
  templateId: z.uuid().nullable(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
}

export const WorkflowStep = z
  .object({ ...STEP, outgoingTransitions: z.array(Transition), incomingTransitions: z.array(Transition) })
  .meta({ id: 'WorkflowStep' })

export const WORKFLOW_FIELDS = {
  id: z.uuid(),
  name: z.string(),
  description: z.string().nullable(),
  triggerType: z.enum(TRIGGER_TYPES),
  triggerConfig: z
    .record(z.string(), z.unknown())
    .describe('`EVENT`: `{eventName}`. `SCHEDULE`: `{schedule, timezone, segmentId}`, with a cron of five fields. `MANUAL`: empty.'),
  enabled: z.boolean(),
  allowReentry: z.boolean().describe('Whether a contact whose execution has ended may enter again.'),
  version: z.int().describe('Grows with every change of steps or transitions.'),
  projectId: z.uuid(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
}

const WorkflowProblem = z.object({
  stepId: z.uuid().nullable(),
  code: z.enum([
    'no_steps',
    'unreachable',
    'no_sender',
    'template_missing',
    'segment_missing',
    'trigger_incomplete',
    'loop_without_pause',
    'value_missing',
  ]),
  message: z.string(),
})
export type Problem = z.output<typeof WorkflowProblem>

export const Workflow = z
  .object({
    ...WORKFLOW_FIELDS,
    steps: z.array(WorkflowStep),
    transitions: z.array(Transition),
    problems: z
      .array(WorkflowProblem)
      .describe('Problems that keep the workflow from doing what it should. It can be enabled nevertheless.'),
  })
  .meta({ id: 'Workflow' })

const OWN_COLUMNS = ['id', 'name', 'description', 'triggerType', 'triggerConfig', 'enabled', 'allowReentry', 'version'] as const
export const WORKFLOW_COLUMNS = columns('workflows', 'w', [...OWN_COLUMNS, 'projectId', 'createdAt', 'updatedAt'])
export type WorkflowRow = RowOf<typeof WORKFLOW_COLUMNS> & { triggerType: TriggerType; triggerConfig: Record<string, unknown> }
export type WorkflowKey = { projectId: string; id: string }

const selectWorkflow = ({ projectId, id }: WorkflowKey, lock = sql``) => sql<WorkflowRow>`
  select ${WORKFLOW_COLUMNS} from workflows w where w.project_id = ${projectId} and w.id = ${id} ${lock}`

const workflowNotFound = (id: string): never => fail('WORKFLOW_NOT_FOUND', { details: { resource: 'workflow', id: id.slice(0, 100) } })

/** Fails unless the project has this workflow. */
export const getWorkflow = async (db: Db, key: WorkflowKey): Promise<WorkflowRow> =>
  (isId(key.id) && (await maybeOne(db, selectWorkflow(key)))) || workflowNotFound(key.id)

/** The same, and keeps others from changing the workflow, and executions from starting. */
export const lockWorkflow = async (tx: Tx, key: WorkflowKey): Promise<WorkflowRow> =>
  (await maybeOne(tx, selectWorkflow(key, sql`for update`))) ?? workflowNotFound(key.id)

/** The graph of a version, by default the current one of a workflow that exists. */
export const readGraph = (db: Db, { projectId, id, version }: WorkflowKey & { version: number }) => scalar<Graph>(db)`
  select graph from workflow_graphs where project_id = ${projectId} and workflow_id = ${id} and version = ${version}
`

export const showTransition = (transition: GraphTransition): z.output<typeof Transition> => ({
  ...transition,
  condition: transition.branch === null ? null : { branch: transition.branch },
})

export const showStep = (step: GraphStep, { workflowId, graph }: { workflowId: string; graph: Graph }): z.output<typeof WorkflowStep> => ({
  ...step,
  workflowId,
  outgoingTransitions: graph.transitions.filter(({ fromStepId }) => fromStepId === step.id).map(showTransition),
  incomingTransitions: graph.transitions.filter(({ toStepId }) => toStepId === step.id).map(showTransition),
})

export const showWorkflow = (row: WorkflowRow, graph: Graph, problems: Problem[]): z.output<typeof Workflow> => ({
  ...row,
  steps: graph.steps.map((step) => showStep(step, { workflowId: row.id, graph })),
  transitions: graph.transitions.map(showTransition),
  problems,
})
