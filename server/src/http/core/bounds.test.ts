import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { compileBounds, refusedPlainly } from './bounds.ts'

const boundsOf = (schema: z.ZodType) => {
  const check = compileBounds(schema)
  return (body: unknown, isSuspect = false) => check(body, { isSuspect })?.extra.errors?.map(({ field, code }) => [field, code])
}

describe('a body whose schema is not bounded is refused at boot:', () => {
  type Tree = { children?: Tree[] | undefined }
  const Tree: z.ZodType<Tree> = z.object({ children: z.lazy(() => z.array(Tree)).optional() })

  test.each<[string, z.ZodType, string]>([
    ['an array', z.object({ ids: z.array(z.string()) }), 'body.ids is an array without .max()'],
    ['an optional array', z.object({ ids: z.array(z.string()).nullish() }), 'body.ids is an array without .max()'],
    ['an array in an array', z.object({ a: z.array(z.object({ b: z.array(z.int()) })).max(5) }), 'body.a.[].b is an array without .max()'],
    ['an array before a transform', z.object({ a: z.array(z.int()).transform(String) }), 'body.a is an array without .max()'],
    ['an array in a union', z.object({ a: z.union([z.string(), z.array(z.string())]) }), 'body.a is an array without .max()'],
    ['an array in a record', z.record(z.string(), z.array(z.int())).meta({ maxProperties: 1 }), 'body.* is an array without .max()'],
    ['a recursive array', Tree, 'body.children is an array without .max()'],
    ['a record', z.object({ h: z.record(z.string(), z.string()) }), 'body.h is a record without .meta({ maxProperties })'],
    ['an open object', z.object({ h: z.looseObject({}) }), 'body.h is a record without .meta({ maxProperties })'],
    ['a kind without a bound', z.object({ a: z.tuple([z.int()]) }), 'body.a: a body cannot contain a tuple yet'],
  ])('%s', (_, schema, message) => {
    expect(() => compileBounds(schema)).toThrow(message)
  })
})

test('lengths and key counts are refused by field, before any element is read', () => {
  let read = 0
  const Item = z.string().refine(() => ++read > 0)
  const check = boundsOf(
    z.object({
      list: z.array(Item).max(3).optional(),
      map: z.record(z.string(), Item).meta({ maxProperties: 2 }).optional(),
      deep: z.object({ lists: z.array(z.array(Item).max(1)).max(2) }).optional(),
      either: z.union([Item, z.array(Item).max(2)]).optional(),
    }),
  )
  expect(check({ list: [1, 2, 3], map: { a: 1, b: 2 }, deep: { lists: [['x'], []] }, either: ['a', 'b'] })).toBeUndefined()
  expect(check({ list: [1, 2, 3, 4] })).toEqual([['list', 'too_big']])
  expect(check({ map: { a: 1, b: 2, c: 3 } })).toEqual([['map', 'too_big']])
  expect(check({ deep: { lists: [[], ['x', 'y']] } })).toEqual([['deep.lists.1', 'too_big']])
  expect(check({ either: ['a', 'b', 'c'] })).toEqual([['either', 'too_big']])
  expect(check({ either: { a: 1 }, list: 'abcd', map: [1, 2, 3] })).toBeUndefined()
  expect(read).toBe(0)
})

test('a recursive schema is bounded at every level', () => {
  type Tree = { children?: Tree[] | undefined }
  const Tree: z.ZodType<Tree> = z.object({ children: z.lazy(() => z.array(Tree).max(2)).optional() })
  const leaf = {}
  const check = boundsOf(Tree)
  expect(check({ children: [{ children: [leaf, leaf] }, leaf] })).toBeUndefined()
  expect(check({ children: [leaf, { children: [leaf, leaf, leaf] }] })).toEqual([['children.1.children', 'too_big']])
})

test('at most 50 issues are reported', () => {
  const check = boundsOf(z.object({ lists: z.array(z.array(z.int()).max(0)).max(1_000) }))
  expect(check({ lists: Array(1_000).fill([1]) })).toHaveLength(50)
})

test('a list that is refused plainly has the message and nothing else', () => {
  const check = compileBounds(z.object({ ids: refusedPlainly(z.array(z.string()).max(2), 'Give 1 to 2 ids.').optional() }))
  expect(check({ ids: ['a', 'b'] }, { isSuspect: false })).toBeUndefined()
  expect(check({ ids: ['a', 'b', 'c'] }, { isSuspect: false })).toMatchObject({ message: 'Give 1 to 2 ids.', statusCode: 400, plain: true })
})

test('values that cannot be stored are refused in known fields only', () => {
  const check = boundsOf(z.object({ name: z.string(), data: z.unknown(), items: z.array(z.object({ id: z.int() })).max(5) }))
  const bad = { text: 'a\0b' }
  expect(check({ name: 'a', unknown: bad, items: [{ id: 1, unknown: bad }], other: 1e300 }, true)).toBeUndefined()
  expect(check({ name: 'a\0', data: { deep: [bad] }, items: [{ id: 1e300 }] }, true)).toEqual([
    ['name', 'invalid_string'],
    ['data.deep.0.text', 'invalid_string'],
    ['items.0.id', 'too_big'],
  ])
})
