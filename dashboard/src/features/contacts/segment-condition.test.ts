import { expect, test } from 'vitest'
import { conditionOf } from './segment-condition.ts'

const FIELDS = [
  { field: 'seats', type: 'number' },
  { field: 'active', type: 'boolean' },
]
const NAMES = ['name', 'firstName + lastName']
const filtersOf = (filters: Record<string, string>, q?: string) =>
  conditionOf({ filters, ...(q && { q }) }, FIELDS, NAMES)?.groups.flatMap((group) => group.filters)

test('every filter of the list becomes a filter of the segment', () => {
  expect(filtersOf({ subscribed: 'false', created: '2026-01-01..2026-02-01', field: 'plan=pro', segment: 's1' })).toEqual([
    { field: 'subscribed', operator: 'equals', value: false },
    { field: 'createdAt', operator: 'greaterThanOrEqual', value: '2026-01-01' },
    { field: 'createdAt', operator: 'lessThanOrEqual', value: '2026-02-01' },
    { field: 'data.plan', operator: 'equals', value: 'pro' },
    { field: 'segment.s1', operator: 'memberOfSegment' },
  ])
})

test('conditions of the list are those of the segment, beside its other filters', () => {
  const condition = { logic: 'OR', groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }] }
  const filters = { condition: JSON.stringify(condition) }
  expect(conditionOf({ filters }, FIELDS, NAMES)).toEqual(condition)
  const isSubscribed = { field: 'subscribed', operator: 'equals', value: true }
  expect(conditionOf({ filters: { ...filters, subscribed: 'true' } }, FIELDS, NAMES)).toEqual({
    logic: 'AND',
    groups: [{ filters: [isSubscribed], conditions: condition }],
  })
  const named = conditionOf({ filters: {}, q: 'ada' }, FIELDS, NAMES)
  expect(conditionOf({ filters, q: 'ada' }, FIELDS, NAMES)).toEqual({
    logic: 'AND',
    groups: [
      { filters: [], conditions: named },
      { filters: [], conditions: condition },
    ],
  })
})

test('values have the type of their field', () => {
  const typedValue = (field: string) => filtersOf({ field })![0]!.value
  expect([typedValue('seats=5'), typedValue('seats=many'), typedValue('active=true'), typedValue('plan=5')]).toEqual([5, 'many', true, '5'])
})

test('a list without filters makes no segment', () => {
  expect(conditionOf({ filters: {} }, FIELDS, NAMES)).toBeUndefined()
})

test('a search is a part of the address or of the name', () => {
  const like = (field: string, value: string) => ({ field, operator: 'contains', value })
  const named = {
    logic: 'OR',
    groups: [
      { filters: [like('email', 'ada love')] },
      { filters: [like('data.name', 'ada love')] },
      { filters: [like('data.firstName', 'ada love')] },
      { filters: [like('data.lastName', 'ada love')] },
      { filters: [like('data.firstName', 'ada'), like('data.lastName', 'love')] },
    ],
  }
  expect(conditionOf({ filters: {}, q: 'ada love' }, FIELDS, NAMES)).toEqual(named)
  expect(conditionOf({ filters: { subscribed: 'true' }, q: 'ada love' }, FIELDS, NAMES)).toEqual({
    logic: 'AND',
    groups: [{ filters: [{ field: 'subscribed', operator: 'equals', value: true }], conditions: named }],
  })
})
