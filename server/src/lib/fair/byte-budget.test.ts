import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { KB, MB } from '../text/units.ts'
import { createByteBudget } from './byte-budget.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const TOTAL = 128 * MB

function start() {
  const budget = createByteBudget(TOTAL)
  /** A body of an owner that arrives at some pace, after `first` bytes at once. */
  function arrive(owner: string, first: number, { perSecond = 0 } = {}) {
    const [startedAt, state] = [performance.now(), { isReading: true, isCutOff: false }]
    const hold = budget.hold(owner, [{ pool: budget.whole, share: 1 / 2 }], {
      bytes: () => first + ((performance.now() - startedAt) / 1_000) * perSecond,
      isReading: () => state.isReading,
      cutOff: () => (state.isCutOff = true),
    })
    return Object.assign(state, { hold, outcome: settled(hold.grow(first)) })
  }
  return { budget, arrive }
}

/** `undefined` while it waits. */
function settled(fits: boolean | Promise<boolean>) {
  const outcome: { fits: boolean | undefined } = { fits: typeof fits === 'boolean' ? fits : undefined }
  void Promise.resolve(fits).then((value) => (outcome.fits = value))
  return outcome
}
const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1_000)

describe('a full budget', () => {
  test('gives an owner at most half, over all of its bodies', () => {
    const { arrive } = start()
    expect(arrive('a', 40 * MB).outcome.fits).toBe(true)
    expect(arrive('a', 25 * MB).outcome.fits).toBe(false)
    expect(arrive('a', 24 * MB).outcome.fits).toBe(true)
    expect(arrive('b', 40 * KB).outcome.fits).toBe(true)
  })

  test('lets another owner wait until there is room, and refuses it after 15 s', async () => {
    const { arrive } = start()
    const [a, b] = [arrive('a', 64 * MB, { perSecond: MB }), arrive('b', 64 * MB, { perSecond: MB })]
    const [first, second] = [arrive('c', 40 * KB), arrive('c', 40 * KB)]
    await pass(4)
    expect([first.outcome.fits, second.outcome.fits]).toEqual([undefined, undefined])
    a.hold.release()
    await pass(0)
    expect([first.outcome.fits, second.outcome.fits]).toEqual([true, true])

    const full = arrive('d', 64 * MB - 80 * KB)
    b.isReading = full.isReading = false
    const third = arrive('e', 40 * KB)
    await pass(14.9)
    expect(third.outcome.fits).toBeUndefined()
    await pass(0.2)
    expect(third.outcome.fits).toBe(false)
  })

  test('gives nothing more to an owner beyond its share, also when some is left', async () => {
    const { arrive } = start()
    const bodies = ['a', 'b', 'c'].map((owner) => arrive(owner, 42 * MB, { perSecond: MB }))
    const waiting = arrive('d', 20 * MB)
    expect(waiting.outcome.fits).toBeUndefined()
    expect(arrive('a', 1 * MB).outcome.fits).toBe(false)
    for (const { hold } of bodies) hold.release()
    await pass(0)
    expect(waiting.outcome.fits).toBe(true)
  })

  test('lets sixteen bodies of an owner wait', () => {
    const { arrive } = start()
    arrive('a', 64 * MB)
    arrive('b', 64 * MB)
    const outcomes = Array.from({ length: 17 }, () => arrive('c', 40 * KB).outcome.fits)
    expect(outcomes).toEqual([...Array.from({ length: 16 }, () => undefined), false])
  })

  test('is as large again when bodies that wait are given up', async () => {
    const { budget, arrive } = start()
    const held = [arrive('a', 64 * MB), arrive('b', 64 * MB), arrive('c', 40 * KB)]
    for (const { hold } of held.reverse()) hold.release()
    await pass(0)
    expect([held[0]!.outcome.fits, budget.whole.held.sum(), budget.whole.held.counts.size]).toEqual([false, 0, 0])
  })
})

