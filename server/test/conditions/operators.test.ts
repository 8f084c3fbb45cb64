import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { type SegmentLookup, toExpression } from '../../src/conditions/expression.ts'
import { type ConditionTree, readCondition } from '../../src/conditions/schema.ts'
import { compareAnswers, readAll, useDatabase, write } from './readers.ts'

const NOW = new Date('2026-03-12T12:00:00.000Z')
const [STATIC, DYNAMIC] = [randomUUID(), randomUUID()]

const CONTACTS = {
  ada: {
    email: 'ada@example.com',
    subscribed: true,
    createdAt: '2026-03-01T10:00:00.000Z',
    updatedAt: '2026-03-11T12:00:00.000Z',
    data: {
      plan: 'pro',
      age: 36,
      vip: true,
      city: 'Zürich',
      due: '2026-03-05',
      'a.b': 'key',
      a: { b: 'path', c: 1 },
      tags: ['pro'],
      list: { '0': 'zero' },
    },
  },
  bob: {
    email: 'bob_b@other.org',
    subscribed: false,
    createdAt: '2026-03-05T00:00:00.000Z',
    updatedAt: '2026-03-11T11:59:59.999Z',
    data: {
      plan: 'PRO',
      age: '36',
      vip: 'true',
      city: 'ZÜRICH',
      due: '2026-03-05T23:59:59.999Z',
      a: { b: 'path', c: null },
      list: ['zero'],
    },
  },
  cleo: {
    email: 'cleo@example.com',
    subscribed: true,
    createdAt: '2026-03-06T00:00:00.000Z',
    updatedAt: '2026-03-12T12:00:00.000Z',
    data: { age: 41.5, city: 'Bern', due: '2026-03-11T13:00:00+01:00', a: 'text', vip: false },
  },
  dan: {
    email: 'dan@example.com',
    subscribed: true,
    createdAt: '2026-03-12T11:59:00.000Z',
    updatedAt: '2026-04-01T00:00:00.000Z',
    data: { due: '2026-02-30', age: -1 },
  },
} as const
type Name = keyof typeof CONTACTS
const NAMES = Object.keys(CONTACTS) as Name[]
const IDS = Object.fromEntries(NAMES.map((name) => [name, randomUUID()])) as Record<Name, string>

const EVENTS: [Name, string, string, object?][] = [
  ['ada', 'purchase', '2026-03-11T12:00:00.000Z'],
  ['ada', 'purchase', '2026-01-01T00:00:00.000Z'],
  ['bob', 'purchase', '2026-03-11T11:59:59.999Z'],
  ['cleo', 'sign up', '2026-03-12T11:59:00.000Z'],
  ['ada', 'email.sent', '2026-03-01T00:00:00.000Z'],
  ['bob', 'email.sent', '2026-03-12T00:00:00.000Z'],
  ['ada', 'email.delivery', '2026-03-01T00:00:01.000Z'],
  ['ada', 'email.open', '2026-03-02T00:00:00.000Z', { machine: false }],
  ['ada', 'email.open', '2026-03-12T00:00:00.000Z', { machine: true }],
  ['bob', 'email.open', '2026-03-12T00:00:00.000Z', { machine: true }],
  ['cleo', 'email.click', '2026-03-12T00:00:00.000Z', {}],
  ['bob', 'email.bounce', '2026-03-12T00:00:00.000Z'],
  ['dan', 'email.complaint', '2026-03-12T00:00:00.000Z'],
]

const database = useDatabase()
const projectId = randomUUID()

beforeAll(() =>
  write(database.db, {
    projectId,
    contacts: NAMES.map((name) => {
      const { email, subscribed, data, createdAt, updatedAt } = CONTACTS[name]
      const times = { createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) }
      return { id: IDS[name], email, subscribed, data: JSON.stringify(data), ...times }
    }),
    events: EVENTS.map(([name, event, at, data = {}]) => ({ contactId: IDS[name], name: event, at: new Date(at), data })),
    members: [
      { segmentId: STATIC, contactId: IDS.ada },
      { segmentId: STATIC, contactId: IDS.dan },
    ],
  }),
)

const adults: ConditionTree = { logic: 'AND', groups: [{ filters: [{ field: 'data.age', operator: 'greaterThan', value: 18 }] }] }
const lookup: SegmentLookup = (id) =>
  id === STATIC ? { type: 'STATIC' } : id === DYNAMIC ? { type: 'DYNAMIC', condition: adults } : undefined

