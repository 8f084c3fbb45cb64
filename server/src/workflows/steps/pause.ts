import { SECOND } from '../../lib/units.ts'
import { delayMs, type StepConfigs } from '../step-config.ts'
import { later, type StepRunner } from './step.ts'

export const runTrigger: StepRunner = async (_tx, _batch, executions) => executions.map(() => ({ is: 'done' }))

export const runExit: StepRunner = async (_tx, _batch, executions) =>
  executions.map(({ step }) => ({ is: 'exit', reason: (step.config as StepConfigs['EXIT']).reason }))

/** Counts from now, not from the logical arrival: after a week in which the project was disabled, emails still have days between them. */
export const runDelay: StepRunner = async (_tx, { now }, executions) =>
  executions.map(({ status, step }) =>
    status === 'WAITING'
      ? { is: 'done' }
      : { is: 'wait', as: 'SCHEDULED', until: later(now, delayMs(step.config as StepConfigs['DELAY'])) },
  )

/** The handler of reactions clears `awaits` when the event arrives; if it is still set, the time is over. */
export const runWait: StepRunner = async (_tx, { now }, executions) =>
  executions.map(({ status, step, arrivedAt, awaits, seen, context, event: started }) => {
    const { eventName, timeout } = step.config as StepConfigs['WAIT_FOR_EVENT']
    const event = seen[eventName]
    if (status === 'WAITING' && awaits !== null) return { is: 'done', branch: 'timeout', output: { timedOut: true } }
    // An event from the time between this step and the one before. The event that started the execution is none.
    const isEarly = event !== undefined && event.id !== started?.id && new Date(event.createdAt) >= arrivedAt
    if (event !== undefined && (status === 'WAITING' || isEarly))
      return { is: 'done', output: { event }, context: { ...context, lastEvent: event }, consumed: eventName }
    return { is: 'wait', as: 'WAITING', until: timeout === null ? null : later(now, timeout * SECOND), awaits: eventName }
  })
