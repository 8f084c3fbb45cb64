import { expect, test } from 'vitest'
import type { StepType } from '../graph/graph.ts'
import { describeReason, describeStart, describeTrigger } from './describe.ts'
import { secondsOf, splitSeconds } from './fields/period.tsx'
import { describeQuestion } from './question.ts'
import { parseValue } from './step-view.ts'
import { addableSteps, STEP_VIEWS } from './views.ts'

const NAMES = { templates: { t1: 'Welcome' }, segments: { s1: 'Customers' } }

test.each<[StepType, Record<string, unknown>, string]>([
  ['SEND_EMAIL', { templateId: 't1', recipient: { type: 'CONTACT' } }, 'Welcome'],
  ['SEND_EMAIL', { templateId: 't1', recipient: { type: 'CUSTOM', customEmail: 'us@example.com' } }, 'Welcome, to us@example.com'],
  ['SEND_EMAIL', { templateId: 'gone' }, 'a deleted template'],
  ['DELAY', { amount: 1, unit: 'days' }, '1 day'],
  ['DELAY', { amount: 90, unit: 'minutes' }, '90 minutes'],
  ['WAIT_FOR_EVENT', { eventName: 'paid', timeout: 172_800 }, 'until paid, at most 2 days'],
  ['WAIT_FOR_EVENT', { eventName: 'paid', timeout: null }, 'until paid, however long'],
  ['DELAY', { until: 'data.birthday', repeats: 'yearly', hour: 9 }, 'until 9:00 on the next birthday'],
  ['WEBHOOK', { url: 'https://example.com/x', method: 'POST' }, 'POST https://example.com/x'],
  ['UPDATE_CONTACT', { updates: { plan: 'pro', old: null }, subscriptionAction: 'subscribe' }, 'plan = “pro”, delete old, subscribe'],
  ['EXIT', { reason: 'bought' }, 'bought'],
])('%s %j reads as "%s"', (type, config, sentence) => {
  expect(STEP_VIEWS[type].describe(config, NAMES)).toBe(sentence)
})

test.each([
  [{ field: 'subscribed', operator: 'equals', value: true }, 'is subscribed'],
  [{ field: 'event.amount', operator: 'greaterThan', value: 3 }, 'event.amount is more than 3'],
  [{ logic: 'AND', groups: [{ filters: [{ field: 'segment.s1', operator: 'memberOfSegment' }] }] }, 'is in the segment “Customers”'],
  [{ logic: 'AND', groups: [{}] }, 'condition.groups.0 has no filter.'],
  [{ mode: 'multi', field: 'data.plan', branches: [{}, {}] }, 'plan: 2 answers'],
])('the question %j reads as "%s", as the same condition of a segment does', (config, sentence) => {
  expect(describeQuestion(config, NAMES.segments)).toBe(sentence)
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
  const missing = addableSteps({ isOpenEnd: true }).filter(({ type, config }) => STEP_VIEWS[type].problem?.(config))
  expect(missing.map(({ type }) => type)).toEqual(['SEND_EMAIL', 'WAIT_FOR_EVENT', 'UPDATE_CONTACT', 'WEBHOOK'])
})

test('a condition that is typed as JSON is checked before it is saved', () => {
  const config = { logic: 'AND', groups: [{ filters: [{ operator: 'exists' }] }] }
  expect(STEP_VIEWS.CONDITION.problem?.(config)).toBe('condition.groups.0.filters.0.field must be a text.')
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

test.each([
  ['suppressed', 'the address is suppressed'],
  ['bought', 'bought'],
  ['constructor', 'constructor'],
])('the reason %s reads as "%s"', (reason, words) => {
  expect(describeReason(reason)).toBe(words)
})
