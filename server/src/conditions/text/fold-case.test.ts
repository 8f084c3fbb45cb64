import fc from 'fast-check'
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

const withoutCase = String.fromCodePoint(0xd83d, 0xde00, 0x6f22, 0xdf)
const letters = [...`abÄäÉéſΣσςİıẞßK${String.fromCodePoint(0x10400, 0x10428, 0x1e900, 0x1e922)}${withoutCase}`, '\ud801', '\udc00']

test('a text is folded like its code points one by one', () => {
  const text = fc.array(fc.constantFrom(...letters), { maxLength: 40 })
  fc.assert(
    fc.property(text, (parts) => {
      const given = parts.join('')
      expect(foldCase(given)).toBe([...given].map(foldCase).join(''))
    }),
  )
})

test('no code point behind the tables has a case', () => {
  expect(pointsBetween(0x1f000, 0x110000).join('')).not.toMatch(/\p{Changes_When_Casemapped}/u)
})
