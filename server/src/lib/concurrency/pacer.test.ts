import { expect, test } from 'vitest'
import { pauseAfter } from './pacer.ts'

test('after more busy than idle time, the rest of the idle time is waited for, up to a second', () => {
  expect(pauseAfter({ active: 80, idle: 20 })).toBe(60)
  expect(pauseAfter({ active: 5_000, idle: 0 })).toBe(1_000)
})

test('when the thread was idle for half of the time there is no wait', () => {
  expect(pauseAfter({ active: 50, idle: 50 })).toBe(0)
  expect(pauseAfter({ active: 1, idle: 99 })).toBe(0)
})
