import { Cron } from 'croner'
import { DAY, MINUTE } from '../text/units.ts'
import { offsetReader } from './timezone.ts'

const FIELDS = ['minute', 'hour', 'day of month', 'month', 'day of week']

/** A schedule of five fields. If days of the month and of the week are given, either is enough; a field that begins with `*` restricts the other. */
export function readCron(text: string): Cron | { problem: string } {
  const parts = text.trim().split(/\s+/)
  if (parts.length !== FIELDS.length) return { problem: 'Must have five fields: minute, hour, day of month, month and day of week.' }
  const cron = parseCron(parts)
  if (cron) return cron
  const wrong = parts.findIndex((part, index) => !parseCron(FIELDS.map((_, other) => (other === index ? part : '*'))))
  return { problem: wrong > -1 ? `The ${FIELDS[wrong]} is not valid.` : 'The schedule is not valid.' }
}

/**
 * Times of the local calendar, as if it were UTC: the library's own rules for the change to summer time and back differ from ours. It
 * skips all but one of the times that do not exist, and fires twice at times that occur twice.
 */
function parseCron(parts: string[]): Cron | undefined {
  try {
    const needsBothDays = [parts[2]!, parts[4]!].some((days) => days.startsWith('*'))
    return new Cron(parts.join(' '), { timezone: 'UTC', mode: '5-part', sloppyRanges: true, domAndDow: needsBothDays })
  } catch {
    return undefined
  }
}

/**
 * The first time after `after`, or undefined for a date that never comes. A local time that the change to summer time skips fires at the
 * next minute that exists; one that occurs twice fires the first time only.
 */
export function nextFiring(cron: Cron, timezone: string, after: Date): Date | undefined {
  const offset = offsetReader(timezone)
  const at = after.getTime()
  // Near a change of the clock, the moment of an earlier local time may come later.
  const offsets = [at - DAY, at, at + DAY].map(offset)
  const change = Math.max(...offsets) - Math.min(...offsets)
  for (let local = cron.nextRun(new Date(at + offset(at) - change)); local; local = cron.nextRun(local)) {
    const moment = toMoment(local.getTime(), offset)
    if (moment > at) return new Date(moment)
  }
  return undefined
}

/** The moment of a local time, given in milliseconds as if it were UTC. */
function toMoment(local: number, offset: (at: number) => number): number {
  // The offset of a day earlier and later enclose every change near that time.
  const candidates = [...new Set([offset(local - DAY), offset(local + DAY)])].map((ms) => local - ms)
  const exact = candidates.filter((moment) => moment + offset(moment) === local)
  if (exact.length) return Math.min(...exact)
  // The time does not exist: the clock jumped over it. The first minute after the jump.
  return findJump(Math.min(...candidates), Math.max(...candidates), offset)
}

/** The minute between two moments at which the offset changes. */
function findJump(from: number, to: number, offset: (at: number) => number): number {
  let [low, high] = [from, to]
  while (high - low > MINUTE) {
    const middle = low + Math.floor((high - low) / 2 / MINUTE) * MINUTE
    if (offset(middle) === offset(from)) low = middle
    else high = middle
  }
  return high
}
