import { expect, test } from 'vitest'
import { createSlowdown } from './slowdown.ts'

function start() {
  let now = 0
  const slowdown = createSlowdown(() => now)
  const waitFor = (projectId: string, domain = 'slow.example', bulk = false) => slowdown.waitFor({ projectId, domain, bulk })
  return {
    waitFor,
    throttled: (projectId: string, owner = projectId) => slowdown.throttled({ projectId, owner, domain: 'slow.example' }),
    pass: (ms: number) => (now += ms),
    /** How many of 1,000 emails may leave now. */
    leavingNow: (projectId: string, domain?: string) =>
      Array.from({ length: 1_000 }, () => waitFor(projectId, domain)).filter((wait) => wait === undefined).length,
  }
}

test('a throttled project is slowed to that domain, and no other project or domain is', () => {
  const { throttled, leavingNow } = start()
  throttled('a')
  expect(leavingNow('a')).toBeLessThan(3)
  expect(leavingNow('b')).toBe(1_000)
  expect(leavingNow('a', 'other.example')).toBe(1_000)
})

test('a domain that throttles projects of two owners within a minute is slow for all projects', () => {
  const { throttled, leavingNow, pass } = start()
  throttled('a')
  pass(30_000)
  throttled('b')
  expect(leavingNow('c')).toBeLessThan(3)
})

test('a domain that throttles two projects of one owner is slow for these', () => {
  const { throttled, leavingNow } = start()
  throttled('a', 'owner')
  throttled('b', 'owner')
  expect([leavingNow('a') < 3, leavingNow('b') < 3, leavingNow('c')]).toEqual([true, true, 1_000])
})

test('waiting emails are spread over time, up to one minute, or five for bulk', () => {
  const { throttled, waitFor } = start()
  throttled('a')
  const waits = Array.from({ length: 100 }, () => waitFor('a') ?? 0)
  expect(waits.slice(2, 50)).toEqual(waits.slice(2, 50).toSorted((x, y) => x - y))
  expect(Math.max(...waits)).toBe(60)
  for (let index = 0; index < 500; index++) waitFor('a')
  expect(waitFor('a', 'slow.example', true)).toBe(300)
})

test('the rate recovers within a minute', () => {
  const { throttled, leavingNow, pass } = start()
  throttled('a')
  pass(60_000)
  expect(leavingNow('a')).toBe(1_000)
})

test('emails that waited as long as assigned leave', () => {
  const { throttled, waitFor, pass } = start()
  throttled('a')
  const dueAt = Array.from({ length: 500 }, () => 0)
  let left = 0
  for (let second = 0; second < 20; second += 0.25, pass(250)) {
    for (const [email, due] of dueAt.entries()) {
      if (due > second) continue
      const wait = waitFor('a')
      if (wait === undefined) left++
      dueAt[email] = wait === undefined ? Number.POSITIVE_INFINITY : second + wait
    }
  }
  expect(left).toBeGreaterThan(15)
  expect(left).toBeLessThan(25)
})

test('emails that return too early do not delay the others', () => {
  const { throttled, waitFor, pass } = start()
  throttled('a')
  let left = 0
  for (let second = 0; second < 20; second++, pass(1_000)) for (let email = 0; email < 500; email++) if (waitFor('a') === undefined) left++
  expect(left).toBeGreaterThan(120)
  expect(left).toBeLessThan(260)
})
