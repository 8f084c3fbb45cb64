import { expect, test } from 'vitest'
import { adviceOf, dailyShares, describeSeconds, shareOf, showPercentage } from './rates.ts'

const day = (counts: Partial<Parameters<typeof shareOf>[0][number]>) => ({
  emails: 0,
  delivered: 0,
  opens: 0,
  clicks: 0,
  machineOpens: 0,
  machineClicks: 0,
  bounces: 0,
  complaints: 0,
  unsubscribes: 0,
  ...counts,
})

test('a rate is a share of the sent emails', () => {
  const days = [day({ emails: 80, clicks: 8 }), day({ emails: 20, clicks: 2 })]
  expect(shareOf(days, 'clicks')).toBe(0.1)
  expect(dailyShares([...days, day({})], 'clicks')).toEqual([0.1, 0.1, 0])
})

test('a bounce rate is never above 100 %', () => {
  expect(shareOf([day({ emails: 1, bounces: 3 })], 'bounces')).toBe(1)
})

test('a rate of the API is a percentage', () => {
  expect(showPercentage(12.5, 'en')).toBe('13%')
})

test('times are shown in the unit that people would say', () => {
  expect([0.84, 42, 600, 9_000].map(describeSeconds)).toEqual(['0.8 s', '42 s', '10 min', '2.5 h'])
})

test('advice follows from high rates, but not from a few emails', () => {
  const thresholds = { bounce7Day: { warning: 0.05 }, complaint7Day: { warning: 0.001 } }
  expect(adviceOf([day({ emails: 1_000, bounces: 60 })], thresholds)).toHaveLength(1)
  expect(adviceOf([day({ emails: 1_000, bounces: 60, complaints: 2 })], thresholds)).toHaveLength(2)
  expect(adviceOf([day({ emails: 10, bounces: 5 })], thresholds)).toEqual([])
})
