import { afterEach, expect, test } from 'vitest'
import type { WaitingWork } from '../lib/fair/work-slots.ts'
import { createLog } from '../lib/process/log.ts'
import { startProjectLoop } from './project-loop.ts'

const HOUR_MS = 3_600_000
const work = (owner: string, key = owner): WaitingWork => ({ owner, projectId: owner, key })
/** Lets everything run that waits for nothing but other promises. */
const settle = () => new Promise((resolve) => setTimeout(resolve))

let stop = async () => {}
afterEach(() => stop())

type Loop = Parameters<typeof startProjectLoop<WaitingWork>>[0]

/** Polls once an hour: whatever happens in a test is caused by it. */
function start(options: Pick<Loop, 'find' | 'work'> & Partial<Loop>) {
  const loop = startProjectLoop({ name: 'test', log: createLog('silent'), isHeld: () => true, pollMs: HOUR_MS, slots: 2, ...options })
  stop = loop.stop
  return loop
}

test('work is looked for once, and again when it ends or at a signal', async () => {
  let looks = 0
  const ends: (() => void)[] = []
  const loop = start({
    find: async () => (++looks === 1 ? [work('ann')] : []),
    work: () => new Promise((resolve) => ends.push(() => resolve('done'))),
  })
  await settle()
  expect([looks, ends.length]).toEqual([1, 1])
  loop.wake()
  await settle()
  expect(looks).toBe(2)
  ends[0]!()
  await settle()
  expect([looks, ends.length]).toEqual([3, 1])
})

test('work that fails rests, while that of others goes on', async () => {
  const done: string[] = []
  let last: string[] = []
  start({
    find: async (except) => {
      last = except
      return done.length < 6 ? [work('ann'), work('bob')] : []
    },
    work: async ({ key }) => {
      done.push(key)
      if (key === 'ann') throw new Error('fails')
      return 'done'
    },
  })
  for (let turn = 0; turn < 10; turn++) await settle()
  expect(done.sort()).toEqual(['ann', 'bob', 'bob', 'bob', 'bob', 'bob'])
  expect(last).toEqual(['ann'])
})

test('work with more to do waits in turn with that of others', async () => {
  const done: string[] = []
  start({
    find: async () => (done.length ? [] : [work('ann'), work('bob'), work('cid')]),
    work: async ({ key }) => {
      done.push(key)
      return done.length < 9 ? 'more' : 'done'
    },
  })
  for (let turn = 0; turn < 20; turn++) await settle()
  expect(done.slice(0, 9).sort()).toEqual(['ann', 'ann', 'ann', 'bob', 'bob', 'bob', 'cid', 'cid', 'cid'])
})

test('slots of work that could not be taken are free again', async () => {
  let taking = 0
  const done: string[] = []
  const loop = start({
    find: async () => (done.length ? [] : [work('ann'), work('bob')]),
    take: async (chosen) => {
      taking++
      if (taking === 1) throw new Error('fails')
      return taking === 2 ? [] : chosen
    },
    work: async ({ key }) => {
      done.push(key)
      return 'done'
    },
  })
  for (let turn = 0; turn < 3; turn++) {
    await settle()
    loop.wake()
  }
  await settle()
  expect(done.sort()).toEqual(['ann', 'bob'])
})
