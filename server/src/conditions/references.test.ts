import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { type SegmentLookup, toExpression } from './expression.ts'
import {
  createdWindowsOf,
  dataKeysOf,
  eventsOf,
  eventWindowsOf,
  hasDueWindows,
  referencesOf,
  staticSegmentsOf,
  topicsOf,
} from './references.ts'
import { type ConditionFilter, type ConditionTree, readCondition } from './schema.ts'

const [STATIC, DYNAMIC] = [randomUUID(), randomUUID()]
const treeOf = (...filters: ConditionFilter[]) => readCondition({ logic: 'AND', groups: [{ filters }] }, 'condition')
const inner = treeOf(
  { field: 'data.inner', operator: 'exists' },
  { field: 'event.inner', operator: 'triggeredWithin', value: 1, unit: 'hours' },
)
const lookup: SegmentLookup = (id) => (id === STATIC ? { type: 'STATIC' } : { type: 'DYNAMIC', condition: inner })

const nested: ConditionTree = {
  logic: 'OR',
  groups: [
    {
      filters: [
        { field: 'data.plan', operator: 'exists' },
        { field: 'data.address.city', operator: 'equals', value: 'Bern' },
        { field: 'email', operator: 'contains', value: 'x' },
        { field: 'purchase', operator: 'triggered' },
        { field: 'email.open', operator: 'triggeredOlderThan', value: 2, unit: 'days' },
      ],
      conditions: treeOf(
        { field: 'data.plan', operator: 'notExists' },
        { field: 'event.email.open', operator: 'triggered' },
        { field: 'subscribed', operator: 'equals', value: true },
        { field: 'createdAt', operator: 'within', value: 3, unit: 'minutes' },
        { field: `segment.${STATIC}`, operator: 'memberOfSegment' },
        { field: `segment.${DYNAMIC}`, operator: 'notMemberOfSegment' },
      ),
    },
  ],
}

test('a tree names the fields and segments that it mentions, once, and does not open segments', () => {
  expect(referencesOf(nested)).toEqual({
    fields: ['plan', 'address.city'],
    standard: ['email', 'subscribed', 'createdAt'],
    segments: [STATIC, DYNAMIC],
  })
})

test('a tracked tree listens to everything that can change its answer, in dynamic segments too', () => {
  expect(topicsOf(toExpression(nested, lookup)).sort()).toEqual(
    [
      'contact:created',
      'contact:data.plan',
      'field:plan',
      'contact:data.address.city',
      'field:address.city',
      'contact:data.address',
      'field:address',
      'contact:email',
      'event:purchase',
      'events-deleted:purchase',
      'event:email.open',
      'events-deleted:email.open',
      'contact:subscribed',
      `segment:${STATIC}`,
      'contact:data.inner',
      'field:inner',
      'event:inner',
      'events-deleted:inner',
    ].sort(),
  )
  const updated = treeOf({ field: 'updatedAt', operator: 'equals', value: '2026-01-31' })
  expect(topicsOf(toExpression(updated, lookup))).toEqual(['contact:created', 'contact'])
})

test('periods are found by what they are about', () => {
  const expression = toExpression(nested, lookup)
  expect(eventWindowsOf(expression)).toEqual([
    { event: { name: 'email.open', humanOnly: true }, ms: 172_800_000 },
    { event: { name: 'inner', humanOnly: false }, ms: 3_600_000 },
  ])
  expect(createdWindowsOf(expression)).toEqual([180_000])
  expect(hasDueWindows(expression)).toBe(false)
  const isDue = (filter: ConditionFilter) => hasDueWindows(toExpression(treeOf(filter), lookup))
  expect(isDue({ field: 'data.due', operator: 'within', value: 1, unit: 'days' })).toBe(true)
  expect(isDue({ field: 'updatedAt', operator: 'olderThan', value: 1, unit: 'days' })).toBe(true)
  expect(isDue({ field: 'data.due', operator: 'lessThan', value: '2026-01-31' })).toBe(false)
  expect(isDue({ field: 'updatedAt', operator: 'lessThan', value: '2026-01-31' })).toBe(false)
})

test('what must be read for a tree is listed once', () => {
  const expression = toExpression(nested, lookup)
  expect(dataKeysOf(expression)).toEqual(['plan', 'address.city', 'address', 'inner'])
  expect(staticSegmentsOf([expression, expression])).toEqual([STATIC])
  expect(eventsOf([expression, expression])).toEqual([
    { name: 'purchase', humanOnly: false },
    { name: 'email.open', humanOnly: true },
    { name: 'email.open', humanOnly: false },
    { name: 'inner', humanOnly: false },
  ])
})
