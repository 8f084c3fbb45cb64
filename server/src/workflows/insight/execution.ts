import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { columns, type RowOf } from '../../db/columns.ts'
import { type Db, many, maybeOne, scalar } from '../../db/index.ts'
import { PageQuery, pageInfo, severalOf } from '../../http/core/paging.ts'
import { Timestamp } from '../../http/core/validate.ts'
import { notFound } from '../../lib/errors/errors.ts'
import { isId } from '../../lib/id.ts'
import { type Graph, stepOf } from '../definition/graph.ts'
import { readGraphs } from '../executions/advance.ts'
import { STARTED_FILTER, startedSql } from '../executions/started.ts'
import { VISIT_OUTCOME, VISIT_OUTCOMES, type VisitOutcome } from '../executions/visit-outcome.ts'
import { ALL_STEP_TYPES } from '../steps/kinds.ts'

export const EXECUTION_STATUSES = ['RUNNING', 'WAITING', 'COMPLETED', 'EXITED', 'FAILED', 'CANCELLED'] as const
export const STEP_STATUSES = ['PENDING', 'SCHEDULED', 'WAITING', 'RUNNING', 'COMPLETED', 'SKIPPED', 'FAILED'] as const

const FIELDS = {
  id: z.uuid(),
  workflowId: z.uuid(),
  contactId: z.uuid(),
  status: z.enum(EXECUTION_STATUSES),
  currentStepId: z.uuid().nullable(),
  exitReason: z.string().nullable(),
  context: z.record(z.string(), z.unknown()),
  startedAt: Timestamp,
  completedAt: Timestamp.nullable(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
}
const VERSION = z.int().describe('Version of the graph that it follows.')
const DUE_AT = Timestamp.nullable().describe('When it goes on, unless by an event: the end of its pause, or the deadline of a wait.')
const AWAITS = z.string().nullable().describe('Name of the event that it waits for.')
const NamedContact = z.object({ id: z.uuid(), email: z.string() })
const StepName = z.object({ id: z.uuid(), name: z.string(), type: z.enum(ALL_STEP_TYPES) })

export const Execution = z.object(FIELDS).meta({ id: 'WorkflowExecution' })
export const ExecutionItem = z
  .object({
    ...FIELDS,
    version: VERSION,
    dueAt: DUE_AT,
    awaits: AWAITS,
    contact: NamedContact.nullable(),
    currentStep: StepName.nullable(),
  })
  .meta({ id: 'WorkflowExecutionItem' })

export const ExecutionDetails = z
  .object({
    ...FIELDS,
    version: VERSION,
    event: z.unknown().describe('The event that started it. Null: started by request or schedule.'),
    dueAt: DUE_AT,
    awaits: AWAITS,
    contact: NamedContact.nullable().describe('Null: the contact was deleted.'),
    currentStep: StepName.nullable(),
    stepExecutions: z
      .array(
        z.object({
          id: z.uuid(),
          stepId: z.uuid(),
          visit: z.int(),
          status: z.enum(STEP_STATUSES),
          outcome: z.enum(VISIT_OUTCOMES).describe('The figure of the step that counts it.'),
          scheduledFor: Timestamp.nullable(),
          input: z.unknown(),
          output: z.unknown(),
          error: z.string().nullable(),
          emailId: z.uuid().nullable(),
          startedAt: Timestamp,
          completedAt: Timestamp.nullable(),
          step: StepName.nullable(),
        }),
      )
      .describe('The last 200, in order.'),
  })
  .meta({ id: 'WorkflowExecutionDetails' })

type Row = Omit<z.output<typeof ExecutionDetails>, 'currentStep' | 'stepExecutions'>

const COLUMNS = sql`
  ${columns('workflow_executions', 'e', ['id', 'workflowId', 'contactId', 'version', 'status', 'currentStepId', 'exitReason', 'context', 'event'])},
  ${columns('workflow_executions', 'e', ['startedAt', 'awaits', 'completedAt', 'createdAt', 'updatedAt'])},
  case when e.awaits is null then e.due_at else e.deadline_at end as "dueAt",
  (select jsonb_build_object('id', c.id, 'email', c.email) from contacts c where c.project_id = e.project_id and c.id = e.contact_id) as contact`

const nameOfStep = (graph: Graph | undefined, id: string | null) => {
  const step = graph && stepOf(graph, id)
  return step ? { id: step.id, name: step.name, type: step.type } : null
}

type ExecutionKey = { projectId: string; workflowId: string; id: string }

/** Fails unless the workflow has this execution. */
export const getExecution = async (db: Db, key: ExecutionKey) =>
  (isId(key.id) && (await findExecution(db, key))) || notFound('execution', key.id)

const findExecution = (db: Db, { projectId, workflowId, id }: ExecutionKey) => maybeOne<Row>(db)`
  select ${COLUMNS} from workflow_executions e where e.project_id = ${projectId} and e.workflow_id = ${workflowId} and e.id = ${id}
`

/** Steps of an execution that are shown: a loop visits up to 1,000. */
const MAX_SHOWN_STEPS = 200

const STEP_COLUMNS = columns('workflow_step_executions', 's', [
  ...(['id', 'stepId', 'visit', 'status', 'scheduledFor', 'input', 'output', 'error', 'emailId', 'startedAt', 'completedAt'] as const),
])
type StepRow = RowOf<typeof STEP_COLUMNS> & { status: (typeof STEP_STATUSES)[number]; outcome: VisitOutcome }

export async function describeExecution(db: Db, key: ExecutionKey): Promise<z.output<typeof ExecutionDetails>> {
  const row = await getExecution(db, key)
  const graph = (await readGraphs(db, key.projectId, [row]))(row)
  const steps = await many<StepRow>(db)`
    select ${STEP_COLUMNS}, ${VISIT_OUTCOME} as outcome
    from workflow_step_executions s where s.project_id = ${key.projectId} and s.execution_id = ${row.id}
    order by s.visit desc limit ${MAX_SHOWN_STEPS}
  `
  return {
    ...row,
    currentStep: nameOfStep(graph, row.currentStepId),
    stepExecutions: steps.reverse().map((step) => ({ ...step, step: nameOfStep(graph, step.stepId) })),
  }
}

export const ExecutionsQuery = PageQuery.extend({
  status: severalOf(EXECUTION_STATUSES).describe('One or several, also separated by commas.'),
  stepId: z.uuid().optional().describe('Executions that are at this step, or ended there.'),
  contactId: z.uuid().optional(),
  ...STARTED_FILTER,
})

/** Executions that are counted and listed at most: the filters find the others. */
const MAX_COUNTED = 10_000

export async function listExecutions(db: Db, key: { projectId: string; workflowId: string }, query: z.output<typeof ExecutionsQuery>) {
  const { page, pageSize, status, stepId, contactId } = query
  const where: RawBuilder<unknown> = sql`e.project_id = ${key.projectId} and e.workflow_id = ${key.workflowId}
    ${status ? sql`and e.status = any(${status}::text[])` : sql``}
    ${stepId ? sql`and e.current_step_id = ${stepId}` : sql``}
    ${contactId ? sql`and e.contact_id = ${contactId}` : sql``} ${startedSql(query)}`
  const offset = Math.min((page - 1) * pageSize, MAX_COUNTED)
  const limit = Math.min(pageSize, MAX_COUNTED - offset)
  const rows = await many<Row>(db)`
    select ${COLUMNS} from workflow_executions e where ${where} order by e.id desc limit ${limit} offset ${offset}
  `
  const total = await scalar<number>(db)`
    select count(*)::int from (select from workflow_executions e where ${where} limit ${MAX_COUNTED}) as counted
  `
  const graphOf = await readGraphs(db, key.projectId, rows)
  const data = rows.map((row) => ({ ...row, currentStep: nameOfStep(graphOf(row), row.currentStepId) }))
  return { data, executions: data, ...pageInfo(total, query) }
}
