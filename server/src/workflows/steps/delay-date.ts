import { nextFiring, readCron } from '../../lib/calendar/cron.ts'
import { DAY } from '../../lib/text/units.ts'

/** Until a date that the contact has, at an hour of a time zone. `yearly`: until the next day with the same day and month. */
export type DateDelay = { until: string; repeats: 'yearly' | 'never'; hour: number; timezone: string }

type CalendarDate = { year: number; month: number; day: number }

/** The date that a field holds: `1990-05-17`, also with a time behind it. Undefined: it holds none. */
export function dateOf(value: unknown): CalendarDate | undefined {
  const [, year, month, day] = (typeof value === 'string' && /^(\d{4})-(\d{2})-(\d{2})(?:$|[T ])/.exec(value)) || []
  if (!day) return undefined
  const read = new Date(`${year}-${month}-${day}T00:00:00Z`)
  // The 31st of February would be read as a day of March.
  return read.getUTCDate() === Number(day) ? { year: Number(year), month: Number(month), day: Number(day) } : undefined
}

/** When a delay until this date ends. In the past for a date that is over and does not repeat. The 29th of February is the last day of February. */
export function whenOfDate({ year, month, day }: CalendarDate, { repeats, hour, timezone }: DateDelay, now: Date): Date | undefined {
  const dayOfMonth = repeats === 'yearly' && month === 2 && day === 29 ? 'L' : day
  const cron = readCron(`0 ${hour} ${dayOfMonth} ${month} *`)
  if ('problem' in cron) return undefined
  return nextFiring(cron, timezone, repeats === 'yearly' ? now : new Date(Date.UTC(year, month - 1, day) - 2 * DAY))
}
