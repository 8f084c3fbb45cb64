import { expect, test } from 'vitest'
import { createSourceCache } from '../../src/templates/language/source-cache.ts'

test('the source cache keeps recently used entries, up to a number and a size', () => {
  const recent = createSourceCache<number>({ entries: 3, bytes: 10 })
  for (const key of ['a', 'b', 'c']) recent.set(key, 1, 1)
  expect(recent.get('a')).toBe(1)
  recent.set('d', 1, 1)
  expect([recent.get('b'), recent.get('a'), recent.size]).toEqual([undefined, 1, 3])
  recent.set('e', 1, 9)
  expect(recent.size).toBe(2)
  recent.set('f', 1, 11)
  expect(recent.size).toBe(0)
})

test('the source cache returns no entry of a similar text', () => {
  const recent = createSourceCache<string>({ entries: 10, bytes: 10_000 })
  const [first, second] = ['x', 'y'].map((odd) => `${'a'.repeat(100)}${odd}${'a'.repeat(400)}`) as [string, string]
  recent.set(first, 'first', 1)
  expect([recent.get(first), recent.get(second), recent.get(`${first}a`)]).toEqual(['first', undefined, undefined])
  recent.set(second, 'second', 1)
  expect([recent.get(first), recent.get(second), recent.size]).toEqual([undefined, 'second', 1])
})
