import { z } from 'zod'
import { parseAt } from '../../http/validate.ts'
import { invalid } from '../../lib/errors.ts'
import { DAY, HOUR, MINUTE } from '../../lib/text/units.ts'
import { arrivalAt, later, type StepKind } from './step.ts'

const UNIT_MS = { minutes: MINUTE, hours: HOUR, days: DAY }
const DelayConfig = z.object({ amount: z.number().positive(), unit: z.enum(['minutes', 'hours', 'days']) })

/** Counts from now, not from the logical arrival: after a week in which the project was disabled, emails still have days between them. */
export const delayKind: StepKind<z.output<typeof DelayConfig>> = {
  name: 'Delay',
  pauses: true,
  read(given, { at }) {
    const { amount, unit } = parseAt(DelayConfig, given, at)
    if (amount * UNIT_MS[unit] > 365 * DAY) invalid(`${at}.amount`, 'A delay has at most 365 days.', 'too_big')
    return { amount, unit }
  },
  decide({ status, step, dueAt, deadlineAt }, _facts, { now }) {
    // An execution that failed meanwhile is due later than its delay ended.
    const end = deadlineAt ?? dueAt ?? now
    if (status === 'WAITING') return { is: 'done', arrival: arrivalAt(end < now ? end : now) }
    const until = later(now, Math.round(step.config.amount * UNIT_MS[step.config.unit]))
    return { is: 'wait', as: 'SCHEDULED', until, deadlineAt: until }
  },
}
