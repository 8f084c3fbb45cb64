import { expect, test } from 'vitest'
import { CONNECTIONS, createSlots } from './slots.ts'

function start(connections?: number) {
  let time = 0
  const slots = createSlots(connections, () => time)
  const after = (seconds: number) => {
    time += seconds * 1_000
    return slots.count().all
  }
  return { ...slots, after }
}

test('bulk may use as many slots as there are connections, and transactional emails have more', () => {
  expect(start().count()).toEqual({ bulk: CONNECTIONS, all: 49 })
  expect(start(1).count()).toEqual({ bulk: 1, all: 2 })
  expect(start(200).count()).toEqual({ bulk: 200, all: 286 })
})

test('a refused connection leaves as many slots as others are open, at least one, and a share of them to bulk', () => {
  const { refused, count } = start()
  refused(20)
  expect(count()).toEqual({ all: 20, bulk: 14 })
  refused(30)
  expect(count()).toEqual({ all: 20, bulk: 14 })
  refused(0)
  expect(count()).toEqual({ all: 1, bulk: 1 })
})

test('the slots grow again, faster and faster', () => {
  const { refused, after } = start()
  refused(1)
  expect([after(4), after(1), after(5), after(5), after(5), after(5), after(5), after(5)]).toEqual([1, 2, 4, 8, 16, 32, 49, 49])
})

test('a provider that keeps its limit is asked for more less and less often', () => {
  const { refused, after, count } = start()
  const refusedAfter: number[] = []
  refused(10)
  for (let second = 0, last = 0; second < 1_000; second++) {
    if (after(1) === 10) continue
    refused(10)
    expect(count().all).toBe(10)
    refusedAfter.push(second - last)
    last = second
  }
  expect(refusedAfter.slice(1)).toEqual([10, 20, 40, 80, 160, 300, 300])
})
