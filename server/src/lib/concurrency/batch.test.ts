import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { AppError } from '../errors/errors.ts'
import { type BatchOutcome, createBatcher } from './batch.ts'

type Item = { id: number; weight: number; guilty?: boolean }
type Run = { items: Item[]; finish: (outcomes?: BatchOutcome<string>[]) => void; fail: (error: unknown) => void }

const ITEM_FAULT = new Error('one of them is bad')
const SYSTEM_FAULT = new Error('the database is away')
const LIMITS = { name: 'test', maxItems: 4, maxWeight: 100, maxWaitMs: 5, lanes: 2, maxPending: 1_000, maxPendingWeight: 100_000 }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const answerOf = ({ id }: Item) => `answer ${id}`
const settle = () => vi.advanceTimersByTimeAsync(0)
const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms)

/** A batcher whose runs the test ends, with the result of every call. */
function newBench(limits: Partial<typeof LIMITS> = {}) {
  const all: Run[] = []
  const open = new Set<Run>()
  let most = 0
  const batcher = createBatcher<Item, string>({
    ...LIMITS,
    ...limits,
    weigh: ({ weight }) => weight,
    mayBeOneItem: (error) => error === ITEM_FAULT,
    run: (items) =>
      new Promise((resolve, reject) => {
        const end = (how: () => void) => {
          open.delete(run)
          how()
        }
        const run: Run = {
          items,
          finish: (outcomes = items.map((item) => ({ value: answerOf(item) }))) => end(() => resolve(outcomes)),
          fail: (error) => end(() => reject(error)),
        }
        all.push(run)
        open.add(run)
        most = Math.max(most, open.size)
      }),
  })
  let ids = 0
  const answers = new Map<number, string>()
  const submit = (weight = 1, more: Partial<Item> = {}) => {
    const item = { id: ids++, weight, ...more }
    batcher.submit(item).then(
      (answer) => answers.set(item.id, answer),
      (error: Error) => answers.set(item.id, error.message),
    )
    return item
  }
  return {
    all,
    open,
    answers,
    submit,
    drain: batcher.drain,
    most: () => most,
    sizes: () => all.map(({ items }) => items.length),
    ids: () => all.map(({ items }) => items.map(({ id }) => id)),
  }
}

describe('a batch', () => {
  test('starts when its first item has waited long enough, not before', async () => {
    const bench = newBench()
    bench.submit()
    await wait(4)
    bench.submit()
    expect(bench.sizes()).toEqual([])
    await wait(1)
    expect(bench.sizes()).toEqual([2])
  })

  test('starts at once when it has enough items, or enough weight', () => {
    const byItems = newBench()
    for (let n = 0; n < 4; n++) byItems.submit()
    expect(byItems.sizes()).toEqual([4])
    const byWeight = newBench()
    byWeight.submit(60)
    expect(byWeight.sizes()).toEqual([])
    byWeight.submit(40)
    expect(byWeight.sizes()).toEqual([2])
  })

  test('leaves an item that would exceed its weight to the next batch', async () => {
    const bench = newBench()
    bench.submit(60)
    bench.submit(60)
    expect(bench.ids()).toEqual([[0]])
    await wait(5)
    expect(bench.ids()).toEqual([[0], [1]])
  })

  test('runs an item alone that exceeds the weight of a batch', async () => {
    const bench = newBench()
    bench.submit(1)
    bench.submit(500)
    await wait(5)
    for (const run of [...bench.open]) run.finish()
    await wait(10)
    for (const run of [...bench.open]) run.finish()
    await settle()
    expect(bench.ids()).toEqual([[0], [1]])
    expect(bench.answers.get(1)).toBe('answer 1')
  })

  test('that is ready while all lanes are busy starts when one is free', async () => {
    const bench = newBench({ lanes: 1 })
    for (let n = 0; n < 9; n++) bench.submit()
    await wait(100)
    expect(bench.sizes()).toEqual([4])
    bench.all[0]!.finish()
    await settle()
    expect(bench.sizes()).toEqual([4, 4])
    bench.all[1]!.finish()
    await settle()
    // Its item has waited long enough: it needs no timer.
    expect(bench.sizes()).toEqual([4, 4, 1])
  })

  test('gives every caller its own outcome', async () => {
    const bench = newBench()
    for (let n = 0; n < 4; n++) bench.submit()
    bench.all[0]!.finish([{ value: 'a' }, { error: new Error('b') }, { value: 'c' }, { error: new AppError('CONFLICT') }])
    await settle()
    expect([...bench.answers.entries()].sort(([a], [b]) => a - b).map(([, answer]) => answer)).toEqual([
      'a',
      'b',
      'c',
      'The request conflicts with what exists.',
    ])
    expect(bench.all).toHaveLength(1)
  })

  test('that fails as a whole fails for each caller, without a retry', async () => {
    const bench = newBench()
    for (let n = 0; n < 4; n++) bench.submit()
    bench.all[0]!.fail(SYSTEM_FAULT)
    await wait(100)
    expect([...bench.answers.values()]).toEqual(Array(4).fill(SYSTEM_FAULT.message))
    expect(bench.all).toHaveLength(1)
  })

  test('of one failing item fails with its error, without a retry', async () => {
    const bench = newBench()
    bench.submit()
    await wait(5)
    bench.all[0]!.fail(ITEM_FAULT)
    await wait(100)
    expect(bench.answers.get(0)).toBe(ITEM_FAULT.message)
    expect(bench.all).toHaveLength(1)
  })

  test('that is retried in parts occupies no lane', async () => {
    const bench = newBench({ lanes: 1 })
    for (let n = 0; n < 8; n++) bench.submit()
    bench.all[0]!.fail(ITEM_FAULT)
    await settle()
    // Both halves of the first, and the second batch in the only lane.
    expect(new Set(bench.ids().slice(1).map(String))).toEqual(new Set(['0,1', '2,3', '4,5,6,7']))
    expect(bench.open.size).toBe(3)
  })

  test('whose half meets a system failure fails in that half only', async () => {
    const bench = newBench()
    for (let n = 0; n < 4; n++) bench.submit()
    bench.all[0]!.fail(ITEM_FAULT)
    await settle()
    bench.all[1]!.fail(SYSTEM_FAULT)
    bench.all[2]!.finish()
    await settle()
    expect([0, 1, 2, 3].map((id) => bench.answers.get(id))).toEqual([SYSTEM_FAULT.message, SYSTEM_FAULT.message, 'answer 2', 'answer 3'])
    expect(bench.all).toHaveLength(3)
  })
})

