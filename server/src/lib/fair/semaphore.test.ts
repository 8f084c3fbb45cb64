import { describe, expect, test, vi } from 'vitest'
import { createRests } from './rests.ts'
import { createFairSemaphore } from './semaphore.ts'

/** Work that the test ends; records what runs, in the order of its start. The owner is the first letter of its name. */
function newBench(options: Partial<Parameters<typeof createFairSemaphore>[0]> = {}) {
  const withSlot = createFairSemaphore({ slots: 4, maxWaiting: 50, maxWaitMs: 60_000, ...options })
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const start = (name: string, priority = 0) => {
    const work = () => {
      begun.push(name)
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
    }
    const outcome = withSlot(name[0]!, work, { priority })
    // Work that a test leaves waiting is refused after it.
    outcome.catch(() => {})
    return outcome
  }
  const end = async (name: string) => {
    ends.get(name)!()
    await new Promise(setImmediate)
  }
  return { start, end, begun }
}

describe('without a limit for each owner', () => {
  test('an owner alone has all slots but one, and a newcomer starts at once', () => {
    const { start, begun } = newBench()
    for (let n = 0; n < 10; n++) start(`a${n}`)
    expect(begun).toEqual(['a0', 'a1', 'a2'])
    start('b0')
    expect(begun.at(-1)).toBe('b0')
  })

  test('while others wait, one owner has at most half of the slots', async () => {
    const { start, end, begun } = newBench()
    for (const owner of ['a', 'b']) for (let n = 0; n < 10; n++) start(`${owner}${n}`)
    expect(begun).toEqual(['a0', 'a1', 'a2', 'b0'])
    for (const name of ['a0', 'a1']) await end(name)
    expect(begun).toEqual(['a0', 'a1', 'a2', 'b0', 'b1', 'a3'])
    for (const name of ['a2', 'b0', 'a3', 'b1']) await end(name)
    const running = begun.slice(-4).map((name) => name[0])
    expect(running.sort()).toEqual(['a', 'a', 'b', 'b'])
  })

  test('equal owners are served in turn, however much one of them has waiting', async () => {
    const { start, end, begun } = newBench({ slots: 1 })
    for (let n = 0; n < 5; n++) start(`a${n}`)
    for (const owner of ['b', 'c']) for (let n = 0; n < 2; n++) start(`${owner}${n}`)
    for (let n = 0; n < 6; n++) await end(begun.at(-1)!)
    expect(begun).toEqual(['a0', 'a1', 'b0', 'c0', 'a2', 'b1', 'c1'])
  })

  test('a lower priority number starts first, but an owner at its share lets the others pass', async () => {
    const { start, end, begun } = newBench({ slots: 2 })
    start('a0')
    start('b0', 1)
    start('c0', 1)
    start('a1')
    start('d0')
    expect(begun).toEqual(['a0', 'b0'])
    await end('b0')
    expect(begun.at(-1)).toBe('d0')
    await end('d0')
    expect(begun.at(-1)).toBe('c0')
  })

  test('a slow owner has one slot at a time, and the others pass it', async () => {
    const { start, end, begun } = newBench({ isSlow: (owner) => owner === 's' })
    for (let n = 0; n < 3; n++) start(`s${n}`)
    for (let n = 0; n < 3; n++) start(`b${n}`)
    expect(begun).toEqual(['s0', 'b0', 'b1'])
    await end('b0')
    expect(begun.at(-1)).toBe('b2')
    await end('s0')
    expect(begun.at(-1)).toBe('s1')
  })

  test('waiting work is bounded, and one owner has at most half of it', async () => {
    const { start } = newBench({ slots: 1, maxWaiting: 2 })
    const quietly = (work: Promise<unknown>) => work.catch((err) => err.code)
    start('a0')
    const held = ['a1', 'a2'].map((name) => quietly(start(name)))
    expect(await quietly(start('a3'))).toBe('SERVICE_UNAVAILABLE')
    held.push(...['b0', 'c0'].map((name) => quietly(start(name))))
    expect(await quietly(start('d0'))).toBe('SERVICE_UNAVAILABLE')
    expect(held).toHaveLength(4)
  })

  test('work that waits too long is refused, and other work still runs', async () => {
    const { start, end, begun } = newBench({ slots: 1, maxWaitMs: 20 })
    start('a0')
    await expect(start('a1')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    start('b0')
    await end('a0')
    expect(begun).toEqual(['a0', 'b0'])
  })
})

test('work that fails frees its slot', async () => {
  const withSlot = createFairSemaphore({ slots: 1, maxWaiting: 5, maxWaitMs: 10_000 })
  const failing = withSlot('a', () => Promise.reject(new Error('no')))
  const next = withSlot('a', async () => 'done')
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('done')
})

describe('with a limit for each owner', () => {
  const newSharedBench = (options: Partial<Parameters<typeof createFairSemaphore>[0]> = {}) =>
    newBench({ slots: 3, each: 2, maxWaiting: 2, refusal: () => new Error('refused'), ...options })

  test('one owner runs its share at once, and the others still run', async () => {
    const { start, end, begun } = newSharedBench()
    const work = ['a1', 'a2', 'a3', 'b1'].map(start)
    expect(begun).toEqual(['a1', 'a2', 'b1'])
    await end('b1')
    expect(begun).not.toContain('a3')
    await end('a1')
    expect(begun).toEqual(['a1', 'a2', 'b1', 'a3'])
    await end('a2')
    await end('a3')
    expect(await Promise.all(work)).toEqual(['a1', 'a2', 'a3', 'b1'])
  })

  test('a free slot goes to the owner that holds the fewest, however long another has waited', async () => {
    const { start, end, begun } = newSharedBench({ slots: 2 })
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1']) start(name)
    await end('a1')
    await end('b1')
    await end('c1')
    expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3'])
  })

  test('an owner with too much waiting work is refused at once, other owners are not', async () => {
    const { start, begun } = newSharedBench()
    for (const name of ['a1', 'a2', 'a3', 'a4']) start(name)
    await expect(start('a5')).rejects.toThrow('refused')
    start('b1')
    expect(begun).toContain('b1')
  })

  test('work that waits too long is refused and never starts', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const { start, end, begun } = newSharedBench({ maxWaitMs: 1_000 })
      for (const name of ['a1', 'a2']) start(name)
      const late = expect(start('a3')).rejects.toThrow('refused')
      vi.advanceTimersByTime(1_001)
      await late
      await end('a1')
      expect(begun).toEqual(['a1', 'a2'])
      start('a4')
      expect(begun).toEqual(['a1', 'a2', 'a4'])
    } finally {
      vi.useRealTimers()
    }
  })

  test('an owner rests for as long as its work took, up to a limit; other owners do not', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    try {
      const { start, end, begun } = newSharedBench({ slots: 1, each: 1, rests: createRests({ maxMs: 50 }) })
      for (const name of ['a1', 'a2', 'b1']) start(name)
      await vi.advanceTimersByTimeAsync(30)
      await end('a1')
      expect(begun).toEqual(['a1', 'b1'])
      await end('b1')
      await vi.advanceTimersByTimeAsync(29)
      expect(begun).toEqual(['a1', 'b1'])
      await vi.advanceTimersByTimeAsync(1)
      expect(begun).toEqual(['a1', 'b1', 'a2'])
      start('a3')
      await vi.advanceTimersByTimeAsync(500)
      await end('a2')
      await vi.advanceTimersByTimeAsync(49)
      expect(begun).not.toContain('a3')
      await vi.advanceTimersByTimeAsync(1)
      expect(begun).toContain('a3')
    } finally {
      vi.useRealTimers()
    }
  })

  test('rests after the work of several semaphores add up, and an owner without other owners beside it does not rest', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    try {
      const rests = createRests({ maxMs: 50, isNeeded: (owner) => owner !== 'b' })
      const [one, other] = [newSharedBench({ rests, each: 1 }), newSharedBench({ rests, each: 2 })]
      for (const name of ['a1', 'b1']) one.start(name)
      for (const name of ['a2', 'a3', 'a4', 'a5']) other.start(name)
      await vi.advanceTimersByTimeAsync(40)
      // 40 ms for the only slot of the first, 20 ms for each of the two slots of the second.
      for (const name of ['a1', 'b1']) await one.end(name)
      for (const name of ['a2', 'a3']) await other.end(name)
      for (const name of ['a6', 'b2']) one.start(name)
      expect([one.begun, other.begun]).toEqual([
        ['a1', 'b1', 'b2'],
        ['a2', 'a3'],
      ])
      await vi.advanceTimersByTimeAsync(79)
      expect([one.begun.length, other.begun.length]).toEqual([3, 2])
      await vi.advanceTimersByTimeAsync(1)
      expect([one.begun, other.begun]).toEqual([
        ['a1', 'b1', 'b2', 'a6'],
        ['a2', 'a3', 'a4', 'a5'],
      ])
    } finally {
      vi.useRealTimers()
    }
  })
})
