import { expect, test } from 'vitest'
import { foldCase } from './fold-case.ts'

test.each([
  ['Zürich', 'ZÜRICH', true],
  ['ΟΔΟΣ', 'οδος', true],
  ['οδοσ', 'οδος', true],
  ['K', 'k', true],
  ['ſ', 'S', true],
  ['STRAẞE', 'straße', true],
  ['STRASSE', 'straße', false],
  ['𐐀', '𐐨', true],
  ['é', 'e', false],
  ['é', 'e\u0301', false],
])('%s and %s are the same but for their case: %s', (one, other, same) => {
  expect(foldCase(one) === foldCase(other)).toBe(same)
})

const pointsBetween = (start: number, end: number) =>
  Array.from({ length: end - start }, (_, index) => start + index)
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code))

test('folding twice is folding once', () => {
  const folded = pointsBetween(0, 0x1f000).map(foldCase)
  expect(folded.filter((point) => foldCase(point) !== point)).toEqual([])
})

test('no code point behind the tables has a case', () => {
  expect(pointsBetween(0x1f000, 0x110000).join('')).not.toMatch(/\p{Changes_When_Casemapped}/u)
})
