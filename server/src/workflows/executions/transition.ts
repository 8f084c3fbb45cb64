import { sql } from 'kysely'
import { columns } from '../../db/columns.ts'
import { many, type Tx } from '../../db/index.ts'
import { insertRows, updateFrom } from '../../db/rows.ts'
import type { EventPosition } from '../../events/first-events.ts'
import { newId } from '../../lib/id.ts'
import { type Graph, type GraphStep, stepOf, transitionFor } from '../definition/graph.ts'
import type { Running, StepOutcome } from '../steps/step.ts'
import { addFigures, type EndKind, type Figure, figureOfEnd } from './figures.ts'
import { type EndedExecution, recordExecutionEnds } from './record-ends.ts'

/** Steps that an execution may visit: ends loops that never pause for long. */
const MAX_VISITS = 1_000

/** An execution at a step of its graph. */
export type ActiveExecution = Running & { step: GraphStep; graph: Graph }
type Judged = { execution: ActiveExecution; outcome: StepOutcome }
type NextState = Pick<Running, 'id' | 'visits' | 'arrival' | 'dueAt' | 'awaits' | 'deadlineAt' | 'attempts' | 'context'> & {
  status: 'RUNNING' | 'WAITING' | 'COMPLETED' | 'EXITED' | 'FAILED' | 'CANCELLED'
  currentStepId: string
  webhookHost: string | null
  exitReason: string | null
}
type Round = { projectId: string; now: Date; isLast: boolean }

/**
 * Records what steps did, and moves their executions on. Returns those that have come to their next step and can go on at once; with `isLast`
 * these are due instead, and none is returned.
 */
export async function applyOutcomes(tx: Tx, { projectId, now, isLast }: Round, judged: Judged[]) {
  const moved = judged.map((each) => moveOn(each, now))
  await writeRecords(tx, projectId, moved)
  // The state of an execution that goes on is written at the end of the transaction.
  const staying = moved.filter(({ next }) => isLast || !next).map(({ state }) => state)
  await writeStates(tx, projectId, staying)
  const figures = moved.flatMap((each) => each.figures)
  await addFigures(tx, projectId, figures)
  return isLast ? [] : moved.flatMap(({ next }) => next ?? [])
}

type Moved = { state: NextState; record: ReturnType<typeof recordOf>; isNew: boolean; next?: ActiveExecution; figures: Figure[] }

/** State of an execution that has just come to a step. */
export const ARRIVED = { status: 'RUNNING', dueAt: null, awaits: null, deadlineAt: null, attempts: 0 } as const

/** Pure: what follows from the outcome of a step. */
export function moveOn({ execution, outcome }: Judged, now: Date): Moved {
  const { id, workflowId, step, status, context, arrival } = execution
  const isNew = status === 'RUNNING'
  const visits = execution.visits + (isNew ? 1 : 0)
  const entered: Figure[] = isNew ? [{ workflowId, subjectId: step.id, kind: 'entered' }] : []
  const record = recordOf(execution, visits, outcome)
  const before: NextState = { id, ...ARRIVED, currentStepId: step.id, visits, arrival, webhookHost: null, exitReason: null, context }
  const moved = (change: Partial<NextState>, figures: Figure[]): Moved => ({
    state: { ...before, ...change },
    record,
    isNew,
    figures: [...entered, ...figures],
  })
  const over = (kind: Figure['kind']): Figure => ({ workflowId, subjectId: step.id, kind })
  switch (outcome.is) {
    case 'wait': {
      const { until, awaits = null, deadlineAt = null, attempts = 0, webhookHost = null } = outcome
      return moved({ status: 'WAITING', dueAt: until, awaits, deadlineAt, attempts, webhookHost }, [])
    }
    case 'exit':
      return moved({ status: 'EXITED', exitReason: outcome.reason }, [over('completed'), figureOfEnd(workflowId, 'exited')])
    case 'failed':
      return moved({ status: 'FAILED', exitReason: outcome.error }, [over('failed'), figureOfEnd(workflowId, 'failed')])
    case 'cancelled':
      return moved({ status: 'CANCELLED', exitReason: outcome.reason }, [over('cancelled'), figureOfEnd(workflowId, 'cancelled')])
    case 'skipped':
      return follow(execution, moved({}, [over('skipped')]), now)
    case 'done': {
      const { branch = null, context: changed = context, arrival: next = arrival } = outcome
      return follow(execution, moved({ context: changed }, [over('completed')]), now, { branch, arrival: next })
    }
  }
}

type Way = { branch: string | null; arrival: EventPosition }

