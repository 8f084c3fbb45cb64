import { expect, test } from 'vitest'
import { addSample, describeEstimate, ratePerMinute, timeLeft } from './pace.ts'

test('the rate is that of the last minute', () => {
  let samples = addSample([], { at: 0, done: 0 })
  samples = addSample(samples, { at: 30_000, done: 1_000 })
  samples = addSample(samples, { at: 80_000, done: 1_500 })
  expect(samples.map(({ at }) => at)).toEqual([30_000, 80_000])
  expect(ratePerMinute(samples, { startedAt: null, done: 1_500 }, 80_000)).toBe(600)
})

test('a resend begins a new measurement', () => {
  expect(addSample([{ at: 0, done: 100 }], { at: 2_000, done: 40 })).toEqual([{ at: 2_000, done: 40 }])
})

test('right after the page was opened the rate is that since the start', () => {
  expect(ratePerMinute([{ at: 60_000, done: 50 }], { startedAt: new Date(0).toISOString(), done: 50 }, 60_000)).toBe(50)
  expect(ratePerMinute([], { startedAt: null, done: 0 }, 60_000)).toBeUndefined()
})

test.each([
  [20, 'less than a minute'],
  [600, 'about 10 min'],
  [7_800, 'about 2 h 10 min'],
  [7_200, 'about 2 h'],
  [400_000, 'about 5 days'],
])('%i seconds are %s', (seconds, text) => {
  expect(describeEstimate(seconds)).toBe(text)
})

test('without a rate there is no end', () => {
  expect(timeLeft(100, 0)).toBeUndefined()
  expect(timeLeft(100, undefined)).toBeUndefined()
  expect(timeLeft(100, 50)).toBe('about 2 min')
})
