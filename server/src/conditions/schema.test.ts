import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { AppError } from '../lib/errors/errors.ts'
import { Condition, readCondition } from './schema.ts'

const plan = { field: 'data.plan', operator: 'equals', value: 'pro' }
const treeOf = (...filters: unknown[]) => ({ logic: 'AND', groups: [{ filters }] })

function nest(depth: number) {
  let tree: unknown = treeOf(plan)
  for (let level = 1; level < depth; level++) tree = { logic: 'OR', groups: [{ filters: [], conditions: tree }] }
  return tree
}

/** `field code` of each issue; empty when the tree is accepted. */
function refusalsOf(tree: unknown) {
  try {
    readCondition(tree, 'condition')
    return []
  } catch (err) {
    const { statusCode, extra } = err as AppError
    expect(statusCode).toBe(422)
    return extra.errors!.map(({ field, code }) => `${field} ${code}`)
  }
}

describe('a tree is refused when', () => {
  test.each<[string, unknown, string[]]>([
    ['it is missing', undefined, ['condition required']],
    ['it is null', null, ['condition required']],
    ['it is a text', 'x', ['condition invalid_type']],
    ['it is a list', [], ['condition invalid_type']],
    ['it is empty', {}, ['condition.logic required', 'condition.groups required']],
    ['its logic is unknown', { logic: 'XOR', groups: [{ filters: [plan] }] }, ['condition.logic invalid_enum_value']],
    [
      'its logic is a property of every object',
      { logic: 'constructor', groups: [{ filters: [plan] }] },
      ['condition.logic invalid_enum_value'],
    ],
    ['it has no groups', { logic: 'AND', groups: [] }, ['condition.groups too_small']],
    ['its groups are no list', { logic: 'AND', groups: { length: 1 } }, ['condition.groups invalid_type']],
    ['a group is a text', { logic: 'AND', groups: ['x'] }, ['condition.groups.0 invalid_type']],
    ['a group has nothing', { logic: 'AND', groups: [{}] }, ['condition.groups.0.filters required']],
    ['a group has no filter', { logic: 'AND', groups: [{ filters: [plan] }, { filters: [] }] }, ['condition.groups.1.filters too_small']],
    [
      'a group has no filter and null',
      { logic: 'AND', groups: [{ filters: [], conditions: null }] },
      ['condition.groups.0.filters too_small'],
    ],
    ['a filter is null', treeOf(null), ['condition.groups.0.filters.0 required']],
    ['a filter is empty', treeOf({}), ['condition.groups.0.filters.0.field required', 'condition.groups.0.filters.0.operator required']],
    [
      'a nested filter is wrong',
      { logic: 'AND', groups: [{ filters: [plan], conditions: treeOf(plan, { ...plan, operator: 'is' }) }] },
      ['condition.groups.0.conditions.groups.0.filters.1.operator invalid_enum_value'],
    ],
    ['it is nested 11 levels deep', nest(11), [`condition${'.groups.0.conditions'.repeat(10)} too_big`]],
    ['it is nested 10,000 levels deep', nest(10_000), [`condition${'.groups.0.conditions'.repeat(10)} too_big`]],
    ['it has 101 filters', { logic: 'OR', groups: Array(2).fill({ filters: Array(51).fill(plan) }) }, ['condition too_big']],
    ['a group has 101 filters', treeOf(...Array(101).fill(plan)), ['condition.groups.0.filters too_big']],
    ['it has 20,000 groups', { logic: 'OR', groups: Array(20_000).fill({ filters: [plan] }) }, ['condition.groups too_big']],
    ['its texts are too large together', treeOf(...Array(70).fill({ ...plan, value: 'x'.repeat(1_000) })), ['condition too_big']],
    ['a value has more than 1 KB', treeOf({ ...plan, value: 'é'.repeat(513) }), ['condition.groups.0.filters.0.value too_big']],
    ['a field has more than 1 KB', treeOf({ ...plan, field: `data.${'x'.repeat(1_024)}` }), ['condition.groups.0.filters.0.field too_big']],
    [
      'a value has 200,000 elements',
      treeOf({ ...plan, value: Array(200_000).fill(1) }),
      ['condition.groups.0.filters.0.value invalid_type'],
    ],
    ['a value has 1 MB', treeOf({ ...plan, value: 'x'.repeat(1_000_000) }), ['condition.groups.0.filters.0.value too_big']],
  ])('%s', (_, tree, expected) => {
    expect(refusalsOf(tree)).toEqual(expected)
  })

  test('it has more problems than are reported', () => {
    const groups = Array(100).fill({ filters: Array(100).fill({ ...plan, operator: 'constructor' }) })
    expect(refusalsOf({ logic: 'OR', groups }).length).toBeLessThanOrEqual(50)
  })
})