/** The names of the contacts that match, after a check that all readers agree. */
async function find(tree: unknown, { deletedFields = [] as string[] } = {}) {
  const expression = toExpression(readCondition(tree, 'condition'), lookup)
  const context = { projectId, now: NOW, deletedFields: new Set(deletedFields) }
  const answers = await readAll(database.db, [expression], context)
  const { found, expected } = compareAnswers(answers, 0)
  expect(found).toEqual(expected)
  return NAMES.filter((name) => answers.probed[0]!.includes(IDS[name])).join(' ')
}

const findFilter = (field: string, operator: string, value?: unknown, unit?: string) =>
  find({ logic: 'AND', groups: [{ filters: [{ field, operator, value, unit }] }] })

type Row = [field: string, operator: string, value: unknown, names: string, unit?: string]
const EVERYBODY = 'ada bob cleo dan'

describe('a filter matches', () => {
  test.each<Row>([
    ['email', 'equals', ' ADA@Example.com ', 'ada'],
    ['email', 'equals', 'ada', ''],
    ['email', 'notEquals', 'Ada@example.com', 'bob cleo dan'],
    ['email', 'contains', 'EXAMPLE', 'ada cleo dan'],
    ['email', 'contains', 'b_b', 'bob'],
    ['email', 'contains', 'a_a', ''],
    ['email', 'contains', '%', ''],
    ['email', 'notContains', 'example', 'bob'],
    ['subscribed', 'equals', true, 'ada cleo dan'],
    ['subscribed', 'equals', false, 'bob'],
    ['subscribed', 'notEquals', true, 'bob'],
    ['subscribed', 'notEquals', false, 'ada cleo dan'],
  ])('%s %s %j', async (field, operator, value, names) => {
    expect(await findFilter(field, operator, value)).toBe(names)
  })

  test.each<Row>([
    ['createdAt', 'equals', '2026-03-05', 'bob'],
    ['createdAt', 'equals', '2026-03-05T00:00:00Z', 'bob'],
    ['createdAt', 'equals', '2026-03-05T01:00:00+01:00', 'bob'],
    ['createdAt', 'equals', '2026-03-05T00:00:00.001Z', ''],
    ['createdAt', 'notEquals', '2026-03-05', 'ada cleo dan'],
    ['createdAt', 'greaterThan', '2026-03-05', 'cleo dan'],
    ['createdAt', 'greaterThan', '2026-03-04', 'bob cleo dan'],
    ['createdAt', 'greaterThanOrEqual', '2026-03-05', 'bob cleo dan'],
    ['createdAt', 'lessThan', '2026-03-05', 'ada'],
    ['createdAt', 'lessThan', '2026-03-05T00:00:00.001Z', 'ada bob'],
    ['createdAt', 'lessThanOrEqual', '2026-03-05', 'ada bob'],
    ['createdAt', 'within', 1, 'dan', 'minutes'],
    ['createdAt', 'within', 0.5, '', 'minutes'],
    ['createdAt', 'olderThan', 1, 'ada bob cleo', 'minutes'],
    ['createdAt', 'within', 7.5, 'bob cleo dan', 'days'],
    ['updatedAt', 'within', 24, 'ada cleo dan', 'hours'],
    ['updatedAt', 'olderThan', 1, 'bob', 'days'],
    ['updatedAt', 'within', 0, 'cleo dan', 'days'],
    ['updatedAt', 'olderThan', 0, 'ada bob', 'days'],
    ['updatedAt', 'equals', '2026-04-01', 'dan'],
  ])('%s %s %j', async (field, operator, value, names, unit) => {
    expect(await findFilter(field, operator, value, unit)).toBe(names)
  })

  test.each<Row>([
    ['data.plan', 'equals', 'pro', 'ada'],
    ['data.plan', 'notEquals', 'pro', 'bob'],
    ['data.age', 'equals', 36, 'ada'],
    ['data.age', 'equals', '36', 'bob'],
    ['data.age', 'notEquals', 36, 'bob cleo dan'],
    ['data.vip', 'equals', true, 'ada'],
    ['data.vip', 'equals', 'true', 'bob'],
    ['data.vip', 'notEquals', true, 'bob cleo'],
    ['data.city', 'contains', 'züR', 'ada bob'],
    ['data.city', 'notContains', 'Zür', 'cleo'],
    ['data.age', 'contains', '3', 'bob'],
    ['data.age', 'notContains', '3', 'ada cleo dan'],
    ['data.tags', 'contains', 'pro', ''],
    ['data.age', 'greaterThan', 36, 'cleo'],
    ['data.age', 'greaterThanOrEqual', 36, 'ada cleo'],
    ['data.age', 'lessThan', 36, 'dan'],
    ['data.age', 'lessThanOrEqual', 36, 'ada dan'],
    ['data.city', 'greaterThan', 0, ''],
    ['data.plan', 'exists', undefined, 'ada bob'],
    ['data.plan', 'notExists', undefined, 'cleo dan'],
    ['data.never', 'exists', undefined, ''],
    ['data.never', 'notExists', undefined, EVERYBODY],
    ['data.never', 'notEquals', 'x', ''],
    ['data.never', 'notContains', 'x', ''],
  ])('%s %s %j', async (field, operator, value, names, unit) => {
    expect(await findFilter(field, operator, value, unit)).toBe(names)
  })

  test.each<Row>([
    ['data.due', 'equals', '2026-03-05', 'ada bob'],
    ['data.due', 'equals', '2026-03-05T00:00:00Z', 'ada'],
    ['data.due', 'equals', '2026-03-11T12:00:00Z', 'cleo'],
    ['data.due', 'equals', '2026-02-30', 'dan'],
    ['data.due', 'notEquals', '2026-03-05', 'cleo dan'],
    ['data.due', 'greaterThan', '2026-03-05', 'cleo'],
    ['data.due', 'greaterThanOrEqual', '2026-03-05', 'ada bob cleo'],
    ['data.due', 'lessThan', '2026-03-05T12:00:00Z', 'ada'],
    ['data.due', 'lessThanOrEqual', '2026-03-05', 'ada bob'],
    ['data.due', 'within', 1, 'cleo', 'days'],
    ['data.due', 'within', 180, 'ada bob cleo', 'hours'],
    ['data.due', 'within', 179.9, 'bob cleo', 'hours'],
    ['data.due', 'olderThan', 1440, 'ada bob', 'minutes'],
    ['data.age', 'within', 1, '', 'days'],
    ['data.age', 'olderThan', 1, '', 'days'],
  ])('%s %s %j', async (field, operator, value, names, unit) => {
    expect(await findFilter(field, operator, value, unit)).toBe(names)
  })

  test.each<Row>([
    ['data.a.b', 'equals', 'key', 'ada'],
    ['data.a.b', 'equals', 'path', 'bob'],
    ['data.a.c', 'exists', undefined, 'ada'],
    ['data.a.c', 'notExists', undefined, 'bob cleo dan'],
    ['data.a.c', 'notEquals', 2, 'ada'],
    ['data.a', 'exists', undefined, 'ada bob cleo'],
    ['data.a', 'notEquals', 'text', 'ada bob'],
    ['data.list.0', 'exists', undefined, 'ada'],
    ['data.constructor', 'exists', undefined, ''],
    ['data.__proto__', 'exists', undefined, ''],
    ['data.a.toString', 'exists', undefined, ''],
  ])('%s %s %j', async (field, operator, value, names) => {
    expect(await findFilter(field, operator, value)).toBe(names)
  })

  test.each<Row>([
    ['event.purchase', 'triggered', undefined, 'ada bob'],
    ['purchase', 'triggered', undefined, 'ada bob'],
    ['sign up', 'triggered', undefined, 'cleo'],
    ['event.purchase', 'notTriggered', undefined, 'cleo dan'],
    ['event.purchase', 'triggeredWithin', 1, 'ada', 'days'],
    ['event.purchase', 'triggeredWithin', 24, 'ada', 'hours'],
    ['event.purchase', 'triggeredOlderThan', 1, 'bob', 'days'],
    ['event.purchase', 'notTriggeredWithin', 1440, 'bob cleo dan', 'minutes'],
    ['event.purchase', 'triggeredWithin', 36_500, 'ada bob', 'days'],
    ['event.never', 'notTriggered', undefined, EVERYBODY],
    ['email.sent', 'triggered', undefined, 'ada bob'],
    ['email.delivered', 'triggered', undefined, 'ada'],
    ['email.delivery', 'triggered', undefined, 'ada'],
    ['email.opened', 'triggered', undefined, 'ada'],
    ['email.open', 'triggered', undefined, 'ada'],
    ['event.email.open', 'triggered', undefined, 'ada bob'],
    ['email.opened', 'triggeredWithin', 1, '', 'days'],
    ['event.email.open', 'triggeredWithin', 1, 'ada bob', 'days'],
    ['email.opened', 'triggeredOlderThan', 1, 'ada', 'days'],
    ['email.opened', 'notTriggered', undefined, 'bob cleo dan'],
    ['email.clicked', 'triggered', undefined, 'cleo'],
    ['email.click', 'triggered', undefined, 'cleo'],
    ['email.bounced', 'triggered', undefined, 'bob'],
    ['email.bounce', 'notTriggeredWithin', 1, 'ada cleo dan', 'days'],
    ['email.complained', 'triggered', undefined, 'dan'],
    ['email.complaint', 'triggered', undefined, 'dan'],
  ])('%s %s %j', async (field, operator, value, names, unit) => {
    expect(await findFilter(field, operator, value, unit)).toBe(names)
  })

  test.each<Row>([
    [`segment.${STATIC}`, 'memberOfSegment', undefined, 'ada dan'],
    [`segment.${STATIC.toUpperCase()}`, 'notMemberOfSegment', undefined, 'bob cleo'],
    [`segment.${DYNAMIC}`, 'memberOfSegment', undefined, 'ada cleo'],
    [`segment.${DYNAMIC}`, 'notMemberOfSegment', undefined, 'bob dan'],
  ])('%s %s', async (field, operator, value, names) => {
    expect(await findFilter(field, operator, value)).toBe(names)
  })
})

