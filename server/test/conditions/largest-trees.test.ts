import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { type ReferencedSegment, toExpression } from '../../src/conditions/expression.ts'
import { type ConditionFilter, type ConditionTree, readCondition } from '../../src/conditions/schema.ts'
import { compareAnswers, readAll, useDatabase, write } from './readers.ts'

const database = useDatabase()
const projectId = randomUUID()
const contactId = randomUUID()
const context = { projectId, now: new Date('2026-03-12T12:00:00Z'), deletedFields: new Set<string>() }

beforeAll(() => {
  const at = new Date('2026-03-01T00:00:00Z')
  const contact = { id: contactId, email: 'ada@example.com', subscribed: true, data: '{"plan":"pro"}', createdAt: at, updatedAt: at }
  return write(database.db, {
    projectId,
    contacts: [contact],
    events: [{ contactId, name: 'event 7', at, data: {} }],
    members: [],
  })
})

/** Checks that all readers agree, and returns whether the contact matches. */
async function matches(tree: ConditionTree, segments: Record<string, ReferencedSegment> = {}) {
  const expression = toExpression(readCondition(tree, 'condition'), (id) => segments[id])
  const answers = await readAll(database.db, [expression], context)
  const { found, expected } = compareAnswers(answers, 0)
  expect(found).toEqual(expected)
  return answers.probed[0]!.length === 1
}

test('a hundred filters with the longest paths and texts', async () => {
  const steps = Array(32).fill('ab').join('.')
  const texts = Array.from({ length: 100 }, (_, n) => ({ field: `data.${steps}`, operator: 'contains', value: `${n}`.padEnd(200, 'äöüß') }))
  expect(await matches({ logic: 'OR', groups: texts.map((filter) => ({ filters: [filter as ConditionFilter] })) })).toBe(false)
})

test('a hundred different events', async () => {
  const filters = Array.from(
    { length: 100 },
    (_, n): ConditionFilter => ({ field: `event.event ${n}`, operator: 'triggeredWithin', value: n + 12, unit: 'days' }),
  )
  expect(await matches({ logic: 'OR', groups: filters.map((filter) => ({ filters: [filter] })) })).toBe(true)
  expect(await matches({ logic: 'AND', groups: filters.map((filter) => ({ filters: [filter] })) })).toBe(false)
})

test('five hundred filters in segments that refer to segments', async () => {
  const ids = Array.from({ length: 10 }, () => randomUUID())
  const plan: ConditionFilter = { field: 'data.plan', operator: 'equals', value: 'pro' }
  /** Nested ten levels deep, with the reference at the bottom. */
  const treeWith = (last: ConditionFilter): ConditionTree => {
    let tree: ConditionTree = { logic: 'AND', groups: [{ filters: [...Array(39).fill(plan), last] }] }
    for (let level = 1; level < 10; level++) tree = { logic: 'AND', groups: [{ filters: [plan], conditions: tree }] }
    return tree
  }
  const memberOf = (id: string): ConditionFilter => ({ field: `segment.${id}`, operator: 'memberOfSegment' })
  const segments = Object.fromEntries(
    ids.map((id, n): [string, ReferencedSegment] => [
      id,
      { type: 'DYNAMIC', condition: treeWith(ids[n + 1] ? memberOf(ids[n + 1]!) : plan) },
    ]),
  )
  expect(await matches({ logic: 'AND', groups: [{ filters: [plan, memberOf(ids[0]!)] }] }, segments)).toBe(true)
})
