import { SECOND } from '../../lib/units.ts'
import { delayMs, type StepConfigs } from '../step-config.ts'
import { later, type StepRunner } from './step.ts'

export const runTrigger: StepRunner = async (_tx, _batch, executions) => executions.map(() => ({ is: 'done' }))

export const runExit: StepRunner = async (_tx, _batch, executions) =>
  executions.map(({ step }) => ({ is: 'exit', reason: (step.config as StepConfigs['EXIT']).reason }))

/** Counts from the arrival, not from the time at which a worker came to it. */
export const runDelay: StepRunner = async (_tx, _batch, executions) =>
  executions.map(({ status, step, arrivedAt }) =>
    status === 'WAITING'
      ? { is: 'done' }
      : { is: 'wait', as: 'SCHEDULED', until: later(arrivedAt, delayMs(step.config as StepConfigs['DELAY'])) },
  )

/** The handler of reactions clears `awaits` when the event arrives; if it is still set, the time is over. */
export const runWait: StepRunner = async (_tx, _batch, executions) =>
  executions.map(({ status, step, arrivedAt, awaits, seen, context }) => {
    const { eventName, timeout } = step.config as StepConfigs['WAIT_FOR_EVENT']
    const event = seen[eventName]
    if (status === 'WAITING' && awaits !== null) return { is: 'done', branch: 'timeout', output: { timedOut: true } }
    // An event from the time between this step and the one before.
    const hasArrived = event !== undefined && (status === 'WAITING' || new Date(event.createdAt) >= arrivedAt)
    if (hasArrived) return { is: 'done', output: { event }, context: { ...context, lastEvent: event } }
    return { is: 'wait', as: 'WAITING', until: timeout === null ? null : later(arrivedAt, timeout * SECOND), awaits: eventName }
  })
