import { z } from 'zod'
import { type FirstEvent, readFirstEvents } from '../../events/first-events.ts'
import { parseAt } from '../../http/core/validate.ts'
import { SECOND } from '../../lib/text/units.ts'
import { arrivalAt, later, type Running, type StepKind } from './step.ts'

/** A year. */
const MAX_WAIT_SECONDS = 31_536_000
/** Events of segments are written by longer transactions than others: of many contacts at a time. */
const SEGMENT_PATIENCE = 5

/** Every event can be awaited or start a workflow, those of the service too. */
export const ListenedEvent = z.string().trim().min(1).max(255)
const WaitConfig = z.object({ eventName: ListenedEvent, timeout: z.int().min(1).max(MAX_WAIT_SECONDS).nullish() })
type Wait = { eventName: string; timeout: number | null }

/**
 * The stored events decide, not the moment at which a worker looks: the first one after the arrival and before the deadline ends the wait. A
 * timeout is taken some seconds after the deadline, because an event has the time at which its transaction began, and is seen when it ends.
 */
export const waitForEventKind: StepKind<Wait, FirstEvent | undefined> = {
  name: 'Wait for event',
  pauses: true,
  read(given, { at }) {
    const { eventName, timeout } = parseAt(WaitConfig, given, at)
    return { eventName, timeout: timeout ?? null }
  },
  branches: () => [null, 'timeout'],
  awaits: ({ eventName }) => eventName,
  /** No event happens in a simulation: a wait ends by its timeout. */
  async facts(db, { projectId, world }, executions) {
    const waits = executions.map((execution) => ({
      contactId: execution.contactId,
      name: execution.step.config.eventName,
      after: execution.arrival,
      before: deadlineOf(execution),
    }))
    return world ? [] : readFirstEvents(db, projectId, waits)
  },
  decide(execution, found, { now, timeoutAfterMs }) {
    const { eventName: name } = execution.step.config
    const deadlineAt = deadlineOf(execution)
    if (found) {
      const { position, ...event } = found
      return { is: 'done', output: { event }, context: { ...execution.context, lastEvent: event }, arrival: position, deadlineAt }
    }
    const until = deadlineAt && later(deadlineAt, timeoutAfterMs * (name.startsWith('segment.') ? SEGMENT_PATIENCE : 1))
    if (deadlineAt && until && until <= now)
      return { is: 'done', branch: 'timeout', output: { timedOut: true }, arrival: arrivalAt(deadlineAt), deadlineAt }
    return { is: 'wait', as: 'WAITING', until, awaits: name, deadlineAt }
  },
  describe: ({ execution, outcome }) => ({
    eventName: execution.step.config.eventName,
    ...(outcome.is === 'done' && outcome.branch === 'timeout' ? { timedOut: true } : {}),
  }),
}

/** Counts from the logical arrival. */
function deadlineOf({ status, step, arrival, deadlineAt }: Running<Wait>): Date | null {
  if (status === 'WAITING' || step.config.timeout === null) return deadlineAt
  return later(new Date(arrival.at), step.config.timeout * SECOND)
}
