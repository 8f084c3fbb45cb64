import { expect, test } from 'vitest'
import { rateRows } from './rates.ts'

const figures = (total: number, bounces: number, complaints: number) => ({
  total,
  bounces,
  complaints,
  bounceRate: bounces / total,
  complaintRate: complaints / total,
})

test('every rate has its window, and those with limits their level', () => {
  const thresholds = {
    bounce7Day: { warning: 0.05, critical: 0.1 },
    bounceAllTime: { warning: 0.04, critical: 0.08 },
    complaint7Day: { warning: 0.00075, critical: 0.0015 },
    complaintAllTime: { warning: 0.0003, critical: 0.0012 },
  }
  const rows = rateRows({
    status: {
      isHealthy: false,
      shouldDisable: false,
      twentyFourHour: figures(10, 1, 0),
      sevenDay: figures(100, 6, 0),
      allTime: figures(1_000, 6, 1),
      violations: [],
      warnings: [],
    },
    levels: { bounce7Day: 'warning', bounceAllTime: 'healthy', complaint7Day: 'healthy', complaintAllTime: 'warning' },
    thresholds,
  })
  expect(rows.map(({ what, window, count, total }) => `${what}, ${window}: ${count} of ${total}`)).toEqual([
    'Bounces, Last 24 hours: 1 of 10',
    'Bounces, Last 7 days: 6 of 100',
    'Bounces, All time: 6 of 1000',
    'Complaints, Last 24 hours: 0 of 10',
    'Complaints, Last 7 days: 0 of 100',
    'Complaints, All time: 1 of 1000',
  ])
  expect(rows[0]!.judged).toBe(undefined)
  expect(rows[1]!.judged).toEqual({ level: 'warning', warning: 0.05, critical: 0.1 })
})
