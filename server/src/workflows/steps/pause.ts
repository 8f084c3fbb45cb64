import { readFirstEvents } from '../../events/first-events.ts'
import { SECOND } from '../../lib/text/units.ts'
import { delayMs, type StepConfigs } from '../definition/step-config.ts'
import { later, type Running, type StepRunner } from './step.ts'

export const runTrigger: StepRunner = async (_tx, _batch, executions) => executions.map(() => ({ is: 'done' }))

export const runExit: StepRunner = async (_tx, _batch, executions) =>
  executions.map(({ step }) => ({ is: 'exit', reason: (step.config as StepConfigs['EXIT']).reason }))

/** Counts from now, not from the logical arrival: after a week in which the project was disabled, emails still have days between them. */
export const runDelay: StepRunner = async (_tx, { now }, executions) =>
  executions.map(({ status, step, dueAt, deadlineAt }) => {
    // An execution that failed meanwhile is due later than its delay ended.
    const end = deadlineAt ?? dueAt ?? now
    if (status === 'WAITING') return { is: 'done', arrival: arrivalAt(end < now ? end : now) }
    const until = later(now, delayMs(step.config as StepConfigs['DELAY']))
    return { is: 'wait', as: 'SCHEDULED', until, deadlineAt: until }
  })

const arrivalAt = (time: Date) => ({ at: time.toISOString(), eventId: null })

/** Events of segments are written by longer transactions than others: of many contacts at a time. */
const SEGMENT_PATIENCE = 5

/**
 * The stored events decide, not the moment at which a worker looks: the first one after the arrival and before the deadline ends the wait. A
 * timeout is taken some seconds after the deadline, because an event has the time at which its transaction began, and is seen when it ends.
 */
export const runWait: StepRunner = async (tx, { projectId, now, timeoutAfterMs }, executions) => {
  const waits = executions.map((execution) => {
    const { eventName: name } = execution.step.config as StepConfigs['WAIT_FOR_EVENT']
    return { contactId: execution.contactId, name, after: execution.arrival, before: deadlineOf(execution) }
  })
  const events = await readFirstEvents(tx, projectId, waits)
  return executions.map(({ context }, index) => {
    const { name, before: deadlineAt } = waits[index]!
    const found = events[index]
    if (found) {
      const { position, ...event } = found
      return { is: 'done', output: { event }, context: { ...context, lastEvent: event }, arrival: position, deadlineAt }
    }
    const until = deadlineAt && later(deadlineAt, timeoutAfterMs * (name.startsWith('segment.') ? SEGMENT_PATIENCE : 1))
    if (deadlineAt && until && until <= now)
      return { is: 'done', branch: 'timeout', output: { timedOut: true }, arrival: arrivalAt(deadlineAt), deadlineAt }
    return { is: 'wait', as: 'WAITING', until, awaits: name, deadlineAt }
  })
}

/** Counts from the logical arrival. */
function deadlineOf({ status, step, arrival, deadlineAt }: Running): Date | null {
  const { timeout } = step.config as StepConfigs['WAIT_FOR_EVENT']
  if (status === 'WAITING' || timeout === null) return deadlineAt
  return later(new Date(arrival.at), timeout * SECOND)
}
