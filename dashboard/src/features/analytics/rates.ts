import type { DayFigures } from '../../data/analytics.ts'
import { formatPercent } from '../../ui/text/count.tsx'

type Counts = Omit<DayFigures, 'date'>
export type Rate = 'delivered' | 'opens' | 'machineOpens' | 'clicks' | 'bounces' | 'complaints' | 'unsubscribes'

/** A share of the emails that were sent. Bounces also happen to emails that were never accepted. */
export function shareOf(points: Counts[], name: Rate): number {
  const total = (key: keyof Counts) => points.reduce((sum, point) => sum + point[key], 0)
  const sent = total('emails')
  const whole = name === 'bounces' ? Math.max(sent, total('bounces')) : sent
  return whole > 0 ? total(name) / whole : 0
}

/** The share of each day. */
export const dailyShares = (points: Counts[], name: Rate): number[] => points.map((point) => shareOf([point], name))

/** A rate of the API, which is a percentage already. */
export const showPercentage = (value: number, locale?: string): string => formatPercent(value / 100, locale)

/** Seconds in a unit that is easy to read. */
export function describeSeconds(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds * 10) / 10} s`
  return seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 360) / 10} h`
}

type Thresholds = { bounce7Day: { warning: number }; complaint7Day: { warning: number } }

/** Advice for rates that are too high. */
export function adviceOf(points: Counts[], { bounce7Day, complaint7Day }: Thresholds): string[] {
  const few = points.reduce((sum, { emails }) => sum + emails, 0) < 100
  if (few) return []
  return [
    ...(shareOf(points, 'bounces') >= bounce7Day.warning
      ? ['Many addresses do not exist. Check lists before importing them, and leave out people who have opened nothing for a year.']
      : []),
    ...(shareOf(points, 'complaints') >= complaint7Day.warning
      ? ['Many people mark your emails as spam. Write only to those who asked for it, and make the unsubscribe link easy to find.']
      : []),
  ]
}