describe('a call beyond the limits', () => {
  const refusal = (submit: () => unknown) => {
    try {
      submit()
    } catch (err) {
      return err as AppError
    }
    return undefined
  }

  test('is refused with a retry time, and accepted when there is room again', async () => {
    const bench = newBench({ maxPending: 3, maxItems: 3 })
    for (let n = 0; n < 3; n++) bench.submit()
    expect(refusal(() => bench.submit())).toMatchObject({ code: 'SERVICE_UNAVAILABLE', statusCode: 503, retryAfter: 1 })
    bench.all[0]!.finish()
    await settle()
    expect(refusal(() => bench.submit())).toBeUndefined()
    // Refused calls no longer count.
    await wait(5)
    bench.all[1]!.finish()
    await settle()
    await bench.drain()
  })

  test('is refused by weight too, which counts until the result', async () => {
    const bench = newBench({ maxPendingWeight: 150, maxWeight: 80 })
    bench.submit(100)
    expect(refusal(() => bench.submit(51))).toMatchObject({ code: 'SERVICE_UNAVAILABLE', retryAfter: 1 })
    expect(refusal(() => bench.submit(50))).toBeUndefined()
    expect(refusal(() => bench.submit(1))).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    bench.all[0]!.finish()
    await settle()
    expect(refusal(() => bench.submit(100))).toBeUndefined()
  })

  test('is never refused when it is the only one, however heavy', async () => {
    const bench = newBench({ maxPendingWeight: 10 })
    expect(refusal(() => bench.submit(1_000))).toBeUndefined()
    expect(bench.sizes()).toEqual([1])
  })
})

describe('draining', () => {
  test('ends at once when nothing is pending, also a second time', async () => {
    const bench = newBench()
    await bench.drain()
    bench.submit()
    await wait(5)
    bench.all[0]!.finish()
    await settle()
    await bench.drain()
  })

  test('ends when the last call has its result, also when that is an error', async () => {
    const bench = newBench()
    let done = false
    for (let n = 0; n < 5; n++) bench.submit()
    bench.drain().then(() => (done = true))
    await wait(5)
    bench.all[0]!.fail(ITEM_FAULT)
    await settle()
    bench.all[1]!.fail(SYSTEM_FAULT)
    bench.all[2]!.finish()
    await settle()
    expect(done).toBe(false)
    bench.all[3]!.finish()
    await settle()
    expect(done).toBe(true)
    expect(bench.answers.size).toBe(5)
  })

  test('ends for several callers at once', async () => {
    const bench = newBench()
    bench.submit()
    let done = 0
    for (let n = 0; n < 3; n++) bench.drain().then(() => done++)
    await wait(5)
    expect(done).toBe(0)
    bench.all[0]!.finish()
    await settle()
    expect(done).toBe(3)
  })
})

