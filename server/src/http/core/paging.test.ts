import fc from 'fast-check'
import { expect, test } from 'vitest'
import { deriveSecrets } from '../../lib/secrets.ts'
import { readCursor, writeCursor } from './paging.ts'

const secrets = deriveSecrets('a secret key for tests only, 32+ characters')
const position = fc.array(fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)), { maxLength: 4 })

test('a cursor contains the position it was written with', () => {
  fc.assert(
    fc.property(fc.string(), position, (scope, at) => {
      expect(readCursor(secrets, scope, writeCursor(secrets, scope, at))).toEqual(JSON.parse(JSON.stringify(at)))
    }),
  )
})

test('a cursor with any bit flipped, or of another scope, is refused', () => {
  fc.assert(
    fc.property(position, fc.nat(), fc.integer({ min: 0, max: 7 }), (at, where, bit) => {
      const bytes = Buffer.from(writeCursor(secrets, 'ours', at), 'base64url')
      expect(() => readCursor(secrets, 'theirs', bytes.toString('base64url'))).toThrow('not valid')
      bytes[where % bytes.length]! ^= 1 << bit
      expect(() => readCursor(secrets, 'ours', bytes.toString('base64url'))).toThrow('not valid')
    }),
  )
})
