import type { Result } from '@sterna/sdk'

export type Security = Result<'GET /projects/{id}/security'>
type Rule = keyof Security['levels']
type Window = 'twentyFourHour' | 'sevenDay' | 'allTime'

export type RateRow = {
  id: string
  what: 'Bounces' | 'Complaints'
  window: string
  count: number
  total: number
  rate: number
  /** Undefined: this window is only shown, and has no limits. */
  judged?: { level: Security['levels'][Rule]; warning: number; critical: number }
}

const WINDOWS: { name: Window; label: string; rule?: { Bounces: Rule; Complaints: Rule } }[] = [
  { name: 'twentyFourHour', label: 'Last 24 hours' },
  { name: 'sevenDay', label: 'Last 7 days', rule: { Bounces: 'bounce7Day', Complaints: 'complaint7Day' } },
  { name: 'allTime', label: 'All time', rule: { Bounces: 'bounceAllTime', Complaints: 'complaintAllTime' } },
]

/** Every rate with its window and its limits. */
export function rateRows({ status, levels, thresholds }: Pick<Security, 'status' | 'levels' | 'thresholds'>): RateRow[] {
  return (['Bounces', 'Complaints'] as const).flatMap((what) =>
    WINDOWS.map(({ name, label, rule }): RateRow => {
      const figures = status[name]
      const limits = rule?.[what]
      return {
        id: `${what} ${name}`,
        what,
        window: label,
        count: what === 'Bounces' ? figures.bounces : figures.complaints,
        total: figures.total,
        rate: what === 'Bounces' ? figures.bounceRate : figures.complaintRate,
        ...(limits && { judged: { level: levels[limits], ...thresholds[limits] } }),
      }
    }),
  )
}
