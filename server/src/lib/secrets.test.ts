import { createHmac, hkdfSync } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { deriveSecrets, SIGNATURE_LENGTH } from './secrets.ts'

const MASTER = 'a master key of more than 32 characters'
const secrets = deriveSecrets(MASTER)

test('a signature is the start of an HMAC-SHA256 with the key of its purpose', () => {
  const key = Buffer.from(hkdfSync('sha256', MASTER, 'sterna', 'sterna/hash/open-token', 32))
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.integer({ min: 2_040, max: 2_060 }).map((length) => 'x'.repeat(length)),
    fc.integer({ min: 2_040, max: 2_060 }).map((length) => '€'.repeat(length)),
  )
  fc.assert(
    fc.property(text, (signed) => {
      const expected = createHmac('sha256', key).update(signed).digest('base64url').slice(0, SIGNATURE_LENGTH)
      expect(secrets.sign('open-token', signed)).toBe(expected)
    }),
  )
  expect(SIGNATURE_LENGTH * 6).toBeGreaterThanOrEqual(128)
})

test('signatures of two purposes differ', () => {
  expect(secrets.sign('open-token', 'x')).not.toBe(secrets.sign('click-token', 'x'))
})
