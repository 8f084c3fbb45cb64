import { type Db, many } from '../db/index.ts'
import { createLocalClock } from '../lib/calendar/timezone.ts'
import { DAY, HOUR } from '../lib/text/units.ts'
import { FIGURE_NAMES, FIGURE_SUMS, type FigureCounts, matchingEmails, NO_FIGURES, type RollupFilter } from './figures.ts'
import { addDays, daysOf, type Period } from './period.ts'

export type Point = FigureCounts & { date: string }
type Series = Period & RollupFilter & { timezone: string }

/** Hours of a series by the hour. */
export const MAX_HOURLY_DAYS = 31

/** One point per day, without gaps. */
export async function readDaily(db: Db, projectId: string, series: Series): Promise<Point[]> {
  const counted = series.timezone === 'UTC' ? await readUtcDays(db, projectId, series) : await readLocalDays(db, projectId, series)
  return daysOf(series).map((date) => ({ date, ...(counted.get(date) ?? NO_FIGURES) }))
}

async function readUtcDays(db: Db, projectId: string, { from, to, ...filter }: Series): Promise<Map<string, FigureCounts>> {
  const rows = await many<Point>(db)`
    select day::text as date, ${FIGURE_SUMS} from email_days
    where project_id = ${projectId} and day >= ${from}::date and day <= ${to}::date ${matchingEmails(filter)}
    group by day
  `
  return new Map(rows.map(({ date, ...figures }) => [date, figures]))
}

async function readLocalDays(db: Db, projectId: string, series: Series): Promise<Map<string, FigureCounts>> {
  const days = new Map<string, FigureCounts>()
  for (const { local, ...figures } of await readLocalHours(db, projectId, series))
    days.set(local.day, addFigureCounts(days.get(local.day), figures))
  return days
}

const addFigureCounts = (sum: FigureCounts = NO_FIGURES, more: FigureCounts) =>
  Object.fromEntries(FIGURE_NAMES.map((name) => [name, sum[name] + more[name]])) as FigureCounts

/** The hours that have figures, with their local time, in the order of time. */
async function readLocalHours(db: Db, projectId: string, { from, to, timezone, ...filter }: Series) {
  const rows = await many<FigureCounts & { hour: Date }>(db)`
    select hour, ${FIGURE_SUMS} from email_hours
    -- A local day begins at most 14 hours before or after the UTC day.
    where project_id = ${projectId} and hour >= (${addDays(from, -1)}::timestamp at time zone 'utc')
      and hour < (${addDays(to, 2)}::timestamp at time zone 'utc') ${matchingEmails(filter)}
    group by hour order by hour
  `
  const toLocal = createLocalClock(timezone)
  return rows
    .map(({ hour, ...figures }) => ({ hour, ...figures, local: toLocal(hour) }))
    .filter(({ local: { day } }) => day >= from && day <= to)
}

/** One point per hour, without gaps; `date` is the start of the hour. */
export async function readHourly(db: Db, projectId: string, series: Series): Promise<Point[]> {
  const counted = new Map(
    (await readLocalHours(db, projectId, series)).map(({ hour, local: _, ...figures }) => [hour.toISOString(), figures]),
  )
  return hoursOf(series).map((date) => ({ date, ...(counted.get(date) ?? NO_FIGURES) }))
}

/** The full UTC hours of the local days. */
function hoursOf({ from, to, timezone }: Series): string[] {
  const toLocal = createLocalClock(timezone)
  const first = Date.parse(`${from}T00:00:00Z`) - DAY
  const count = (Date.parse(`${to}T00:00:00Z`) + 2 * DAY - first) / HOUR
  return Array.from({ length: count }, (_, index) => new Date(first + index * HOUR))
    .filter((hour) => {
      const { day } = toLocal(hour)
      return day >= from && day <= to
    })
    .map((hour) => hour.toISOString())
}

/** Figures of each hour of the week: 168 of them, Monday first. */
export async function readWeek(db: Db, projectId: string, series: Series) {
  const cells = Array.from({ length: 7 * 24 }, (_, index) => ({ weekday: 1 + Math.floor(index / 24), hour: index % 24, ...NO_FIGURES }))
  for (const { local, hour: _, ...figures } of await readLocalHours(db, projectId, series)) {
    const index = (local.weekday - 1) * 24 + local.hour
    cells[index] = { ...cells[index]!, ...addFigureCounts(cells[index], figures) }
  }
  return cells
}
