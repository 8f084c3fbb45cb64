import { expect, test } from 'vitest'
import { createSlowdown } from './slowdown.ts'

function start() {
  let now = 0
  const slowdown = createSlowdown(() => now)
  const waitFor = (projectId: string, domain = 'slow.example', bulk = false) => slowdown.waitFor({ projectId, domain, bulk })
  return {
    waitFor,
    throttled: (projectId: string, domain = 'slow.example') => slowdown.throttled({ projectId, domain }),
    pass: (ms: number) => (now += ms),
    /** Of 1,000 emails at this moment. */
    leavingNow: (projectId: string, domain?: string) =>
      Array.from({ length: 1_000 }, () => waitFor(projectId, domain)).filter((wait) => wait === undefined).length,
  }
}

test('a throttled mailbox slows the emails of that project to that domain, and no others', () => {
  const { throttled, leavingNow } = start()
  throttled('a')
  expect(leavingNow('a')).toBeLessThan(3)
  expect(leavingNow('b')).toBe(1_000)
  expect(leavingNow('a', 'other.example')).toBe(1_000)
})

test('a domain that throttles two projects within a minute is slow for all', () => {
  const { throttled, leavingNow, pass } = start()
  throttled('a')
  pass(30_000)
  throttled('b')
  expect(leavingNow('c')).toBeLessThan(3)
})

test('emails that have to wait get turns one after the other, a minute away at most, or five for bulk', () => {
  const { throttled, waitFor } = start()
  throttled('a')
  const waits = Array.from({ length: 100 }, () => waitFor('a') ?? 0)
  expect(waits.slice(2, 50)).toEqual(waits.slice(2, 50).toSorted((x, y) => x - y))
  expect(Math.max(...waits)).toBe(60)
  for (let index = 0; index < 500; index++) waitFor('a')
  expect(waitFor('a', 'slow.example', true)).toBe(300)
})

test('it recovers within a minute', () => {
  const { throttled, leavingNow, pass } = start()
  throttled('a')
  pass(60_000)
  expect(leavingNow('a')).toBe(1_000)
})

test('emails that waited for their turn leave when it comes', () => {
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

test('emails that come back too early do not put off the others', () => {
  const { throttled, waitFor, pass } = start()
  throttled('a')
  let left = 0
  for (let second = 0; second < 20; second++, pass(1_000)) for (let email = 0; email < 500; email++) if (waitFor('a') === undefined) left++
  expect(left).toBeGreaterThan(120)
  expect(left).toBeLessThan(260)
})
