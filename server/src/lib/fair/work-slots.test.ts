import { describe, expect, test } from 'vitest'
import { createWorkSlots, type WaitingWork } from './work-slots.ts'

const work = (owner: string, project = 'p', key = `${owner} ${project}`): WaitingWork => ({ owner, projectId: `${owner} ${project}`, key })

/** Starts what gets a slot, in order, without taking it off the list. */
function startAll(slots: ReturnType<typeof createWorkSlots>, waiting: WaitingWork[]) {
  const started: WaitingWork[] = []
  for (let next = slots.choose(waiting); next && started.length < 100; next = slots.choose(waiting)) {
    slots.start(next)
    started.push(next)
  }
  return started
}
const keysOf = (started: WaitingWork[]) => started.map(({ key }) => key)

describe('the slots of a pool', () => {
  test('belong to one owner while no other waits, and the newcomer gets one more at once', () => {
    const slots = createWorkSlots({ slots: 4, maxOfKey: 100 })
    expect(startAll(slots, [work('ann')])).toHaveLength(4)
    expect(startAll(slots, [work('ann'), work('bob')])).toEqual([work('bob')])
    expect(slots.hasSlot()).toBe(false)
  })

  test('are shared by halves once another owner waits', () => {
    const slots = createWorkSlots({ slots: 4, maxOfKey: 100 })
    expect(keysOf(startAll(slots, [work('ann'), work('bob')]))).toEqual(['ann p', 'bob p', 'ann p', 'bob p'])
    slots.end(work('bob'), 'done')
    expect(startAll(slots, [work('ann'), work('cid')])).toEqual([work('cid')])
    expect(slots.choose([work('ann'), work('bob')])).toBeUndefined()
  })

  test('go to the projects of an owner in turn', () => {
    const slots = createWorkSlots({ slots: 6, maxOfKey: 100 })
    const waiting = [work('ann', '1'), work('ann', '2'), work('ann', '3')]
    expect(keysOf(startAll(slots, waiting))).toEqual(['ann 1', 'ann 2', 'ann 3', 'ann 1', 'ann 2', 'ann 3'])
  })

  test('are bounded for a project and for a key', () => {
    const slots = createWorkSlots({ slots: 20, maxOfProject: 5, maxOfKey: 2 })
    const hosts = ['x', 'y', 'z'].map((host) => work('ann', '1', host))
    expect(keysOf(startAll(slots, hosts)).sort()).toEqual(['x', 'x', 'y', 'y', 'z'])
    expect(slots.keysAtLimit().sort()).toEqual(['x', 'y'])
  })
})

test('what timed out gets one slot at a time until it answers', () => {
  const slots = createWorkSlots({ slots: 8, maxOfKey: 3 })
  const waiting = [work('ann')]
  for (const each of startAll(slots, waiting)) slots.end(each, 'timed_out')
  expect(startAll(slots, waiting)).toHaveLength(1)
  slots.end(work('ann'), 'done')
  expect(startAll(slots, waiting)).toHaveLength(3)
})

test('a slot that was not used after all changes nothing but the number of free ones', () => {
  let now = 0
  const slots = createWorkSlots({ slots: 8, maxOfKey: 3, now: () => now })
  const [slow, failing] = [[work('ann')], [work('bob')]]
  for (const each of startAll(slots, slow)) slots.end(each, 'timed_out')
  for (const each of startAll(slots, slow)) slots.cancel(each)
  expect(startAll(slots, slow)).toHaveLength(1)
  slots.start(work('bob'))
  slots.end(work('bob'), 'failed')
  now = 1_000
  slots.start(work('bob'))
  slots.cancel(work('bob'))
  slots.start(work('bob'))
  slots.end(work('bob'), 'failed')
  // The second failure, so it rests for two seconds.
  now = 2_500
  expect(slots.choose(failing)).toBeUndefined()
  now = 3_000
  expect(slots.choose(failing)).toEqual(work('bob'))
})

test('what fails rests, twice as long each time, and success ends that', () => {
  let now = 0
  const slots = createWorkSlots({ slots: 2, now: () => now })
  const waiting = [work('ann')]
  const rests: number[] = []
  for (const _ of [1, 2, 3, 4, 5, 6, 7]) {
    expect(startAll(slots, waiting)).toHaveLength(1)
    slots.end(work('ann'), 'failed')
    const failedAt = now
    expect(slots.keysAtLimit()).toEqual(['ann p'])
    while (!slots.choose(waiting)) now += 500
    rests.push(now - failedAt)
  }
  expect(rests).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 32_000])
  startAll(slots, waiting)
  slots.end(work('ann'), 'done')
  expect(slots.choose(waiting)).toEqual(work('ann'))
})
