import { expect, test } from 'vitest'
import { createCache } from './cache.ts'

const keysIn = (cache: { has(key: string): boolean }) => [...'abcd'].filter((key) => cache.has(key)).join('')

test('the entry written longest ago is dropped first', () => {
  const cache = createCache<string, number>({ maxEntries: 2 })
  cache.set('a', 1)
  cache.set('b', 2)
  cache.set('a', 3)
  cache.set('c', 4)
  expect([keysIn(cache), cache.get('a'), cache.size]).toEqual(['ac', 3, 2])
})

test('touching an entry keeps it, reading it does not', () => {
  const cache = createCache<string, number>({ maxEntries: 2 })
  cache.set('a', 1)
  cache.set('b', 2)
  expect(cache.touch('a')).toBe(1)
  expect(cache.get('b')).toBe(2)
  cache.set('c', 3)
  expect(keysIn(cache)).toBe('ac')
  expect(cache.touch('d')).toBeUndefined()
})

test('entries are dropped until the weight of the rest is within its limit', () => {
  const cache = createCache<string, number>({ maxWeight: 10 })
  cache.set('a', 1, 4)
  cache.set('b', 2, 4)
  cache.set('a', 1, 2)
  cache.set('c', 3, 4)
  expect(keysIn(cache)).toBe('abc')
  cache.set('d', 4, 8)
  expect(keysIn(cache)).toBe('d')
  cache.set('a', 1, 11)
  expect([keysIn(cache), cache.size]).toEqual(['', 0])
  cache.set('b', 2, 10)
  cache.delete('b')
  cache.set('c', 3, 10)
  expect(keysIn(cache)).toBe('c')
})
