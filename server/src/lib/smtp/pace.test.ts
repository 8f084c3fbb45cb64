import { expect, test } from 'vitest'
import { createPaceByKey } from './pace.ts'

test('what is free and the first step do not wait; then a key waits for what it did before, and no other key does', () => {
  let now = 0
  const count = createPaceByKey({ perSecond: 1_000, step: 100, free: 50 }, () => now)
  const [first, second, other] = [count(), count(), count()]
  expect([first('busy', 149), first('busy', 1)]).toEqual([0, 0])
  expect(first('busy', 99)).toBe(0)
  expect(first('busy', 1)).toBe(100)
  expect(second('busy', 250)).toBe(200)
  expect(other('other', 250)).toBe(0)
  now = 350
  expect(first('busy', 100)).toBe(50)
  now = 1_000
  expect(first('busy', 100)).toBe(0)
})