describe('in any order of events', () => {
  type Step = { do: 'submit'; weight: number } | { do: 'end'; which: number; how: 'finish' | 'system' } | { do: 'wait'; ms: number }
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 5, arbitrary: fc.record({ do: fc.constant('submit' as const), weight: fc.constantFrom(0, 1, 20, 50, 99, 100, 101, 400) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('end' as const),
        which: fc.nat(3),
        how: fc.constantFrom('finish' as const, 'system' as const),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(7) }) },
  )
  const limits = fc.record({
    maxItems: fc.integer({ min: 1, max: 6 }),
    maxWeight: fc.constantFrom(1, 50, 100),
    lanes: fc.integer({ min: 1, max: 3 }),
  })

  test('batches keep limits, lanes and order, and every call gets one result', async () => {
    await fc.assert(
      fc.asyncProperty(limits, fc.array(step, { maxLength: 60 }), async (given, steps) => {
        const bench = newBench(given)
        const submitted: Item[] = []
        const failed = new Set<number>()
        for (const each of steps) {
          if (each.do === 'submit') submitted.push(bench.submit(each.weight))
          else if (each.do === 'wait') {
            await wait(each.ms)
            // Items that waited long enough while a lane was free have started.
            const waiting = submitted.length - bench.sizes().reduce((sum, size) => sum + size, 0)
            if (each.ms >= LIMITS.maxWaitMs && bench.open.size < given.lanes) expect(waiting).toBe(0)
          } else {
            const run = [...bench.open][each.which % Math.max(1, bench.open.size)]
            if (each.how === 'finish') run?.finish()
            else {
              for (const { id } of run?.items ?? []) failed.add(id)
              run?.fail(SYSTEM_FAULT)
            }
            await settle()
          }
        }
        while (bench.answers.size < submitted.length) {
          await wait(LIMITS.maxWaitMs)
          for (const run of [...bench.open]) run.finish()
          await settle()
        }
        await bench.drain()

        expect(bench.most()).toBeLessThanOrEqual(given.lanes)
        for (const { items } of bench.all) {
          expect(items.length).toBeGreaterThan(0)
          expect(items.length).toBeLessThanOrEqual(given.maxItems)
          const weight = items.reduce((sum, item) => sum + item.weight, 0)
          if (items.length > 1) expect(weight).toBeLessThanOrEqual(given.maxWeight)
        }
        expect(bench.ids().flat()).toEqual(submitted.map(({ id }) => id))
        expect(submitted.map(({ id }) => bench.answers.get(id))).toEqual(
          submitted.map((item) => (failed.has(item.id) ? SYSTEM_FAULT.message : answerOf(item))),
        )
      }),
      { numRuns: 300 },
    )
  })

  test('only the failing items fail, however many', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean(), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 30 }),
        async (guilt, maxItems) => {
          const bench = newBench({ maxItems, lanes: 3 })
          const items = guilt.map((guilty) => bench.submit(1, { guilty }))
          const done: number[] = []
          while (bench.answers.size < items.length) {
            await wait(LIMITS.maxWaitMs)
            for (const run of [...bench.open]) {
              if (run.items.some(({ guilty }) => guilty)) run.fail(ITEM_FAULT)
              else {
                done.push(...run.items.map(({ id }) => id))
                run.finish()
              }
            }
            await settle()
          }
          expect(items.map(({ id }) => bench.answers.get(id))).toEqual(
            items.map((item) => (item.guilty ? ITEM_FAULT.message : answerOf(item))),
          )
          // Every other item succeeded exactly once, every failing item never.
          expect(done.sort((a, b) => a - b)).toEqual(items.filter(({ guilty }) => !guilty).map(({ id }) => id))
          for (const { items: batch } of bench.all)
            expect(batch.map(({ id }) => id)).toEqual(batch.map(({ id }) => id).sort((a, b) => a - b))
          await bench.drain()
        },
      ),
      { numRuns: 200 },
    )
  })

  test('one failing item costs few additional batches', async () => {
    const bench = newBench({ maxItems: 200, maxWeight: 1_000 })
    for (let n = 0; n < 200; n++) bench.submit(1, { guilty: n === 77 })
    while (bench.answers.size < 200) {
      for (const run of [...bench.open]) run.items.some(({ guilty }) => guilty) ? run.fail(ITEM_FAULT) : run.finish()
      await settle()
    }
    expect(bench.all.length).toBeLessThanOrEqual(1 + 2 * 8)
  })
})
