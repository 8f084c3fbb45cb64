import { EventEmitter } from 'node:events'
import fc from 'fast-check'
import type { WorkerEvents } from 'graphile-worker'
import { describe, expect, test, vi } from 'vitest'
import { createJobShares, OWNER_FLAG, shareSlots } from './job-shares.ts'

type Step = { add: string; jobs: number } | { end: number }

/** A queue that takes the oldest job without a forbidden flag, and slots that look for jobs after each change. */
function createQueue(
  slots: number,
  onStart: (owner: string, queue: { waiting: string[]; running: string[] }) => void,
  options: Parameters<typeof createJobShares>[1] = {},
) {
  const shares = createJobShares(slots, options)
  const waiting: string[] = []
  const running: string[] = []

  /** Returns whether a job was found. */
  function look() {
    for (let looks = 1; ; looks++) {
      expect(looks).toBeLessThanOrEqual(4)
      const forbidden = shares.forbidden()
      const place = waiting.findIndex((owner) => !forbidden.includes(OWNER_FLAG + owner))
      if (place >= 0) {
        const [owner] = waiting.splice(place, 1)
        onStart(owner!, { waiting, running })
        shares.start(owner!)
        running.push(owner!)
        return true
      }
      if (!shares.findNone()) return false
    }
  }

  return {
    waiting,
    running,
    step(step: Step) {
      if ('add' in step) waiting.push(...Array.from({ length: step.jobs }, () => step.add))
      else if (running.length) shares.end(running.splice(step.end % running.length, 1)[0]!)
      while (running.length <= slots && look());
    },
  }
}

test('owners take turns, however old the jobs of one are', () => {
  const started: string[] = []
  const queue = createQueue(4, (owner) => started.push(owner))
  queue.waiting.push(...['ann', 'bob', 'cid'].flatMap((owner) => Array.from({ length: 4 }, () => owner)))
  // The oldest running job ends each time.
  for (let ended = 0; ended <= 8; ended++) queue.step({ end: 0 })
  expect(started).toEqual(Array.from({ length: 4 }, () => ['ann', 'bob', 'cid']).flat())
})

describe('many small jobs of the only owner', () => {
  /** Takes jobs that end at once, until `count` were taken. Returns their owners, and the looks that found none. */
  function takeSmall(waiting: string[], count: number, now = () => 0) {
    const shares = createJobShares(10, { now })
    const taken: string[] = []
    let vain = 0
    while (taken.length < count) {
      const forbidden = shares.forbidden()
      const place = waiting.findIndex((owner) => !forbidden.includes(OWNER_FLAG + owner))
      if (place < 0) {
        vain++
        if (!shares.findNone()) break
        continue
      }
      const [owner] = waiting.splice(place, 1)
      taken.push(owner!)
      shares.start(owner!)
      shares.end(owner!)
      if (taken.length === 10) waiting.push('bob')
    }
    return { taken, vain }
  }
  const jobs = (count: number) => Array.from({ length: count }, () => 'ann')

  test('are found by the first look, but for one in 50', () => {
    const { taken, vain } = takeSmall(jobs(500), 500)
    expect(taken).toHaveLength(500)
    expect(vain).toBeLessThanOrEqual(500 / 50 + 2)
  })

  test('let another owner wait for at most 50 starts, and for a second', () => {
    expect(takeSmall(jobs(500), 100).taken.indexOf('bob')).toBeLessThanOrEqual(10 + 50)
    let looks = 0
    expect(takeSmall(jobs(500), 100, () => 100 * looks++).taken.indexOf('bob')).toBeLessThanOrEqual(10 + 10)
  })
})

const owners = fc.constantFrom('ann', 'bob', 'cid', 'dora', 'emil', 'fay')
const adds = fc.record({ add: owners, jobs: fc.integer({ min: 1, max: 12 }) })
const ends = fc.record({ end: fc.nat() })
const steps = fc.array(fc.oneof({ weight: 1, arbitrary: adds }, { weight: 4, arbitrary: ends }), { maxLength: 80 })

test('whatever is queued and ends, shares are kept, no owner starves and no slot is idle', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 6 }), fc.constantFrom(0, 4), steps, (slots, aloneStarts, steps) => {
      const half = Math.max(1, Math.floor(slots / 2))
      const turnsBefore = new Map<string, Map<string, number>>()
      const count = (all: string[], owner: string) => all.filter((each) => each === owner).length
      const queue = createQueue(
        slots,
        (owner, { waiting, running }) => {
          const own = count(running, owner)
          if (running.length >= slots) expect(own).toBe(0)
          const others = [...new Set(waiting)].filter((each) => each !== owner)
          if (own >= half) for (const other of others) expect(count(running, other)).toBeGreaterThanOrEqual(half)
          turnsBefore.delete(owner)
          // Only owners that might have had this slot count: without a job in a full pool, else below their share.
          const passedOver = others.filter((other) => count(running, other) < (running.length >= slots ? 1 : half))
          for (const other of passedOver) {
            const turns = turnsBefore.get(other) ?? new Map<string, number>()
            turns.set(owner, (turns.get(owner) ?? 0) + 1)
            turnsBefore.set(other, turns)
            // At most one turn in this round, and one in the next; and those of an owner that was alone before.
            expect(turns.get(owner)).toBeLessThanOrEqual(2 + aloneStarts)
          }
        },
        { aloneStarts },
      )
      for (const step of steps) {
        queue.step(step)
        if (queue.waiting.length) expect(queue.running.length).toBeGreaterThanOrEqual(slots)
        expect(queue.running.length).toBeLessThanOrEqual(slots + 1)
      }
    }),
    { numRuns: 200 },
  )
})

test('after a job of a named queue its slot looks again, until it is released', () => {
  vi.useFakeTimers()
  const events = new EventEmitter() as WorkerEvents
  shareSlots(events, 4)
  const worker = { nudge: vi.fn() }
  const complete = (job_queue_id: number | null) => events.emit('job:complete', { worker, job: { job_queue_id } } as never)
  complete(null)
  vi.advanceTimersByTime(1_000)
  expect(worker.nudge).not.toHaveBeenCalled()
  complete(7)
  vi.advanceTimersByTime(60)
  expect(worker.nudge).toHaveBeenCalledTimes(2)
  events.emit('worker:release', { worker } as never)
  vi.advanceTimersByTime(1_000)
  expect(worker.nudge).toHaveBeenCalledTimes(2)
  vi.useRealTimers()
})
