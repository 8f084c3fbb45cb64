import { describe, expect, test } from 'vitest'
import { type Figures, judgeRates } from './levels.ts'

const figures = (total: number, bounces = 0, complaints = 0): Figures => ({ total, bounces, complaints })
const windows = (sevenDay: Figures, allTime = sevenDay) => ({ twentyFourHour: figures(0), sevenDay, allTime })

describe('the levels of a reputation', () => {
  test.each([
    ['fewer than 100 emails prove nothing', windows(figures(99, 99, 99)), {}],
    ['nothing bounced', windows(figures(10_000)), {}],
    ['bounces of the week, just below', windows(figures(1_000, 49), figures(100_000, 49)), {}],
    ['bounces of the week', windows(figures(1_000, 50), figures(100_000, 50)), { bounce7Day: 'warning' }],
    ['many bounces of the week', windows(figures(1_000, 100), figures(100_000, 100)), { bounce7Day: 'critical' }],
    ['bounces of all time', windows(figures(1_000, 0), figures(1_000, 40)), { bounceAllTime: 'warning' }],
    ['many bounces of all time', windows(figures(1_000, 0), figures(1_000, 80)), { bounceAllTime: 'critical' }],
    ['complaints of the week', windows(figures(100_000, 0, 75), figures(1_000_000, 0, 75)), { complaint7Day: 'warning' }],
    ['many complaints of the week', windows(figures(100_000, 0, 150), figures(1_000_000, 0, 150)), { complaint7Day: 'critical' }],
    ['complaints of all time', windows(figures(0), figures(100_000, 0, 30)), { complaintAllTime: 'warning' }],
    ['many complaints of all time', windows(figures(0), figures(100_000, 0, 120)), { complaintAllTime: 'critical' }],
  ])('%s', (_, given, expected) => {
    const healthy = { bounce7Day: 'healthy', bounceAllTime: 'healthy', complaint7Day: 'healthy', complaintAllTime: 'healthy' }
    const { levels, isHealthy, shouldDisable, violations, warnings } = judgeRates(given)
    const values = Object.values(expected)
    expect(levels).toEqual({ ...healthy, ...expected })
    expect([isHealthy, shouldDisable]).toEqual([values.length === 0, values.includes('critical')])
    expect([violations.length, warnings.length]).toEqual([
      values.filter((level) => level === 'critical').length,
      values.filter((level) => level === 'warning').length,
    ])
  })

  test('a sentence says the rate and the threshold', () => {
    expect(judgeRates(windows(figures(1_000, 123), figures(100_000))).violations).toEqual([
      'The bounce rate of the last 7 days is 12.3 %; critical from 10 %.',
    ])
  })
})
