import { expect, test } from 'vitest'
import { createTimeouts } from './timeouts.ts'

const REASON = 'Rendering took longer than 250 ms.'

test('a content is tried until it has timed out three times, and then fails with the reason', () => {
  const timeouts = createTimeouts()
  const guard = timeouts.guardOf('a')
  for (let n = 0; n < 3; n++) {
    expect(guard.refusal()).toBeUndefined()
    guard.timedOut(REASON)
  }
  expect(timeouts.guardOf('a').refusal()).toBe(`${REASON} Not tried: 3 emails with this content did.`)
  expect(timeouts.guardOf('b').refusal()).toBeUndefined()
})

test('a content is tried again ten minutes after its last timeout', () => {
  let now = 0
  const guard = createTimeouts(() => now).guardOf('a')
  for (let n = 0; n < 3; n++) guard.timedOut(REASON)
  now = 10 * 60_000 - 1
  expect(guard.refusal()).toBeDefined()
  now++
  expect(guard.refusal()).toBeUndefined()
  guard.timedOut(REASON)
  expect(guard.refusal()).toBeUndefined()
})

test('a hundred built emails clear the timeouts of a content', () => {
  const guard = createTimeouts().guardOf('a')
  for (let n = 0; n < 2; n++) guard.timedOut(REASON)
  for (let n = 0; n < 100; n++) guard.succeeded()
  for (let n = 0; n < 2; n++) guard.timedOut(REASON)
  expect(guard.refusal()).toBeUndefined()
  for (let n = 0; n < 99; n++) guard.succeeded()
  guard.timedOut(REASON)
  expect(guard.refusal()).toBeDefined()
})

test('the latest thousand contents are remembered', () => {
  const timeouts = createTimeouts()
  for (let n = 0; n < 1_001; n++) for (let time = 0; time < 3; time++) timeouts.guardOf(`c${n}`).timedOut(REASON)
  expect(['c0', 'c1', 'c1000'].map((id) => timeouts.guardOf(id).refusal() !== undefined)).toEqual([false, true, true])
})