type Row = [field: unknown, operator: unknown, value: unknown, unit: unknown, refusal: string]

describe('a filter is refused with its place:', () => {
  test.each<Row>([
    ["data.x' OR 1=1--", 'equals', 'x', undefined, 'field invalid_enum_value'],
    ['projectId', 'equals', 'x', undefined, 'field invalid_enum_value'],
    ['password', 'equals', 'x', undefined, 'field invalid_enum_value'],
    ['data', 'equals', 'x', undefined, 'field invalid_enum_value'],
    ['data.', 'equals', 'x', undefined, 'field invalid_enum_value'],
    [`data.${'a.'.repeat(40)}a`, 'equals', 'x', undefined, 'field invalid_enum_value'],
    ['__proto__', 'equals', 'x', undefined, 'field invalid_enum_value'],
    ['email.read', 'triggered', undefined, undefined, 'field invalid_enum_value'],
    ['event.', 'triggered', undefined, undefined, 'field invalid_enum_value'],
    ['', 'triggered', undefined, undefined, 'field invalid_enum_value'],
    [`event.${'x'.repeat(256)}`, 'triggered', undefined, undefined, 'field invalid_enum_value'],
    ['segment.vip', 'memberOfSegment', undefined, undefined, 'field invalid_enum_value'],
    ['data.\0', 'exists', undefined, undefined, 'field invalid_string'],
    ['data.\ud800', 'exists', undefined, undefined, 'field invalid_string'],
    [5, 'equals', 'x', undefined, 'field invalid_type'],
    ['data.x', 'constructor', 'x', undefined, 'operator invalid_enum_value'],
    ['data.x', 'toString', 'x', undefined, 'operator invalid_enum_value'],
    ['data.x', '__proto__', 'x', undefined, 'operator invalid_enum_value'],
    ['data.x', ['equals'], 'x', undefined, 'operator invalid_type'],
    ['data.x', 'triggered', undefined, undefined, 'operator invalid_enum_value'],
    ['data.x', 'memberOfSegment', undefined, undefined, 'operator invalid_enum_value'],
    ['email', 'greaterThan', 'x', undefined, 'operator invalid_enum_value'],
    ['email', 'triggered', undefined, undefined, 'operator invalid_enum_value'],
    ['email', 'exists', undefined, undefined, 'operator invalid_enum_value'],
    ['subscribed', 'contains', 'x', undefined, 'operator invalid_enum_value'],
    ['createdAt', 'contains', 'x', undefined, 'operator invalid_enum_value'],
    ['createdAt', 'exists', undefined, undefined, 'operator invalid_enum_value'],
    ['event.x', 'equals', 'x', undefined, 'operator invalid_enum_value'],
    ['email.opened', 'equals', 'x', undefined, 'operator invalid_enum_value'],
    [`segment.${randomUUID()}`, 'triggered', undefined, undefined, 'operator invalid_enum_value'],
    ['email', 'equals', undefined, undefined, 'value required'],
    ['email', 'equals', null, undefined, 'value required'],
    ['email', 'equals', 5, undefined, 'value invalid_type'],
    ['email', 'contains', ' ', undefined, 'value too_small'],
    ['subscribed', 'equals', 'true', undefined, 'value invalid_type'],
    ['subscribed', 'equals', undefined, undefined, 'value required'],
    ['createdAt', 'equals', '2026-02-30', undefined, 'value invalid_string'],
    ['createdAt', 'lessThan', 'yesterday', undefined, 'value invalid_string'],
    ['createdAt', 'lessThan', 5, undefined, 'value invalid_type'],
    ['updatedAt', 'within', 5, undefined, 'unit required'],
    ['updatedAt', 'within', 5, 'weeks', 'unit invalid_enum_value'],
    ['updatedAt', 'within', 5, 'constructor', 'unit invalid_enum_value'],
    ['updatedAt', 'within', 5, ['days'], 'unit invalid_enum_value'],
    ['updatedAt', 'within', undefined, 'days', 'value required'],
    ['updatedAt', 'within', '5', 'days', 'value invalid_type'],
    ['updatedAt', 'within', -1, 'days', 'value too_small'],
    ['updatedAt', 'within', 1e12, 'days', 'value too_big'],
    ['updatedAt', 'within', 1e7, 'days', 'value too_big'],
    ['data.x', 'olderThan', 36_501, 'days', 'value too_big'],
    ['data.x', 'within', Number.NaN, 'days', 'value invalid_type'],
    ['data.x', 'within', Number.POSITIVE_INFINITY, 'days', 'value too_big'],
    ['event.x', 'triggeredWithin', 1e300, 'minutes', 'value too_big'],
    ['event.x', 'triggeredWithin', 1, undefined, 'unit required'],
    ['email.opened', 'notTriggeredWithin', undefined, 'days', 'value required'],
    ['data.x', 'equals', undefined, undefined, 'value required'],
    ['data.x', 'equals', null, undefined, 'value required'],
    ['data.x', 'equals', [1], undefined, 'value invalid_type'],
    ['data.x', 'equals', { $ne: 1 }, undefined, 'value invalid_type'],
    ['data.x', 'equals', 2 ** 53, undefined, 'value too_big'],
    ['data.x', 'equals', Number.NEGATIVE_INFINITY, undefined, 'value too_big'],
    ['data.x', 'equals', 'x\0', undefined, 'value invalid_string'],
    ['data.x', 'equals', '\udfff', undefined, 'value invalid_string'],
    ['data.x', 'contains', '', undefined, 'value too_small'],
    ['data.x', 'contains', 5, undefined, 'value invalid_type'],
    ['data.x', 'greaterThan', 'abc', undefined, 'value invalid_string'],
    ['data.x', 'greaterThan', true, undefined, 'value invalid_type'],
    ['data.x', 'greaterThan', undefined, undefined, 'value required'],
  ])('%j %j %j %j', (field, operator, value, unit, refusal) => {
    expect(refusalsOf(treeOf({ field, operator, value, unit }))).toEqual([`condition.groups.0.filters.0.${refusal}`])
  })
})