describe('a tree', () => {
  const isSubscribed = { field: 'subscribed', operator: 'equals', value: true }
  const isAdult = { field: 'data.age', operator: 'greaterThan', value: 18 }
  const isPro = { field: 'data.plan', operator: 'contains', value: 'pro' }

  test('joins its groups by AND or by OR, and the filters of a group by AND', async () => {
    const groups = [{ filters: [isSubscribed, isAdult] }, { filters: [isPro] }]
    expect(await find({ logic: 'AND', groups })).toBe('ada')
    expect(await find({ logic: 'OR', groups })).toBe('ada bob cleo')
  })

  test('requires nested conditions besides the filters of their group', async () => {
    const conditions = { logic: 'OR', groups: [{ filters: [isPro] }, { filters: [isAdult] }] }
    expect(await find({ logic: 'OR', groups: [{ filters: [isSubscribed], conditions }] })).toBe('ada cleo')
    expect(await find({ logic: 'OR', groups: [{ filters: [], conditions }] })).toBe('ada bob cleo')
    expect(await find({ logic: 'OR', groups: [{ conditions }, { filters: [{ ...isSubscribed, value: false }] }] })).toBe('ada bob cleo')
  })

  test('asks for several events and periods at once', async () => {
    const filters = [
      { field: 'event.purchase', operator: 'triggered' },
      { field: 'event.purchase', operator: 'notTriggeredWithin', value: 1, unit: 'days' },
      { field: 'event.purchase', operator: 'triggeredWithin', value: 2, unit: 'days' },
      { field: 'email.sent', operator: 'triggered' },
      { field: `segment.${STATIC}`, operator: 'notMemberOfSegment' },
    ]
    expect(await find({ logic: 'AND', groups: [{ filters }] })).toBe('bob')
    const periods = [filters[2], filters[1]]
    expect(await find({ logic: 'AND', groups: [{ filters: periods }] })).toBe('bob')
    expect(await find({ logic: 'AND', groups: [{ filters: periods.toReversed() }] })).toBe('bob')
  })
})

test('a filter on a deleted field is false whatever its operator', async () => {
  const tree = (field: string, operator: string, value?: unknown) => ({ logic: 'AND', groups: [{ filters: [{ field, operator, value }] }] })
  const operators: [string, unknown?][] = [['exists'], ['notExists'], ['notEquals', 'x'], ['notContains', 'x'], ['greaterThan', 1]]
  for (const [operator, value] of operators) expect(await find(tree('data.age', operator, value), { deletedFields: ['age'] })).toBe('')
  expect(await find(tree('data.a.b', 'notExists'), { deletedFields: ['a'] })).toBe('')
  expect(await find(tree('data.a.b', 'exists'), { deletedFields: ['a.b'] })).toBe('')
  expect(await find(tree('data.a.b', 'exists'), { deletedFields: ['b', 'plan'] })).toBe('ada bob')
})
