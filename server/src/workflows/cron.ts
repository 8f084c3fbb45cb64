/** A schedule of five fields: minute, hour, day of month, month, day of week. */
export type CronFields = {
  minutes: number[]
  hours: number[]
  days: Set<number>
  months: Set<number>
  weekdays: Set<number>
  anyDay: boolean
  anyWeekday: boolean
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

type Field = { name: string; min: number; max: number; names?: string[] }
const FIELDS: Field[] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, names: MONTHS },
  // 0 and 7 are Sunday.
  { name: 'day of week', min: 0, max: 7, names: WEEKDAYS },
]

/** Entries of one field, separated by commas. */
const MAX_ENTRIES = 60

export function readCron(text: string): CronFields | { problem: string } {
  const parts = text.trim().split(/\s+/)
  if (parts.length !== FIELDS.length) return { problem: 'Must have five fields: minute, hour, day of month, month and day of week.' }
  const values = parts.map((part, index) => readField(part, FIELDS[index]!))
  const wrong = values.indexOf(undefined)
  if (wrong > -1) return { problem: `The ${FIELDS[wrong]!.name} is not valid.` }
  const [minutes, hours, days, months, weekdays] = values as number[][]
  return {
    minutes: minutes!,
    hours: hours!,
    days: new Set(days),
    months: new Set(months),
    weekdays: new Set(weekdays!.map((day) => day % 7)),
    anyDay: parts[2]!.startsWith('*'),
    anyWeekday: parts[4]!.startsWith('*'),
  }
}

/** The numbers of a field in order; undefined if it is not valid. */
function readField(text: string, field: Field): number[] | undefined {
  const entries = text.split(',')
  if (entries.length > MAX_ENTRIES) return undefined
  const found = new Set<number>()
  for (const entry of entries) {
    const [, range = '', step = '1'] = /^([^/]+)(?:\/(\d{1,2}))?$/.exec(entry) ?? []
    const [from, to] = readRange(range, field, entry.includes('/'))
    if (from === undefined || to === undefined || from > to || Number(step) < 1) return undefined
    for (let value = from; value <= to; value += Number(step)) found.add(value)
  }
  return [...found].sort((a, b) => a - b)
}

function readRange(text: string, field: Field, hasStep: boolean): (number | undefined)[] {
  if (text === '*') return [field.min, field.name === 'day of week' ? 6 : field.max]
  const [first = '', last] = text.split('-')
  const from = readValue(first, field)
  if (last !== undefined) return [from, readValue(last, field)]
  return [from, hasStep ? field.max : from]
}

function readValue(text: string, { min, max, names }: Field): number | undefined {
  const named = names?.indexOf(text.toLowerCase()) ?? -1
  if (named > -1) return named + (names === MONTHS ? 1 : 0)
  const value = /^\d{1,2}$/.test(text) ? Number(text) : -1
  return value >= min && value <= max ? value : undefined
}

/** As in other crons: if both days are given, either of them is enough. */
function isDay({ days, months, weekdays, anyDay, anyWeekday }: CronFields, date: Date) {
  if (!months.has(date.getUTCMonth() + 1)) return false
  const byDay = days.has(date.getUTCDate())
  const byWeekday = weekdays.has(date.getUTCDay())
  return anyDay || anyWeekday ? byDay && byWeekday : byDay || byWeekday
}

/** Days that are searched: a 29 February may be eight years away. */
const MAX_DAYS = 3_000
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/**
 * The first time after `after`, or undefined for a date that never comes. A local time that the change to summer time skips fires at the
 * next minute that exists; one that occurs twice fires the first time only.
 */
export function nextFiring(cron: CronFields, timezone: string, after: Date): Date | undefined {
  const offset = createOffset(timezone)
  // The local calendar, as UTC dates; from the day before, as the zone may be behind.
  const start = Math.floor((after.getTime() + offset(after.getTime())) / DAY_MS) - 1
  for (let day = start; day < start + MAX_DAYS; day++) {
    if (!isDay(cron, new Date(day * DAY_MS))) continue
    const found = firstOf(cron, day, offset, after.getTime())
    if (found !== undefined) return new Date(found)
  }
  return undefined
}

function firstOf({ hours, minutes }: CronFields, day: number, offset: (at: number) => number, after: number): number | undefined {
  // Local times are in order, and the moments that they stand for too.
  for (const hour of hours) {
    const lastOfHour = toMoment(day * DAY_MS + (hour * 60 + minutes.at(-1)!) * MINUTE_MS, offset)
    if (lastOfHour <= after) continue
    for (const minute of minutes) {
      const moment = toMoment(day * DAY_MS + (hour * 60 + minute) * MINUTE_MS, offset)
      if (moment > after) return moment
    }
  }
  return undefined
}

/** The moment of a local time, given in milliseconds as if it were UTC. */
function toMoment(local: number, offset: (at: number) => number): number {
  // The offset of a day earlier and later enclose every change near that time.
  const candidates = [...new Set([offset(local - DAY_MS), offset(local + DAY_MS)])].map((ms) => local - ms)
  const exact = candidates.filter((moment) => moment + offset(moment) === local)
  if (exact.length) return Math.min(...exact)
  // The time does not exist: the clock jumped over it. The first minute after the jump.
  return findJump(Math.min(...candidates), Math.max(...candidates), offset)
}

/** The minute between two moments at which the offset changes. */
function findJump(from: number, to: number, offset: (at: number) => number): number {
  let [low, high] = [from, to]
  while (high - low > MINUTE_MS) {
    const middle = low + Math.floor((high - low) / 2 / MINUTE_MS) * MINUTE_MS
    if (offset(middle) === offset(from)) low = middle
    else high = middle
  }
  return high
}

/** Milliseconds by which local time is ahead of UTC. */
function createOffset(timezone: string) {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  return (at: number) => {
    const seconds = Math.floor(at / 1_000) * 1_000
    const parts = Object.fromEntries(format.formatToParts(seconds).map(({ type, value }) => [type, Number(value)]))
    return Date.UTC(parts.year!, parts.month! - 1, parts.day, parts.hour, parts.minute, parts.second) - seconds
  }
}
