import type { Condition } from '@sterna/sdk'
import { expect, test } from 'vitest'
import { describeCondition, describeFilter } from './sentence.ts'

test.each([
  [{ field: 'data.plan', operator: 'equals', value: 'pro' }, 'plan is “pro”'],
  [{ field: 'data.seats', operator: 'greaterThan', value: 3 }, 'seats is more than 3'],
  [{ field: 'createdAt', operator: 'greaterThan', value: '2026-01-31' }, 'the creation is after 2026-01-31'],
  [{ field: 'data.trial', operator: 'olderThan', value: 1, unit: 'days' }, 'trial is more than 1 day ago'],
  [{ field: 'data.city', operator: 'notExists' }, 'city has no value'],
  [{ field: 'subscribed', operator: 'equals', value: false }, 'is not subscribed'],
  [{ field: 'subscribed', operator: 'notEquals', value: false }, 'is subscribed'],
  [{ field: 'email.opened', operator: 'notTriggeredWithin', value: 90, unit: 'days' }, 'opened no email in the last 90 days'],
  [{ field: 'email.clicked', operator: 'notTriggered' }, 'never clicked in an email'],
  [{ field: 'event.signup', operator: 'triggeredWithin', value: 1, unit: 'hours' }, 'did “signup” in the last hour'],
  [{ field: 'purchase', operator: 'triggeredOlderThan', value: 2, unit: 'days' }, 'did “purchase”, but not in the last 2 days'],
  [{ field: 'data.constructor', operator: 'equals', value: 'x' }, 'constructor is “x”'],
  [{ field: 'toString', operator: 'exists' }, 'toString has a value'],
  [{ field: 'email.valueOf', operator: 'triggered' }, 'did “email.valueOf”'],
  [{ field: 'segment.constructor', operator: 'memberOfSegment' }, 'is in a segment that was deleted'],
  [{ field: 'segment.s1', operator: 'notMemberOfSegment' }, 'is not in the segment “Pro users”'],
  [{ field: 'segment.s2', operator: 'memberOfSegment' }, 'is in a segment that was deleted'],
])('%j reads as: %s', (filter, sentence) => {
  expect(describeFilter(filter, { s1: 'Pro users' })).toBe(sentence)
})

test('parts of another logic stand in parentheses', () => {
  const plan = (value: string) => ({ field: 'data.plan', operator: 'equals' as const, value })
  const either: Condition = { logic: 'OR', groups: [{ filters: [plan('pro')] }, { filters: [plan('team')] }] }
  expect(describeCondition(either)).toBe('plan is “pro” or plan is “team”')
  const both: Condition = {
    logic: 'AND',
    groups: [{ filters: [{ field: 'subscribed', operator: 'equals', value: true }], conditions: either }],
  }
  expect(describeCondition(both)).toBe('is subscribed and (plan is “pro” or plan is “team”)')
  expect(describeCondition({ logic: 'AND', groups: [{ filters: [plan('pro')] }] })).toBe('plan is “pro”')
  expect(describeCondition(JSON.parse(JSON.stringify({ logic: 'AND', groups: [{ conditions: either }] })))).toBe(
    'plan is “pro” or plan is “team”',
  )
})
