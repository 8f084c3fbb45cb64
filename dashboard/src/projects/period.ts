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

/** A series over a period and the one before it, taken apart. */
export function splitSeries<Point>(points: Point[], { days }: Pick<Period, 'days'>): { before: Point[]; current: Point[] } {
  return { before: points.slice(0, -days), current: points.slice(-days) }
}

export const sumOf = <Key extends string>(points: Record<Key, number>[], key: Key): number =>
  points.reduce((sum, point) => sum + point[key], 0)
