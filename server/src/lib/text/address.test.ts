import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readAddress, showsOtherAddress, withoutOtherAddresses } from './address.ts'

const text = fc.oneof(
  fc.emailAddress(),
  fc.string(),
  fc.string({ unit: 'grapheme' }).map((local) => `${local}@example.com`),
)

test('reading an address is idempotent', () => {
  fc.assert(
    fc.property(text, (given) => {
      const read = readAddress(given)
      if (read !== null) expect(readAddress(read)).toBe(read)
    }),
  )
})

test('a valid address never contains a character that could start another header, address or command', () => {
  fc.assert(
    fc.property(text, (given) => {
      const read = readAddress(given)
      if (read !== null) expect(read).toMatch(/^[^\s<>,;:"()[\]\\\p{C}]+@[a-z0-9.-]+$/u)
    }),
  )
})

test.each([
  ['Ada', 'Ada', false],
  ['Ada @ home', 'Ada @ home', false],
  ['ada@example.com', 'ada@example.com', false],
  ['Ada (ADA@example.com)', 'Ada (ADA@example.com)', false],
  ['ceo@bank.com', '', true],
  ['The Boss <ceo@bank.com>', 'The Boss', true],
  ['ada@example.com for ceo@bank.com', 'for', true],
  ['ceo＠bank．com', '', true],
])('the display name %j of ada@example.com leaves as %j', (name, expected, shows) => {
  expect(showsOtherAddress(name, 'ada@example.com')).toBe(shows)
  expect(withoutOtherAddresses(name, 'ada@example.com')).toBe(expected)
})

test('withoutOtherAddresses leaves no other address in a display name', () => {
  const piece = fc.constantFrom('a', '@', '.', ' ', '<', '>', '"', '＠', 'b.c', '@d.e', 'x@y.z')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      expect(showsOtherAddress(withoutOtherAddresses(pieces.join(''), 'a@b.c'), 'a@b.c')).toBe(false)
    }),
  )
})
