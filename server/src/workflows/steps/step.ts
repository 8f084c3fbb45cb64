import type { SegmentLookup } from '../../conditions/expression.ts'
import type { Db, Tx } from '../../db/index.ts'
import type { EventPosition } from '../../events/first-events.ts'
import type { WebhookTarget } from '../../lib/network/webhook-target.ts'

/** The event that started an execution. */
export type StartEvent = { id: string; name: string; data: Record<string, unknown>; createdAt: string }

/** An execution that was claimed, with the step that it has come to. */
export type Running<Config = Record<string, unknown>> = {
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
  step: { id: string; config: Config }
}

/** The outcome of a step for an execution. */
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
      output?: { reason?: string }
    }
  /** The contact is gone. */
  | { is: 'cancelled'; reason: string }

export const CONTACT_GONE: StepOutcome = { is: 'cancelled', reason: 'contact_deleted' }

export type SimulatedContact = { id: string; email: string; subscribed: boolean; createdAt: Date; data: Record<string, unknown> }

/** The state of a simulation instead of stored rows: the contact and the emails as earlier steps of the path have left them. */
export type SimulatedWorld = {
  contact: SimulatedContact
  /** Whether the contact exists: then events and memberships are its own. */
  isStored: boolean
  workflow: { id: string; name: string }
  emails: { to: string; at: Date }[]
}

/**
 * `now` is the time of the transaction. `contacts` has those that still exist. `timeoutAfterMs`: from the deadline of a wait to its timeout.
 * A batch with a `world` is simulated: one execution, and nothing is written.
 */
export type StepBatch = {
  projectId: string
  now: Date
  contacts: Map<string, { email: string; subscribed: boolean }>
  timeoutAfterMs: number
  world?: SimulatedWorld
}

export type Decided<Config, Facts> = { execution: Running<Config>; facts: Facts; outcome: StepOutcome }

/** Fields and events that a step mentions. */
export type StepUses = { fields: string[]; standard: string[]; events: string[] }

/** `at` is the place of the config in the request. `storedTemplateId`: that of the step before the change. */
export type ConfigReading = {
  at: string
  target: WebhookTarget
  projectId: string
  templateId?: string | null | undefined
  storedTemplateId?: string | null | undefined
}

/** Everything about one kind of step. `Config` as it is stored; `Facts`: what a decision depends on besides config and execution. */
export type StepKind<Config, Facts = undefined> = {
  /** Default name of a step. */
  name: string
  /** Reads the config that a caller sent. */
  read: (given: Record<string, unknown>, reading: ConfigReading) => Config | Promise<Config>
  /** Null is the plain transition, which a kind without this has. */
  branches?: (config: Config) => (string | null)[]
  uses?: (config: Config) => Partial<StepUses>
  /** The template that it sends. */
  template?: (config: Config) => string
  /** Ids of the segments that it asks for. */
  segments?: (config: Config) => string[]
  /** Refuses segments that do not exist. */
  checkSegments?: (config: Config, lookup: SegmentLookup, at: string) => void
  /** Whether time passes at the step. A loop without such a step never ends. */
  pauses?: true
  /** The event that ends the pause. */
  awaits?: (config: Config) => string
  /** Events that the step may cause: their names begin with one of these. */
  causes?: string[]
  /** Whether `run` locks contacts. */
  writesContacts?: true
  /** Reads the facts of many executions at once, in order. */
  facts?: (db: Db, batch: StepBatch, executions: Running<Config>[]) => Promise<Facts[]>
  /** Pure: what happens. Executions and simulations have it in common. */
  decide: (execution: Running<Config>, facts: Facts, batch: Pick<StepBatch, 'now' | 'timeoutAfterMs'>) => StepOutcome | Promise<StepOutcome>
  /** Does what was decided. Returns the outcomes in order: as they were decided, except for what only the effect could show. */
  run?: (tx: Tx, batch: StepBatch, decided: Decided<Config, Facts>[]) => Promise<StepOutcome[]>
  /** Changes the simulated world as the step would. */
  pretend?: (world: SimulatedWorld, decided: Decided<Config, Facts>, now: Date) => SimulatedWorld
  /** The description of the step in a simulation. */
  describe?: (decided: Decided<Config, Facts>, simulated: { world: SimulatedWorld; projectId: string }) => unknown
}

export const later = (from: Date, ms: number) => new Date(from.getTime() + ms)

/** Where an execution comes to its next step when a pause ends by time. */
export const arrivalAt = (time: Date): EventPosition => ({ at: time.toISOString(), eventId: null })
