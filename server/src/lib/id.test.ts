import { expect, test } from 'vitest'
import { idTime, isId, newId } from './id.ts'

test('a hundred thousand ids are unique, increasing UUIDs of version 7', () => {
  const ids = Array.from({ length: 100_000 }, () => newId())
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toEqual([...ids].sort())
  expect(ids.every((id) => isId(id) && /^.{14}7.{4}[89ab]/.test(id))).toBe(true)
})

test('an id starts with its time, and a clock that steps back keeps the order', () => {
  const at = Date.UTC(2040, 0, 1)
  const first = newId(at)
  expect(idTime(first).getTime()).toBe(at)
  expect(newId(at - 60_000) > first).toBe(true)
})

test('a clock that is set back by more than a minute is followed', () => {
  const at = Date.UTC(2041, 0, 1)
  newId(at)
  expect(idTime(newId(at - 60_001)).getTime()).toBe(at - 60_001)
  expect(Math.abs(idTime(newId()).getTime() - Date.now())).toBeLessThan(60_000)
})
