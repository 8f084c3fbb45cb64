import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type SegmentLookup, toExpression } from '../../src/conditions/expression.ts'
import { type ContactFacts, evaluationOf, matchesExpression, nextChangeAt } from '../../src/conditions/match.ts'
import { type ConditionTree, readCondition } from '../../src/conditions/schema.ts'
import { someKeys, someNow, treeAt, worldAt } from './arbitraries.ts'
import { compareAnswers, readAll, useDatabase, write } from './readers.ts'
import { checkSearches } from './searches.ts'

const database = useDatabase()

const STATIC: string[] = [randomUUID(), randomUUID()]
const DYNAMIC = randomUUID()
const TREES_PER_WORLD = 30

const lookupOf =
  (condition: ConditionTree): SegmentLookup =>
  (id) =>
    STATIC.includes(id) ? { type: 'STATIC' } : id === DYNAMIC ? { type: 'DYNAMIC', condition } : undefined

/** A contact, its events and memberships, trees, and a time. */
const situation = someNow.chain((now) => {
  const trees = (segmentIds: string[]) => treeAt({ now, segmentIds })
  return fc.record({
    now: fc.constant(now),
    world: worldAt(now, STATIC),
    other: worldAt(now, STATIC),
    dynamic: trees(STATIC),
    trees: fc.array(trees([...STATIC, DYNAMIC]), { minLength: TREES_PER_WORLD, maxLength: TREES_PER_WORLD }),
    deletedFields: someKeys.map((keys) => new Set(keys)),
  })
})

test('all readers find the same contacts of the project, and no tree makes a statement fail', async () => {
  await fc.assert(
    fc.asyncProperty(situation, async ({ now, world, other, dynamic, trees, deletedFields }) => {
      const [projectId, otherProjectId] = [randomUUID(), randomUUID()]
      await write(database.db, { projectId, ...world })
      // The same ids: rows of the other project would be taken for those of this one.
      const ids = world.contacts.map(({ id }) => id)
      await write(database.db, { projectId: otherProjectId, ...withIds(other, ids) })

      const expressions = trees.map((tree) => toExpression(readCondition(tree, 'condition'), lookupOf(dynamic)))
      const context = { projectId, now: new Date(now), deletedFields }
      const answers = await readAll(database.db, expressions, context)
      for (const [index, tree] of trees.entries()) {
        const { found, expected } = compareAnswers(answers, index)
        expect(found, JSON.stringify({ tree, now: new Date(now), world })).toEqual(expected)
      }
    }),
    { numRuns: 10, endOnFailure: true },
  )
})

test('all readers find the same texts, of any script and length', () => checkSearches(database.db))

function withIds<World extends { contacts: { id: string }[]; events: { contactId: string }[]; members: { contactId: string }[] }>(
  { contacts, events, members }: World,
  ids: string[],
) {
  const idOf = new Map(contacts.map(({ id }, index) => [id, ids[index] ?? id]))
  const move = <Row extends { contactId: string }>(row: Row) => ({ ...row, contactId: idOf.get(row.contactId)! })
  return {
    contacts: contacts.map((row) => ({ ...row, id: idOf.get(row.id)! })),
    events: events.map(move),
    members: members.map(move),
  } as World
}

const factsOf = (world: {
  contacts: { data: string; email: string; id: string; subscribed: boolean; createdAt: Date; updatedAt: Date }[]
}) =>
  world.contacts.map(
    (contact): ContactFacts => ({
      contact: { ...contact, data: JSON.parse(contact.data) },
      lastEvent: () => undefined,
      isMember: () => false,
    }),
  )

test('until the next change that is foretold, time alone does not change the answer', () => {
  const aging = someNow.chain((now) =>
    fc.record({
      now: fc.constant(now),
      world: worldAt(now, []),
      trees: fc.array(treeAt({ now, segmentIds: STATIC, timelessEvents: true }), { minLength: 20, maxLength: 20 }),
      deletedFields: someKeys.map((keys) => new Set(keys)),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  )
  const HORIZON = 200 * 365 * 86_400_000
  fc.assert(
    fc.property(aging, ({ now, world, trees, deletedFields, share }) => {
      const expressions = trees.map((tree) => toExpression(readCondition(tree, 'condition'), lookupOf(tree)))
      for (const [facts, expression] of factsOf(world).flatMap((facts) => expressions.map((expression) => [facts, expression] as const))) {
        const answerAt = (time: number) => matchesExpression(expression, evaluationOf(facts, { now: new Date(time), deletedFields }))
        const next = nextChangeAt(expression, evaluationOf(facts, { now: new Date(now), deletedFields }))?.getTime() ?? now + HORIZON
        const times = [now, next - 1, now + Math.floor((next - 1 - now) * share)]
        // One assertion for all: thousands of calls of `expect` take seconds.
        if (next <= now || new Set(times.map(answerAt)).size > 1) expect.fail(JSON.stringify({ next, now, facts, expression }))
      }
    }),
    { numRuns: 20 },
  )
})

test('a period of a single filter ends exactly at the next change', () => {
  const now = new Date('2026-03-12T12:00:00Z')
  const facts = factsOf({
    contacts: [
      {
        id: '',
        email: 'ada@example.com',
        subscribed: true,
        data: JSON.stringify({ due: '2026-03-10T00:00:00.123456Z' }),
        createdAt: new Date('2026-03-11T12:00:00Z'),
        updatedAt: new Date('2026-03-11T12:00:00Z'),
      },
    ],
  })[0]!
  const deletedFields = new Set<string>()
  for (const [field, value, expected] of [
    ['data.due', 3, '2026-03-13T00:00:00.124Z'],
    ['data.due', 2, undefined],
    ['createdAt', 1, '2026-03-12T12:00:00.001Z'],
    ['updatedAt', 1.5, '2026-03-13T00:00:00.001Z'],
    ['updatedAt', 0.5, undefined],
  ] as const) {
    for (const operator of ['within', 'olderThan']) {
      const tree = { logic: 'AND', groups: [{ filters: [{ field, operator, value, unit: 'days' }] }] }
      const expression = toExpression(readCondition(tree, 'condition'), () => undefined)
      const next = nextChangeAt(expression, evaluationOf(facts, { now, deletedFields }))
      expect(next?.toISOString()).toBe(expected)
      if (!next) continue
      const answerAt = (time: number) => matchesExpression(expression, evaluationOf(facts, { now: new Date(time), deletedFields }))
      expect(answerAt(next.getTime())).toBe(!answerAt(next.getTime() - 1))
    }
  }
})
