import { z } from 'zod'
import { type Db, many } from '../../db/index.ts'
import { recordset } from '../../db/rows.ts'
import { parseAt } from '../../http/core/validate.ts'
import { isTimezone } from '../../lib/calendar/timezone.ts'
import { invalid } from '../../lib/errors/errors.ts'
import { DAY, HOUR, MINUTE } from '../../lib/text/units.ts'
import { type DateDelay, dateOf, whenOfDate } from './delay-date.ts'
import { arrivalAt, later, type Running, type StepBatch, type StepKind, type StepOutcome } from './step.ts'

const UNIT_MS = { minutes: MINUTE, hours: HOUR, days: DAY }
const MAX_FIELD = 255

const PeriodConfig = z.object({ amount: z.number().positive(), unit: z.enum(['minutes', 'hours', 'days']) })
const DateConfig = z.object({
  until: z
    .string()
    .max(MAX_FIELD + 5)
    .regex(/^data\../, 'Must be a field such as data.birthday.'),
  repeats: z.enum(['yearly', 'never']).default('never'),
  hour: z.int().min(0).max(23).default(9),
  timezone: z.string().max(100).nullish(),
})
type Delay = z.output<typeof PeriodConfig> | DateDelay

const isUntilDate = (config: Delay): config is DateDelay => 'until' in config

/** Counts from now, not from the logical arrival: after a week in which the project was disabled, emails still have days between them. */
export const delayKind: StepKind<Delay, unknown> = {
  name: 'Delay',
  pauses: true,
  read(given, { at }) {
    if ((given as { until?: unknown }).until !== undefined) return readDateDelay(given, at)
    const { amount, unit } = parseAt(PeriodConfig, given, at)
    if (amount * UNIT_MS[unit] > 365 * DAY) invalid(`${at}.amount`, 'A delay has at most 365 days.', 'too_big')
    return { amount, unit }
  },
  uses: (config) => (isUntilDate(config) ? { fields: [keyOf(config)] } : {}),
  facts: readDates,
  decide({ status, step: { config }, dueAt, deadlineAt }, value, { now }): StepOutcome {
    // An execution that failed meanwhile is due later than its delay ended.
    const end = deadlineAt ?? dueAt ?? now
    if (status === 'WAITING') return { is: 'done', arrival: arrivalAt(end < now ? end : now) }
    const until = isUntilDate(config) ? untilDate(config, value, now) : later(now, Math.round(config.amount * UNIT_MS[config.unit]))
    if (!until) return { is: 'exit', reason: 'no_date' }
    if (until <= now) return { is: 'done', arrival: arrivalAt(now) }
    return { is: 'wait', as: 'SCHEDULED', until, deadlineAt: until }
  },
}

function readDateDelay(given: unknown, at: string): DateDelay {
  const { until, repeats, hour, timezone } = parseAt(DateConfig, given, at)
  const zone = timezone ?? 'UTC'
  if (!isTimezone(zone)) invalid(`${at}.timezone`, 'Must be a time zone such as Europe/Berlin.', 'invalid_string')
  return { until, repeats, hour, timezone: zone }
}

const keyOf = ({ until }: DateDelay) => until.slice('data.'.length)

function untilDate(config: DateDelay, value: unknown, now: Date): Date | undefined {
  const date = dateOf(value)
  return date && whenOfDate(date, config, now)
}

/** The dates of the contacts, for delays until one. */
async function readDates(db: Db, { projectId, world }: StepBatch, executions: Running<Delay>[]): Promise<unknown[]> {
  const asked = executions.flatMap(({ contactId, step: { config } }) => (isUntilDate(config) ? [{ contactId, key: keyOf(config) }] : []))
  if (!asked.length) return []
  if (world) return asked.map(({ key }) => world.contact.data[key])
  const rows = await many<{ contactId: string; key: string; value: unknown }>(db)`
    select a."contactId", a.key, c.data -> a.key as value
    from ${recordset('workflow_executions', asked, ['contactId'], { key: 'text' })} as a
    join contacts c on c.project_id = ${projectId} and c.id = a."contactId"
  `
  const values = new Map(rows.map(({ contactId, key, value }) => [`${contactId} ${key}`, value]))
  return executions.map(({ contactId, step: { config } }) =>
    isUntilDate(config) ? values.get(`${contactId} ${keyOf(config)}`) : undefined,
  )
}