describe('a slow body', () => {
  test('of an owner beyond its share is cut off at once when another owner waits, the slowest first', async () => {
    const { arrive } = start()
    const [slow, slower, other] = [
      arrive('a', 40 * MB, { perSecond: 60 * KB }),
      arrive('a', 24 * MB, { perSecond: 10 * KB }),
      arrive('b', 64 * MB, { perSecond: MB }),
    ]
    await pass(60)
    expect(slower.isCutOff).toBe(false)
    const waiting = arrive('c', 40 * KB)
    await pass(0)
    expect([waiting.outcome.fits, slower.isCutOff, slow.isCutOff, other.isCutOff]).toEqual([true, true, false, false])
  })

  test('has ten seconds first, and 64 KB/s are enough', async () => {
    const { arrive } = start()
    const [slow, fast] = [arrive('a', 64 * MB), arrive('b', 64 * MB, { perSecond: 65 * KB })]
    await pass(2)
    const waiting = arrive('c', 40 * KB)
    await pass(7)
    expect([waiting.outcome.fits, slow.isCutOff]).toEqual([undefined, false])
    await pass(2)
    expect([waiting.outcome.fits, slow.isCutOff, fast.isCutOff]).toEqual([true, true, false])
  })

  test('is not saved by bytes that it sent long before', async () => {
    const { arrive } = start()
    const bodies = [arrive('a', 64 * MB), arrive('b', 64 * MB)]
    await pass(30)
    const waiting = arrive('c', 40 * KB)
    await pass(0)
    expect(waiting.outcome.fits).toBe(true)
    expect(bodies.filter(({ isCutOff }) => isCutOff)).toHaveLength(1)
  })

  test('is left alone while nobody waits, within its share, and while it is not read', async () => {
    const { arrive } = start()
    const [unread, small, large] = [arrive('a', 62 * MB), arrive('b', 2 * MB), arrive('c', 60 * MB)]
    unread.isReading = false
    await pass(300)
    expect([unread, small, large].some(({ isCutOff }) => isCutOff)).toBe(false)
    const waiting = arrive('d', 20 * MB)
    await pass(0)
    expect([waiting.outcome.fits, unread.isCutOff, small.isCutOff, large.isCutOff]).toEqual([true, false, false, true])
  })

  test('does not count the time in which it was not read', async () => {
    const { arrive } = start()
    const [a, b] = [arrive('a', 64 * MB), arrive('b', 64 * MB)]
    a.isReading = b.isReading = false
    await pass(60)
    a.isReading = b.isReading = true
    await pass(5)
    const waiting = arrive('c', 40 * KB)
    await pass(0)
    expect(waiting.outcome.fits).toBeUndefined()
  })
})

test('owners that send fast enough but fill the budget together give way after five seconds', async () => {
  const { arrive } = start()
  const bodies = ['a', 'b', 'c', 'd'].map((owner, n) => arrive(owner, 32 * MB, { perSecond: (n + 1) * 100 * KB }))
  await pass(20)
  const waiting = arrive('e', 40 * KB)
  await pass(4)
  expect(waiting.outcome.fits).toBeUndefined()
  await pass(2)
  expect([waiting.outcome.fits, ...bodies.map(({ isCutOff }) => isCutOff)].filter(Boolean)).toEqual([true, true])
})

test('bodies up to 16 KB are always admitted, and one body of any size to an empty budget', () => {
  const { arrive } = start()
  expect(arrive('a', 2 * TOTAL).outcome.fits).toBe(true)
  expect(arrive('b', 16 * KB).outcome.fits).toBe(true)
})

test('a part of the budget is shared by those that have no other', async () => {
  const budget = createByteBudget(TOTAL)
  const strangers = budget.part(1 / 8)
  const arrive = (network: string, bytes: number) => {
    const arrival = { bytes: () => bytes, isReading: () => true, cutOff() {} }
    const shares = [
      { pool: budget.whole, share: 1 / 8 },
      { pool: strangers, share: 1 / 2 },
    ]
    return settled(budget.hold(network, shares, arrival).grow(bytes))
  }
  expect([arrive('x', 8 * MB).fits, arrive('x', MB).fits, arrive('y', 8 * MB).fits]).toEqual([true, false, true])
  const waiting = arrive('z', 5 * MB)
  expect([waiting.fits, strangers.held.sum()]).toEqual([undefined, 16 * MB])
  await pass(11)
  expect([waiting.fits, strangers.held.sum()]).toEqual([true, 13 * MB])
})

describe('a body that grows beyond an equal share while another owner waits', () => {
  /** Owners a and b have more than a third; c waits for less than that. */
  function startWaiting() {
    const { arrive } = start()
    const [growing, other] = [arrive('a', 50 * MB, { perSecond: MB }), arrive('b', 60 * MB, { perSecond: 2 * MB })]
    growing.isReading = false
    return { growing, other, waiting: arrive('c', 30 * MB), more: settled(growing.hold.grow(51 * MB)) }
  }

  test('keeps what it has, and gets more when the others have theirs', async () => {
    const { growing, other, waiting, more } = startWaiting()
    await pass(3)
    expect([growing.isCutOff, waiting.outcome.fits, more.fits]).toEqual([false, undefined, undefined])
    other.hold.release()
    await pass(0)
    expect([waiting.outcome.fits, more.fits]).toEqual([true, true])
  })

  test('gives way after five seconds', async () => {
    const { growing, waiting, more } = startWaiting()
    await pass(6)
    expect([growing.isCutOff, waiting.outcome.fits, more.fits]).toEqual([true, true, false])
  })

  test('is refused beyond its owner’s half', () => {
    const { growing } = startWaiting()
    expect(growing.hold.grow(65 * MB)).toBe(false)
  })
})
