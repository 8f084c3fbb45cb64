import type { Tx } from '../../db/index.ts'
import type { EventPosition } from '../../events/first-events.ts'
import type { Graph, GraphStep } from '../definition/graph.ts'
import type { ExecutionData } from '../definition/step-condition.ts'

/** The event that started an execution. */
export type StartEvent = { id: string; name: string; data: Record<string, unknown>; createdAt: string }

/** An execution that was claimed, with the step that it has come to. */
export type Running = {
  id: string
  workflowId: string
  version: number
  contactId: string
  /** `RUNNING`: has just come to the step. `WAITING`: the step is open, and it is time to go on with it. */
  status: 'RUNNING' | 'WAITING'
  visits: number
  /**
   * Where it came to the step, in the order of events: at the event, or at the time, that ended the last pause, as if no other step took time.
   * Later events count for a wait, also one that the host of a webhook tracks before it answers.
   */
  arrival: EventPosition
  dueAt: Date | null
  awaits: string | null
  deadlineAt: Date | null
  attempts: number
  context: Record<string, unknown>
  event: StartEvent | null
  startedAt: Date
  step: GraphStep
  graph: Graph
}

/** What a step does with an execution. */
export type StepOutcome =
  /** Goes on by a branch; null is the plain transition. `arrival` at the next step: given by pauses. `deadlineAt`: that of a wait. */
  | {
      is: 'done'
      branch?: string | null
      output?: object
      context?: Record<string, unknown>
      emailId?: string
      arrival?: EventPosition
      deadlineAt?: Date | null
    }
  /** The step does not apply to this contact. Goes on. */
  | { is: 'skipped'; reason: string; output?: object }
  | { is: 'exit'; reason: string | null }
  | { is: 'failed'; error: string; output?: object }
  /** Stays at the step. `until` null: never by time alone. */
  | {
      is: 'wait'
      as: 'SCHEDULED' | 'WAITING'
      until: Date | null
      awaits?: string
      deadlineAt?: Date | null
      attempts?: number
      webhookHost?: string
      output?: object
    }
  /** The contact is gone. */
  | { is: 'cancelled'; reason: string }

/** `now` is the time of the transaction. `contacts` has those that still exist. `timeoutAfterMs`: from the deadline of a wait to its timeout. */
export type StepBatch = {
  projectId: string
  now: Date
  contacts: Map<string, { email: string; subscribed: boolean }>
  timeoutAfterMs: number
}

/** Runs one type of step for many executions at once. Returns the outcomes in order. */
export type StepRunner = (tx: Tx, batch: StepBatch, executions: Running[]) => Promise<StepOutcome[]>

export const dataOf = ({ event, context }: Pick<Running, 'event' | 'context'>): ExecutionData => ({ event: event?.data ?? {}, context })

export const later = (from: Date, ms: number) => new Date(from.getTime() + ms)