test('the limits themselves are accepted', () => {
  expect(refusalsOf(nest(10))).toEqual([])
  expect(refusalsOf(treeOf(...Array(100).fill(plan)))).toEqual([])
  expect(refusalsOf(treeOf({ ...plan, value: 'x'.repeat(1_024) }))).toEqual([])
  expect(refusalsOf(treeOf({ field: 'data.x', operator: 'within', value: 36_500, unit: 'days' }))).toEqual([])
})

test('a tree is read without keys that mean nothing, and then agrees with its schema', () => {
  const given = {
    logic: 'AND',
    name: 'x',
    groups: [
      { conditions: treeOf({ ...plan, unit: 'days', id: 7 }), extra: 1 },
      { filters: [{ field: 'data.plan', operator: 'exists', value: '' }], conditions: null },
      { filters: [{ field: 'event.x', operator: 'triggered', value: null, unit: null }] },
    ],
  }
  const read = readCondition(given, 'condition')
  expect(read).toEqual({
    logic: 'AND',
    groups: [
      { filters: [], conditions: treeOf(plan) },
      { filters: [{ field: 'data.plan', operator: 'exists' }] },
      { filters: [{ field: 'event.x', operator: 'triggered' }] },
    ],
  })
  expect(Condition.parse(read)).toEqual(read)
  expect(readCondition(read, 'condition')).toEqual(read)
})
