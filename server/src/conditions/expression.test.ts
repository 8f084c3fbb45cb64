import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { AppError } from '../lib/errors/errors.ts'
import { type ReferencedSegment, type SegmentLookup, toExpression } from './expression.ts'
import type { ConditionFilter, ConditionTree } from './schema.ts'

const plan: ConditionFilter = { field: 'data.plan', operator: 'equals', value: 'pro' }
const memberOf = (id: string): ConditionFilter => ({ field: `segment.${id}`, operator: 'memberOfSegment' })
const treeOf = (...filters: ConditionFilter[]): ConditionTree => ({ logic: 'AND', groups: [{ filters }] })
const dynamic = (...filters: ConditionFilter[]): ReferencedSegment => ({ type: 'DYNAMIC', condition: treeOf(...filters) })
const lookupIn =
  (segments: Record<string, ReferencedSegment>): SegmentLookup =>
  (id) =>
    segments[id]

const [A, B, C] = [randomUUID(), randomUUID(), randomUUID()]

function refusalsOf(tree: ConditionTree, lookup: SegmentLookup, options: { path?: string; segmentId?: string } = {}) {
  try {
    toExpression(tree, lookup, options)
    return []
  } catch (err) {
    const { statusCode, extra } = err as AppError
    expect(statusCode).toBe(422)
    return extra.errors!.map(({ field, code }) => `${field} ${code}`)
  }
}

describe('a reference to a segment', () => {
  test('is refused when there is no such segment', () => {
    expect(refusalsOf(treeOf(plan, memberOf(A)), lookupIn({}))).toEqual(['condition.groups.0.filters.1.field custom'])
    expect(refusalsOf(treeOf(memberOf(A)), lookupIn({}), { path: 'audienceCondition' })).toEqual([
      'audienceCondition.groups.0.filters.0.field custom',
    ])
  })

  test('is refused when it leads back to the segment, however far', () => {
    const segments = { [A]: dynamic(memberOf(B)), [B]: dynamic(plan, memberOf(C)), [C]: dynamic(memberOf(A)) }
    expect(refusalsOf(treeOf(memberOf(A)), lookupIn(segments))).toEqual(['condition.groups.0.filters.0.field custom'])
    expect(refusalsOf(treeOf(plan, memberOf(A)), lookupIn({ [A]: dynamic(plan) }), { segmentId: A })).toEqual([
      'condition.groups.0.filters.1.field custom',
    ])
  })

  test('may occur twice', () => {
    const segments = { [A]: dynamic(memberOf(C)), [B]: dynamic(memberOf(C)), [C]: dynamic(plan) }
    expect(refusalsOf(treeOf(memberOf(A), memberOf(B), memberOf(A)), lookupIn(segments))).toEqual([])
  })

  test('is replaced by the condition of a dynamic segment, and kept for a static one', () => {
    const { nodes } = toExpression(treeOf(memberOf(A), memberOf(B)), lookupIn({ [A]: dynamic(plan), [B]: { type: 'STATIC' } })) as {
      nodes: { nodes: { path: string; inlined?: unknown }[] }[]
    }
    const [first, second] = nodes[0]!.nodes
    expect([first!.path, second!.path]).toEqual(['groups.0.filters.0', 'groups.0.filters.1'])
    expect(first!.inlined).toMatchObject({ type: 'and', nodes: [{ type: 'and', nodes: [{ path: 'groups.0.filters.0', filter: plan }] }] })
    expect(second!.inlined).toBeUndefined()
  })
})

test('at most 500 filters are in-lined, however they multiply', () => {
  const chain = (...sizes: number[]) => {
    const ids = sizes.map(() => randomUUID())
    const segments = sizes.map((size, index) => [
      ids[index]!,
      dynamic(...Array(size - 1).fill(plan), ids[index + 1] ? memberOf(ids[index + 1]!) : plan),
    ])
    return { first: ids[0]!, segments: Object.fromEntries(segments) as Record<string, ReferencedSegment> }
  }
  const fits = chain(100, 100, 100, 100, 99)
  expect(refusalsOf(treeOf(memberOf(fits.first)), lookupIn(fits.segments))).toEqual([])
  const exceeds = chain(100, 100, 100, 100, 100)
  expect(refusalsOf(treeOf(memberOf(exceeds.first)), lookupIn(exceeds.segments))).toEqual(['condition too_big'])
  // Each level doubles the number: without a limit it would be 2^50.
  const ids = Array.from({ length: 50 }, () => randomUUID())
  const doubling = Object.fromEntries(
    ids.map((id, n) => [id, ids[n + 1] ? dynamic(memberOf(ids[n + 1]!), memberOf(ids[n + 1]!)) : dynamic(plan)]),
  )
  expect(refusalsOf(treeOf(memberOf(ids[0]!)), lookupIn(doubling))).toHaveLength(1)
})

test('segments refer to segments at most 10 levels deep', () => {
  const ids = Array.from({ length: 11 }, () => randomUUID())
  const segments = Object.fromEntries(ids.map((id, n) => [id, dynamic(ids[n + 1] ? memberOf(ids[n + 1]!) : plan)]))
  expect(refusalsOf(treeOf(memberOf(ids[1]!)), lookupIn(segments))).toEqual([])
  expect(refusalsOf(treeOf(memberOf(ids[0]!)), lookupIn(segments))).toEqual(['condition.groups.0.filters.0.field too_big'])
})
