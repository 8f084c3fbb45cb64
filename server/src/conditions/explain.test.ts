import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { Explanation, explainExpression } from './explain.ts'
import { type SegmentLookup, toExpression } from './expression.ts'
import { type ContactFacts, evaluationOf } from './match.ts'
import { type ConditionTree, readCondition } from './schema.ts'

const [STATIC, DYNAMIC] = [randomUUID(), randomUUID()]
const now = new Date('2026-03-12T12:00:00Z')
const ada: ContactFacts = {
  contact: {
    id: randomUUID(),
    email: 'ada@example.com',
    subscribed: true,
    data: { plan: 'pro', note: 'x'.repeat(2_000), address: { city: 'Bern' } },
    createdAt: new Date('2026-01-01T00:00:00Z'),
    updatedAt: new Date('2026-03-11T00:00:00Z'),
  },
  lastEvent: ({ name }) => (name === 'purchase' ? new Date('2026-03-01T00:00:00Z') : undefined),
  isMember: (id) => id === STATIC,
}

const isFree: ConditionTree = { logic: 'AND', groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'free' }] }] }
const lookup: SegmentLookup = (id) => (id === STATIC ? { type: 'STATIC' } : { type: 'DYNAMIC', condition: isFree })

const explain = (tree: unknown, deletedFields: string[] = []) =>
  explainExpression(
    toExpression(readCondition(tree, 'condition'), lookup),
    evaluationOf(ada, { now, deletedFields: new Set(deletedFields) }),
    async () => {},
  )

test('an explanation has the shape of the tree, with the answer of every part and the values of the contact', async () => {
  const plan = { field: 'data.plan', operator: 'equals', value: 'free' }
  const purchase = { field: 'event.purchase', operator: 'triggeredWithin', value: 30, unit: 'days' }
  const login = { field: 'event.login', operator: 'triggered' }
  const city = { field: 'data.address.city', operator: 'contains', value: 'BER' }
  const explanation = await explain({
    logic: 'OR',
    groups: [{ filters: [plan, purchase] }, { filters: [login], conditions: { logic: 'AND', groups: [{ filters: [city] }] } }],
  })
  expect(explanation).toEqual({
    logic: 'OR',
    matches: false,
    groups: [
      {
        matches: false,
        filters: [
          { ...plan, matches: false, actual: 'pro' },
          { ...purchase, matches: true, actual: '2026-03-01T00:00:00.000Z' },
        ],
      },
      {
        matches: false,
        filters: [{ ...login, matches: false, actual: null }],
        conditions: { logic: 'AND', matches: true, groups: [{ matches: true, filters: [{ ...city, matches: true, actual: 'Bern' }] }] },
      },
    ],
  })
  expect(Explanation.parse(explanation)).toEqual(explanation)
})

test.each([
  [{ field: 'email', operator: 'contains', value: 'ada' }, true, 'ada@example.com'],
  [{ field: 'subscribed', operator: 'equals', value: false }, false, true],
  [{ field: 'updatedAt', operator: 'within', value: 2, unit: 'days' }, true, '2026-03-11T00:00:00.000Z'],
  [{ field: 'data.address', operator: 'exists' }, true, { city: 'Bern' }],
  [{ field: 'data.never', operator: 'notExists' }, true, null],
  [{ field: 'data.note', operator: 'exists' }, true, `${'x'.repeat(500)}…`],
  [{ field: `segment.${STATIC}`, operator: 'notMemberOfSegment' }, false, true],
])('%j is explained', async (filter, matches, actual) => {
  const { groups } = await explain({ logic: 'AND', groups: [{ filters: [filter] }] })
  expect(groups[0]!.filters).toEqual([{ ...filter, matches, actual }])
})

test('a dynamic segment is explained in place', async () => {
  const filter = { field: `segment.${DYNAMIC}`, operator: 'notMemberOfSegment' }
  const [explained] = (await explain({ logic: 'AND', groups: [{ filters: [filter] }] })).groups[0]!.filters
  const inner = { ...isFree.groups[0]!.filters[0]!, matches: false, actual: 'pro' }
  const segment = { logic: 'AND', matches: false, groups: [{ matches: false, filters: [inner] }] }
  expect(explained).toEqual({ ...filter, matches: true, actual: false, segment })
})

test('a filter on a deleted field says so', async () => {
  const filter = { field: 'data.address.city', operator: 'notExists' }
  const { groups } = await explain({ logic: 'AND', groups: [{ filters: [filter] }] }, ['address'])
  expect(groups[0]!.filters[0]).toMatchObject({ matches: false, fieldDeleted: true })
})
