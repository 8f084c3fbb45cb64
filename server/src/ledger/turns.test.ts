import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTurns, type WaitingWork } from './turns.ts'

const work = (owner: string, project = 'p', key = `${owner} ${project}`): WaitingWork => ({ owner, projectId: `${owner} ${project}`, key })

/** Starts what gets a slot, in order, without taking it off the list. */
function startAll(turns: ReturnType<typeof createTurns>, waiting: WaitingWork[]) {
  const started: WaitingWork[] = []
  for (let next = turns.choose(waiting); next && started.length < 100; next = turns.choose(waiting)) {
    turns.start(next)
    started.push(next)
  }
  return started
}
const keysOf = (started: WaitingWork[]) => started.map(({ key }) => key)

describe('the slots of a pool', () => {
  test('belong to one owner while no other waits, and the newcomer gets one more at once', () => {
    const turns = createTurns({ slots: 4, maxOfKey: 100 })
    expect(startAll(turns, [work('ann')])).toHaveLength(4)
    expect(startAll(turns, [work('ann'), work('bob')])).toEqual([work('bob')])
    expect(turns.hasRoom()).toBe(false)
  })

  test('are shared by halves once another owner waits', () => {
    const turns = createTurns({ slots: 4, maxOfKey: 100 })
    expect(keysOf(startAll(turns, [work('ann'), work('bob')]))).toEqual(['ann p', 'bob p', 'ann p', 'bob p'])
    turns.end(work('bob'), 'done')
    expect(startAll(turns, [work('ann'), work('cid')])).toEqual([work('cid')])
    expect(turns.ownersAtShare({ othersWait: true })).toEqual(['ann', 'bob', 'cid'])
  })

  test('go to the projects of an owner in turns', () => {
    const turns = createTurns({ slots: 6, maxOfKey: 100 })
    const waiting = [work('ann', '1'), work('ann', '2'), work('ann', '3')]
    expect(keysOf(startAll(turns, waiting))).toEqual(['ann 1', 'ann 2', 'ann 3', 'ann 1', 'ann 2', 'ann 3'])
  })

  test('are bounded for a project and for a key', () => {
    const turns = createTurns({ slots: 20, maxOfProject: 5, maxOfKey: 2 })
    const hosts = ['x', 'y', 'z'].map((host) => work('ann', '1', host))
    expect(keysOf(startAll(turns, hosts)).sort()).toEqual(['x', 'x', 'y', 'y', 'z'])
    expect(turns.keysAtLimit().sort()).toEqual(['x', 'y'])
  })
})

test('what timed out gets one slot at a time until it answers', () => {
  const turns = createTurns({ slots: 8, maxOfKey: 3 })
  const waiting = [work('ann')]
  for (const each of startAll(turns, waiting)) turns.end(each, 'timed_out')
  expect(startAll(turns, waiting)).toHaveLength(1)
  turns.end(work('ann'), 'done')
  expect(startAll(turns, waiting)).toHaveLength(3)
})

test('a slot that was not used after all changes nothing but the number of free ones', () => {
  let now = 0
  const turns = createTurns({ slots: 8, maxOfKey: 3, now: () => now })
  const [slow, failing] = [[work('ann')], [work('bob')]]
  for (const each of startAll(turns, slow)) turns.end(each, 'timed_out')
  for (const each of startAll(turns, slow)) turns.cancel(each)
  expect(startAll(turns, slow)).toHaveLength(1)
  turns.start(work('bob'))
  turns.end(work('bob'), 'failed')
  now = 1_000
  turns.start(work('bob'))
  turns.cancel(work('bob'))
  turns.start(work('bob'))
  turns.end(work('bob'), 'failed')
  // The second failure, so it rests for two seconds.
  now = 2_500
  expect(turns.choose(failing)).toBeUndefined()
  now = 3_000
  expect(turns.choose(failing)).toEqual(work('bob'))
})

test('what fails rests, twice as long each time, and success ends that', () => {
  let now = 0
  const turns = createTurns({ slots: 2, now: () => now })
  const waiting = [work('ann')]
  const rests: number[] = []
  for (const _ of [1, 2, 3, 4, 5, 6, 7]) {
    expect(startAll(turns, waiting)).toHaveLength(1)
    turns.end(work('ann'), 'failed')
    const failedAt = now
    expect(turns.keysAtLimit()).toEqual(['ann p'])
    while (!turns.choose(waiting)) now += 500
    rests.push(now - failedAt)
  }
  expect(rests).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 32_000])
  startAll(turns, waiting)
  turns.end(work('ann'), 'done')
  expect(turns.choose(waiting)).toEqual(work('ann'))
})

/** Owners with different amounts of waiting work; work ends at random, or never. */
const scenes = fc.record({
  slots: fc.integer({ min: 2, max: 9 }),
  maxOfKey: fc.integer({ min: 1, max: 3 }),
  owners: fc.array(fc.array(fc.nat(2), { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 8 }),
  ends: fc.array(fc.nat(), { maxLength: 150 }),
})

describe('whatever waits and ends', () => {
  test('no owner starves, shares are kept, and the slot beyond the pool is for an owner without one', () => {
    fc.assert(
      fc.property(scenes, ({ slots, maxOfKey, owners, ends }) => {
        const turns = createTurns({ slots, maxOfKey })
        const running: WaitingWork[] = []
        // Each owner always has work; a project number occurs more than once if the owner has several keys in it.
        const waiting = owners.flatMap((projects, owner) =>
          projects.map((project, key) => work(`o${owner}`, `${project}`, `o${owner} k${key}`)),
        )
        const count = (of: (each: WaitingWork) => boolean) => running.filter(of).length
        /** Turns of each owner since the last one of an owner that has no slot. */
        const passedBy = new Map<string, Map<string, number>>()
        for (const end of [...ends, 0]) {
          for (let next = turns.choose(waiting); next; next = turns.choose(waiting)) {
            const { owner, key } = next
            const own = count((each) => each.owner === owner)
            const able = waiting.filter((each) => count(({ key }) => key === each.key) < maxOfKey)
            expect(able.map((each) => each.key)).toContain(key)
            if (running.length >= slots) expect([running.length, own]).toEqual([slots, 0])
            if (able.some((each) => each.owner !== owner)) expect(own).toBeLessThan(Math.max(1, Math.floor(slots / 2)))
            for (const other of new Set(able.map((each) => each.owner))) {
              if (other === owner || count((each) => each.owner === other)) continue
              const passed = passedBy.get(other) ?? new Map<string, number>()
              passed.set(owner, (passed.get(owner) ?? 0) + 1)
              passedBy.set(other, passed)
              // Each other owner goes first at most once.
              expect(passed.get(owner)).toBe(1)
            }
            passedBy.delete(owner)
            turns.start(next)
            running.push(next)
          }
          // Never idle: nothing able is left while there is a slot that its owner may have.
          if (running.length < slots) {
            const able = waiting.filter((each) => count(({ key }) => key === each.key) < maxOfKey)
            for (const { owner } of able)
              expect(count((each) => each.owner === owner)).toBeGreaterThanOrEqual(Math.max(1, Math.floor(slots / 2)))
          }
          const [ended] = running.splice(end % Math.max(1, running.length), 1)
          if (ended) turns.end(ended, 'done')
        }
      }),
      { numRuns: 100 },
    )
  })
})
