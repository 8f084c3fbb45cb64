import { z } from 'zod'
import { readDay, refuseReversed } from '../events/day.ts'
import { isTimezone } from '../lib/calendar/timezone.ts'
import { fail } from '../lib/errors/errors.ts'
import { DAY } from '../lib/text/units.ts'

/** Days of a period without `startDate`. */
const DEFAULT_DAYS = 30
const MAX_DAYS = 731

export const PeriodQuery = z.object({
  startDate: z
    .string()
    .max(100)
    .optional()
    .describe(`First day, included. Default: ${DEFAULT_DAYS - 1} days before the last one.`),
  endDate: z.string().max(100).optional().describe('Last day, included. Default: today.'),
})
export const TimezoneParam = z
  .string()
  .max(100)
  .optional()
  .describe('IANA name of a time zone, such as Europe/Berlin: days and hours are those of the zone. Default: UTC.')

/** Days as YYYY-MM-DD, both included. */
export type Period = { from: string; to: string }

/** 400 for a bad date, an end before the start, or too many days. */
export function readPeriod({ startDate, endDate }: z.output<typeof PeriodQuery>, { maxDays = MAX_DAYS, now = new Date() } = {}): Period {
  const to = readDay('endDate', endDate) ?? dayOf(now)
  const from = readDay('startDate', startDate) ?? addDays(to, 1 - DEFAULT_DAYS)
  if (from > to) refuseReversed()
  if (countDays({ from, to }) > maxDays) fail('BAD_REQUEST', { message: `A period may have at most ${maxDays} days.` })
  return { from, to }
}

export const readTimezone = (given: string | undefined) =>
  !given ? 'UTC' : isTimezone(given) ? given : fail('BAD_REQUEST', { message: '"timezone" must be the IANA name of a time zone.' })

/** The period of the same length right before. */
export function previousPeriod(period: Period): Period {
  const days = countDays(period)
  return { from: addDays(period.from, -days), to: addDays(period.from, -1) }
}

export const daysOf = (period: Period) => Array.from({ length: countDays(period) }, (_, index) => addDays(period.from, index))

const dayOf = (time: Date) => time.toISOString().slice(0, 10)
const timeOf = (day: string) => Date.parse(`${day}T00:00:00Z`)
const countDays = ({ from, to }: Period) => Math.round((timeOf(to) - timeOf(from)) / DAY) + 1

/** PostgreSQL has no year 0, and a year has four digits here. */
export function addDays(day: string, days: number) {
  const time = new Date(Math.min(LAST, Math.max(FIRST, timeOf(day) + days * DAY)))
  return dayOf(time)
}
const FIRST = Date.parse('0001-01-01T00:00:00Z')
const LAST = Date.parse('9999-12-31T00:00:00Z')
