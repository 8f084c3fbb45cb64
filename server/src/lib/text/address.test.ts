import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addressesIn, readAddress, senderNameProblem, withoutOtherAddresses } from './address.ts'

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
  ['ceo@bank。com', '', true],
  ['ceo@bank｡com', '', true],
  ['ceo @ bank.com', '', true],
  ['ceo\u00a0@\u00a0bank.com for you', 'for you', true],
  [`${'a '.repeat(300)}ceo@bank.com`, 'a '.repeat(300).trim(), true],
  ['ada @ example.com', 'ada @ example.com', false],
  ['Ada @ Work', 'Ada @ Work', false],
  ['Open @ 10.30', 'Open @ 10.30', false],
  ['Ada @ St. Mary', 'Ada @ St. Mary', false],
])('the display name %j of ada@example.com leaves as %j', (name, expected, shows) => {
  expect(senderNameProblem(name, 'ada@example.com')).toBe(shows ? 'address' : undefined)
  expect(withoutOtherAddresses(name, 'ada@example.com')).toBe(expected)
})

test('withoutOtherAddresses leaves no other address in a display name', () => {
  const piece = fc.constantFrom('a', '@', '.', ' ', '<', '>', '"', '＠', 'b.c', '@d.e', 'x@y.z')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      expect(senderNameProblem(withoutOtherAddresses(pieces.join(''), 'a@b.c'), 'a@b.c')).toBeUndefined()
    }),
  )
})

test.each(['\u202e', '\u2066', '\u200f', '\u061c'])(
  'a display name with the control character %j is refused, and leaves without it',
  (character) => {
    const name = `${character}moc.knab@oec`
    expect(senderNameProblem(name, 'ada@example.com')).toBe('direction')
    expect(senderNameProblem(withoutOtherAddresses(name, 'ada@example.com'), 'ada@example.com')).toBeUndefined()
  },
)

test.each(['@', 'a@', ' @ ', 'a @ b.', '@.', '. @'])('names of %j are searched in steps by their length', (piece) => {
  const text = piece.repeat(10_000)
  const steps = { count: 0 }
  addressesIn(text, steps)
  expect(steps.count).toBeLessThan(4 * text.length)
})
