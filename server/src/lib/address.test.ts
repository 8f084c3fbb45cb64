import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readAddress } from './address.ts'

const text = fc.oneof(
  fc.emailAddress(),
  fc.string(),
  fc.string({ unit: 'grapheme' }).map((local) => `${local}@example.com`),
)

test('reading an address twice changes nothing more', () => {
  fc.assert(
    fc.property(text, (given) => {
      const read = readAddress(given)
      if (read !== null) expect(readAddress(read)).toBe(read)
    }),
  )
})

test('what is read never holds a character that could start another header, address or command', () => {
  fc.assert(
    fc.property(text, (given) => {
      const read = readAddress(given)
      if (read !== null) expect(read).toMatch(/^[^\s<>,;:"()[\]\\\p{C}]+@[a-z0-9.-]+$/u)
    }),
  )
})
