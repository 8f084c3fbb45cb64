import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createPace } from './pace.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** A client that sends whenever the pace allows it, unless it rests. */
function createEagerSender(pace: ReturnType<typeof createPace>) {
  let sent = 0
  let resting = false
  const pump = () => {
    while (!resting && pace.take(pump)) sent++
  }
  return {
    /** Emails sent within that time. */
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

test.each([1, 7, 50, 200, 1_000])('a rate of %i a second is reached and kept from the first second on', (rate) => {
  const { run } = createEagerSender(createPace(rate))
  for (let second = 0; second < 10; second++) {
    const sent = run(1_000)
    expect(sent).toBeLessThanOrEqual(rate * 1.1 + 1)
    expect(sent).toBeGreaterThanOrEqual(Math.floor(rate * 0.9))
  }
})

test('an idle hour is not made up for', () => {
  const { run, rest } = createEagerSender(createPace(100))
  run(1_000)
  rest(3_600_000)
  expect(run(1_000)).toBeLessThanOrEqual(111)
})

test('a quota applies from then on, and a higher one within a minute, but never beyond the configured rate', () => {
  const pace = createPace(200)
  const { run } = createEagerSender(pace)
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

test('a quota may be less than one a second', () => {
  const pace = createPace()
  const { run } = createEagerSender(pace)
  run(100)
  pace.allow(0.5)
  run(10_000)
  expect(run(20_000)).toBeLessThanOrEqual(11)
})

test('without a configured rate there is no limit', () => {
  expect(createEagerSender(createPace()).run(100)).toBeGreaterThan(5_000)
})

test('a caller beyond the rate is called back once, when the next email may leave', () => {
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

test('throttling halves the rate once, however many emails report it', () => {
  const pace = createPace(200)
  const { run } = createEagerSender(pace)
  run(2_000)
  for (let report = 0; report < 16; report++) pace.throttled()
  const sent = run(1_000)
  expect(sent).toBeGreaterThanOrEqual(90)
  expect(sent).toBeLessThanOrEqual(115)
})

test('throttling halves the rate that was reached, not the limit', () => {
  const pace = createPace()
  for (let sent = 0; sent < 300; sent++) {
    pace.take(() => {})
    vi.advanceTimersByTime(10)
  }
  pace.throttled()
  const sent = createEagerSender(pace).run(1_000)
  expect(sent).toBeGreaterThanOrEqual(45)
  expect(sent).toBeLessThanOrEqual(56)
})

test('throttling at the beginning of a second, or long after the email was sent, does not stop everything', () => {
  for (const later of [1, 1_001, 5_000]) {
    const pace = createPace(100)
    const { run, rest } = createEagerSender(pace)
    run(3_000)
    rest(later)
    pace.throttled()
    expect(run(1_000)).toBeGreaterThanOrEqual(45)
  }
})

test('repeated throttling slows down to one a second and no further', () => {
  const pace = createPace(1_000)
  const { run } = createEagerSender(pace)
  let slowest = Number.POSITIVE_INFINITY
  for (let second = 0; second < 20; second++) {
    pace.throttled()
    slowest = Math.min(slowest, run(1_000))
  }
  expect(slowest).toBeGreaterThanOrEqual(1)
  expect(slowest).toBeLessThanOrEqual(3)
})

test('the rate settles near a limit that is not known', () => {
  const LIMIT = 100
  const pace = createPace(1_000)
  const { run } = createEagerSender(pace)
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

test.each([50, 1_000, 90_000])('a minute after the last throttling the rate is back at nine tenths of %i a second', (rate) => {
  const pace = createPace(rate)
  for (let report = 0; report < 20; report++) {
    pace.take(() => {})
    pace.throttled()
    vi.advanceTimersByTime(1_000)
  }
  vi.advanceTimersByTime(59_000)
  const { run } = createEagerSender(pace)
  run(10)
  expect(run(100)).toBeGreaterThanOrEqual(Math.floor(rate * 0.09))
})

test('says which rate emails have to wait for, for as long as they do', () => {
  const pace = createPace(50)
  const { run, rest } = createEagerSender(pace)
  expect(pace.slowedBy()).toBeNull()
  run(1_000)
  expect(pace.slowedBy()).toBe('installation_rate')
  rest(10_000)
  expect(pace.slowedBy()).toBeNull()
  pace.allow(14)
  run(1_000)
  expect(pace.slowedBy()).toBe('provider_rate')
})

test('a wait of many seconds counts until it is over', () => {
  const pace = createPace(50)
  pace.allow(0.05)
  createEagerSender(pace).run(15_000)
  expect(pace.slowedBy()).toBe('provider_rate')
})

test('a provider that throttles is the reason, not the configured rate', () => {
  const pace = createPace()
  const { run } = createEagerSender(pace)
  pace.take(() => {})
  pace.throttled()
  run(1_000)
  expect(pace.slowedBy()).toBe('provider_rate')
})
