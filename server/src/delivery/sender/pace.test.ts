import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createPace } from './pace.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** Someone who sends whenever it is allowed, unless at rest. */
function createEager(pace: ReturnType<typeof createPace>) {
  let sent = 0
  let resting = false
  const pump = () => {
    while (!resting && pace.take(pump)) sent++
  }
  return {
    /** How many went in so many milliseconds. */
    run(ms: number) {
      const before = sent
      resting = false
      pump()
      vi.advanceTimersByTime(ms)
      return sent - before
    },
    rest(ms: number) {
      resting = true
      vi.advanceTimersByTime(ms)
    },
  }
}

test.each([1, 7, 50, 200, 1_000])('at %i a second, so many leave, from the first second on', (rate) => {
  const { run } = createEager(createPace(rate))
  for (let second = 0; second < 10; second++) {
    const sent = run(1_000)
    expect(sent).toBeLessThanOrEqual(rate * 1.1 + 1)
    expect(sent).toBeGreaterThanOrEqual(Math.floor(rate * 0.9))
  }
})

test('time in which nothing was sent is not made up for', () => {
  const { run, rest } = createEager(createPace(100))
  run(1_000)
  rest(3_600_000)
  expect(run(1_000)).toBeLessThanOrEqual(111)
})

test('what the other side allows holds from then on, and a higher rate within a minute, but never beyond what is configured', () => {
  const pace = createPace(200)
  const { run } = createEager(pace)
  run(1_000)
  pace.allow(14)
  run(1_000)
  expect(run(10_000)).toBeLessThanOrEqual(14 * 11)
  pace.allow(50)
  run(60_000)
  expect(run(1_000)).toBeGreaterThanOrEqual(45)
  pace.allow(10_000)
  run(60_000)
  expect(run(1_000)).toBeLessThanOrEqual(220)
})

test('less than one a second is allowed too', () => {
  const pace = createPace()
  const { run } = createEager(pace)
  run(100)
  pace.allow(0.5)
  run(10_000)
  expect(run(20_000)).toBeLessThanOrEqual(11)
})

test('a rate that is not set is no limit', () => {
  expect(createEager(createPace()).run(100)).toBeGreaterThan(5_000)
})

test('whoever comes too early is called once, when it is time', () => {
  const pace = createPace(10)
  const again = vi.fn()
  while (pace.take(again));
  expect(pace.take(again)).toBe(false)
  vi.advanceTimersByTime(99)
  expect(again).not.toHaveBeenCalled()
  vi.advanceTimersByTime(6)
  expect(again).toHaveBeenCalledTimes(1)
  expect(pace.take(again)).toBe(true)
})

test('a throttling halves the speed, however many mails tell of it', () => {
  const pace = createPace(200)
  const { run } = createEager(pace)
  run(2_000)
  for (let told = 0; told < 16; told++) pace.throttled()
  const sent = run(1_000)
  expect(sent).toBeGreaterThanOrEqual(90)
  expect(sent).toBeLessThanOrEqual(115)
})

test('it is the speed that was reached that is halved, not the one that was allowed', () => {
  const pace = createPace()
  for (let sent = 0; sent < 300; sent++) {
    pace.take(() => {})
    vi.advanceTimersByTime(10)
  }
  pace.throttled()
  const sent = createEager(pace).run(1_000)
  expect(sent).toBeGreaterThanOrEqual(45)
  expect(sent).toBeLessThanOrEqual(56)
})

test('a throttling at the beginning of a second, or long after the mail was sent, does not stop everything', () => {
  for (const later of [1, 1_001, 5_000]) {
    const pace = createPace(100)
    const { run, rest } = createEager(pace)
    run(3_000)
    rest(later)
    pace.throttled()
    expect(run(1_000)).toBeGreaterThanOrEqual(45)
  }
})

test('throttled again and again, it slows down to one a second and no further', () => {
  const pace = createPace(1_000)
  const { run } = createEager(pace)
  let slowest = Number.POSITIVE_INFINITY
  for (let second = 0; second < 20; second++) {
    pace.throttled()
    slowest = Math.min(slowest, run(1_000))
  }
  expect(slowest).toBeGreaterThanOrEqual(1)
  expect(slowest).toBeLessThanOrEqual(3)
})

test('against a limit that it does not know, it comes to rest near it', () => {
  const LIMIT = 100
  const pace = createPace(1_000)
  const { run } = createEager(pace)
  let took = 0
  let tried = 0
  for (let tenth = 0; tenth < 1_200; tenth++) {
    const sent = run(100)
    if (tenth >= 200) {
      tried += sent
      took += Math.min(sent, LIMIT / 10)
    }
    if (sent > LIMIT / 10) pace.throttled()
  }
  expect(took).toBeGreaterThan(LIMIT * 100 * 0.6)
  expect(tried).toBeLessThan(LIMIT * 100 * 1.1)
})

test.each([50, 1_000, 90_000])('a minute after the last throttling it is back to nine tenths of %i a second', (rate) => {
  const pace = createPace(rate)
  for (let told = 0; told < 20; told++) {
    pace.take(() => {})
    pace.throttled()
    vi.advanceTimersByTime(1_000)
  }
  vi.advanceTimersByTime(59_000)
  const { run } = createEager(pace)
  run(10)
  expect(run(100)).toBeGreaterThanOrEqual(Math.floor(rate * 0.09))
})
