import { expect, test } from 'vitest'
import {
  ADDABLE,
  describeCondition,
  describeStart,
  describeStep,
  describeTrigger,
  NEW_CONFIGS,
  parseValue,
  problemOfStep,
  secondsOf,
  splitSeconds,
} from './describe.ts'
import type { StepType } from './graph.ts'

const NAMES = { templates: { t1: 'Welcome' }, segments: { s1: 'Customers' } }

test.each<[StepType, Record<string, unknown>, string]>([
  ['SEND_EMAIL', { templateId: 't1', recipient: { type: 'CONTACT' } }, 'Welcome'],
  ['SEND_EMAIL', { templateId: 't1', recipient: { type: 'CUSTOM', customEmail: 'us@example.com' } }, 'Welcome, to us@example.com'],
  ['SEND_EMAIL', { templateId: 'gone' }, 'a deleted template'],
  ['DELAY', { amount: 1, unit: 'days' }, '1 day'],
  ['DELAY', { amount: 90, unit: 'minutes' }, '90 minutes'],
  ['WAIT_FOR_EVENT', { eventName: 'paid', timeout: 172_800 }, 'paid, at most 2 days'],
  ['WAIT_FOR_EVENT', { eventName: 'paid', timeout: null }, 'paid, without a limit'],
  ['WEBHOOK', { url: 'https://example.com/x', method: 'POST' }, 'POST https://example.com/x'],
  ['UPDATE_CONTACT', { updates: { plan: 'pro', old: null }, subscriptionAction: 'subscribe' }, 'plan = “pro”, delete old, subscribe'],
  ['EXIT', { reason: 'bought' }, 'bought'],
])('%s %j reads as "%s"', (type, config, sentence) => {
  expect(describeStep({ type, config }, NAMES)).toBe(sentence)
})

test('a condition reads as a sentence', () => {
  const filters = [
    { field: 'data.plan', operator: 'equals', value: 'pro' },
    { field: 'createdAt', operator: 'within', value: 1, unit: 'days' },
  ]
  const tree = { logic: 'OR', groups: [{ filters }, { filters: [{ field: 'segment.s1', operator: 'memberOfSegment' }] }] }
  expect(describeCondition(tree, NAMES.segments)).toBe(
    '(plan is “pro” and createdAt is within the last 1 day) or segment Customers is a member',
  )
  expect(describeCondition({ field: 'subscribed', operator: 'equals', value: true }, {})).toBe('subscribed is true')
  expect(describeCondition({ mode: 'multi', field: 'data.plan', branches: [{}, {}] }, {})).toBe('plan: 2 answers')
})

test('a trigger says what starts the workflow', () => {
  const event = { triggerType: 'EVENT' as const, triggerConfig: { eventName: 'signup' } }
  expect(describeTrigger(event, {})).toBe('On signup')
  expect(describeStart(event, {})).toContain('when signup happens')
  const schedule = {
    triggerType: 'SCHEDULE' as const,
    triggerConfig: { schedule: '0 9 * * 1', timezone: 'Europe/Berlin', segmentId: 's1' },
  }
  expect(describeTrigger(schedule, NAMES.segments)).toBe('0 9 * * 1 (Europe/Berlin), members of Customers')
})

test('new steps say what is missing, and those that need nothing more do not', () => {
  const missing = ADDABLE.filter((type) => problemOfStep({ type, config: NEW_CONFIGS[type] }))
  expect(missing).toEqual(['SEND_EMAIL', 'WAIT_FOR_EVENT', 'UPDATE_CONTACT', 'WEBHOOK'])
})

test('seconds are shown in the largest unit that fits, and read back', () => {
  for (const seconds of [60, 3_600, 5_400, 86_400, 259_200]) {
    const { amount, unit } = splitSeconds(seconds)
    expect(secondsOf(amount, unit)).toBe(seconds)
  }
  expect(splitSeconds(5_400)).toEqual({ amount: 90, unit: 'minutes' })
})

test('typed text becomes the value that it looks like', () => {
  expect(['3', '-1.5', 'true', 'null', 'pro', '007a'].map(parseValue)).toEqual([3, -1.5, true, null, 'pro', '007a'])
})
