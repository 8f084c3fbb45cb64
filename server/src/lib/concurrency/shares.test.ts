import { expect, test, vi } from 'vitest'
import { createRests } from './rests.ts'
import { createSharedSemaphore } from './shares.ts'

/** Work that the test ends; records what runs, in the order of its start. */
function newBench(options: Partial<Parameters<typeof createSharedSemaphore>[0]> = {}) {
  const share = createSharedSemaphore({
    total: 3,
    each: 2,
    maxWaiting: 2,
    maxWaitMs: 60_000,
    refusal: () => new Error('refused'),
    ...options,
  })
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const start = (name: string) => {
    const work = share(name[0]!, () => {
      begun.push(name)
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
    })
    // What still waits when its test ends is refused later, when nothing waits for it.
    work.catch(() => {})
    return work
  }
  const end = async (name: string) => {
    ends.get(name)!()
    await new Promise(setImmediate)
  }
  return { start, end, begun }
}

test('one owner runs its share at once, and the others still run', async () => {
  const { start, end, begun } = newBench()
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
  const { start, end, begun } = newBench({ total: 2 })
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1']) start(name)
  await end('a1')
  await end('b1')
  await end('c1')
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3'])
})

test('an owner with too much waiting work is refused at once, other owners are not', async () => {
  const { start, begun } = newBench()
  for (const name of ['a1', 'a2', 'a3', 'a4']) start(name)
  await expect(start('a5')).rejects.toThrow('refused')
  start('b1')
  expect(begun).toContain('b1')
})

test('work that waits too long is refused and never starts', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const { start, end, begun } = newBench({ maxWaitMs: 1_000 })
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

test('work that fails frees its slot', async () => {
  const share = createSharedSemaphore({ total: 1, each: 1, maxWaiting: 1, maxWaitMs: 1_000, refusal: () => new Error('refused') })
  await expect(share('a', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  expect(await share('a', async () => 'done')).toBe('done')
})

test('an owner rests for as long as its work took, up to a limit; other owners do not', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  try {
    const { start, end, begun } = newBench({ total: 1, each: 1, rests: createRests({ maxMs: 50 }) })
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
    const [one, other] = [newBench({ rests, each: 1 }), newBench({ rests, each: 2 })]
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