/** Takes the transition of a branch. Without one the execution is completed. */
function follow(execution: ActiveExecution, moved: Moved, now: Date, way: Way = { branch: null, arrival: execution.arrival }): Moved {
  const { workflowId, graph } = execution
  const { state, figures } = moved
  const { branch, arrival } = way
  const transition = transitionFor(graph, execution.step.id, branch)
  const ended = (change: Partial<NextState>, end: EndKind): Moved => ({
    ...moved,
    state: { ...state, ...change },
    figures: [...figures, figureOfEnd(workflowId, end)],
  })
  if (!transition) return ended({ status: 'COMPLETED' }, 'completed')
  if (state.visits >= MAX_VISITS) return ended({ status: 'FAILED', exitReason: 'too_many_steps' }, 'failed')
  const step = stepOf(graph, transition.toStepId)!
  return {
    ...moved,
    state: { ...state, currentStepId: step.id, arrival, dueAt: now },
    next: { ...execution, ...ARRIVED, visits: state.visits, context: state.context, step, arrival },
    figures: [...figures, { workflowId, subjectId: transition.id, kind: 'taken' }],
  }
}

/** The row of the visit, by the names in `writeRecords`. */
function recordOf({ id, workflowId, step }: Running, visit: number, outcome: StepOutcome) {
  const record = {
    executionId: id,
    workflowId,
    visit,
    id: newId(),
    stepId: step.id,
    scheduledFor: null,
    input: inputOf(step.config),
    output: ('output' in outcome && outcome.output) || null,
    error: null,
    emailId: null,
    isOver: outcome.is !== 'wait',
  }
  switch (outcome.is) {
    case 'done':
      return { ...record, status: 'COMPLETED', emailId: outcome.emailId ?? null, scheduledFor: outcome.deadlineAt ?? null }
    case 'exit':
      return { ...record, status: 'COMPLETED', output: { reason: outcome.reason } }
    case 'skipped':
      return { ...record, status: 'SKIPPED', output: { reason: outcome.reason, ...outcome.output } }
    case 'failed':
      return { ...record, status: 'FAILED', error: outcome.error }
    case 'cancelled':
      // The error distinguishes it from a step that was skipped: visit-outcome.ts.
      return { ...record, status: 'SKIPPED', error: outcome.reason }
    case 'wait':
      // The deadline of a wait, not the moment after it at which the timeout is taken.
      return { ...record, status: outcome.as, scheduledFor: outcome.awaits ? (outcome.deadlineAt ?? null) : outcome.until }
  }
}

/** Bytes of a config that are stored with every step record. */
const MAX_INPUT = 2_000

/** The config of the step, unless it is long: the graph has it. */
const inputOf = (config: object) => (JSON.stringify(config).length <= MAX_INPUT ? config : null)

/**
 * A visit is inserted once: a second attempt at the same visit fails, and with it its effect. Here and below the project is a column: of a
 * constant project that is newer than the statistics, the planner would expect one row and read all of them.
 */
async function writeRecords(tx: Tx, projectId: string, records: Moved[]) {
  const rows = (isNew: boolean) => records.filter((each) => each.isNew === isNew).map(({ record }) => ({ projectId, ...record }))
  const [added, continued] = [rows(true), rows(false)]
  const completedAt = sql`case when r."isOver" then now() end`
  const more = { isOver: 'boolean' } as const
  if (added.length)
    await insertRows(
      'workflow_step_executions',
      added,
      ['projectId', 'executionId', 'visit', 'id', 'workflowId', 'stepId', 'status', 'scheduledFor', 'input', 'output', 'error', 'emailId'],
      { set: { completedAt }, more },
    ).execute(tx)
  if (continued.length)
    await updateFrom('workflow_step_executions', continued, {
      keys: ['projectId', 'executionId', 'visit'],
      names: ['status', 'error', 'emailId'],
      set: { scheduledFor: sql`coalesce(r."scheduledFor", t.scheduled_for)`, output: sql`coalesce(r.output, t.output)`, completedAt },
      more: { ...more, scheduledFor: 'timestamptz', output: 'jsonb' },
    }).execute(tx)
}

const ENDED = sql`r.status not in ('RUNNING', 'WAITING')`

async function writeStates(tx: Tx, projectId: string, states: NextState[]) {
  if (!states.length) return
  const rows = states.map(({ arrival: { at, eventId }, ...state }) => ({ projectId, ...state, arrivedAt: at, arrivedEventId: eventId }))
  const ended = await many<EndedExecution>(tx)`
    ${updateFrom('workflow_executions', rows, {
      keys: ['projectId', 'id'],
      names: [
        ...(['status', 'currentStepId', 'visits', 'arrivedAt', 'arrivedEventId', 'dueAt', 'awaits', 'deadlineAt', 'attempts'] as const),
        ...(['webhookHost', 'exitReason', 'context'] as const),
      ],
      set: { updatedAt: sql`now()`, completedAt: sql`case when ${ENDED} then now() end` },
    })}
    returning ${columns('workflow_executions', 't', ['id', 'workflowId', 'contactId', 'status', 'exitReason'])}
  `
  await recordExecutionEnds(tx, projectId, ended)
}
