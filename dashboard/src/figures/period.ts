/** Lengths of a period that a page offers, in days. */
export const PERIODS = [7, 30, 90] as const
const DEFAULT_DAYS = 30

/** The last days, today included, and as many before them. Days as `2026-05-03`, in the time zone of the project. */
export type Period = { days: number; from: string; to: string; beforeFrom: string; timezone: string }

export function periodOf(days: number, timezone: string, now: number): Period {
  const to = dayIn(timezone, now)
  return { days, from: addDays(to, 1 - days), to, beforeFrom: addDays(to, 1 - 2 * days), timezone }
}

/** Anyone can edit a URL. */
export const readDays = (value: string | undefined): number => PERIODS.find((days) => String(days) === value) ?? DEFAULT_DAYS

function dayIn(timezone: string, now: number): string {
  const parts = new Intl.DateTimeFormat('en', { timeZone: timezone, year: 'numeric', month: '2-digit', day: '2-digit' }).formatToParts(now)
  const part = (type: string) => parts.find((each) => each.type === type)!.value
  return `${part('year')}-${part('month')}-${part('day')}`
}

const DAY_MS = 86_400_000

export const addDays = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10)

const HOUR_MS = 3_600_000

/** The range of times in which the figures of a period happened. Figures are kept by full UTC hours: a day has the hours that begin in it. */
export function timesOf({ from, to, timezone }: Pick<Period, 'from' | 'to' | 'timezone'>): string {
  if (timezone === 'UTC') return `${from}..${to}`
  const [first, end] = [firstHour(from, timezone), firstHour(addDays(to, 1), timezone)]
  return `${new Date(first).toISOString()}..${new Date(end - 1).toISOString()}`
}

/** No zone is more than 14 hours ahead of UTC, or behind it. */
function firstHour(day: string, timezone: string): number {
  const midnight = Date.parse(`${day}T00:00:00Z`)
  const hours = Array.from({ length: 30 }, (_, index) => midnight + (index - 15) * HOUR_MS)
  return hours.find((hour) => dayIn(timezone, hour) >= day) ?? midnight
}

/** A series over a period and the one before it, taken apart. */
export function splitSeries<Point>(points: Point[], { days }: Pick<Period, 'days'>): { before: Point[]; current: Point[] } {
  return { before: points.slice(0, -days), current: points.slice(-days) }
}

export const sumOf = <Key extends string>(points: Record<Key, number>[], key: Key): number =>
  points.reduce((sum, point) => sum + point[key], 0)
