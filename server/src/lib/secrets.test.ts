import { createHmac, hkdfSync } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyCharacter } from '../../test/support/any-character.ts'
import { deriveSecrets, keyNumberOf, SIGNATURE_LENGTH } from './secrets.ts'

const MASTER = 'a master key of more than 32 characters'
const secrets = deriveSecrets(MASTER)

test('a signature is the number of the key and the start of an HMAC-SHA256 with the key of its purpose', () => {
  const key = Buffer.from(hkdfSync('sha256', MASTER, 'sterna', 'sterna/hash/open-token', 32))
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 300 }),
    fc.integer({ min: 2_040, max: 2_060 }).map((length) => 'x'.repeat(length)),
    fc.integer({ min: 2_040, max: 2_060 }).map((length) => '€'.repeat(length)),
  )
  fc.assert(
    fc.property(text, (signed) => {
      const expected = createHmac('sha256', key)
        .update(signed)
        .digest('base64url')
        .slice(0, SIGNATURE_LENGTH - 1)
      expect(secrets.sign('open-token', signed)).toBe(keyNumberOf(MASTER).toString(32) + expected)
    }),
  )
  expect((SIGNATURE_LENGTH - 1) * 6).toBeGreaterThanOrEqual(128)
})

const purposes = fc.constantFrom('open-token', 'click-token', 'cursor', 'dkim-key', 'session')
const masterKeys = fc
  .uniqueArray(fc.string({ minLength: 32, maxLength: 40 }), { minLength: 2, maxLength: 3, selector: keyNumberOf })
  .map((keys) => keys as [string, string, ...string[]])

test('values of every key can be read, whichever key is the first now', () => {
  fc.assert(
    fc.property(masterKeys, purposes, fc.string({ unit: anyCharacter, maxLength: 100 }), (keys, purpose, text) => {
      const [current] = keys
      const now = deriveSecrets(...keys)
      for (const each of keys) {
        const then = deriveSecrets(each)
        expect(now.open(purpose, then.seal(purpose, text))).toBe(text)
        expect(now.isSigned(purpose, text, then.sign(purpose, text))).toBe(true)
        expect(now.hashes(purpose, text)).toContainEqual(then.hash(purpose, text))
      }
      const alone = deriveSecrets(current)
      expect(alone.open(purpose, now.seal(purpose, text))).toBe(text)
      expect(alone.isSigned(purpose, text, now.sign(purpose, text))).toBe(true)
      expect(alone.hashes(purpose, text)).toEqual([now.hash(purpose, text)])
    }),
  )
})

test('without its key a value cannot be read', () => {
  fc.assert(
    fc.property(masterKeys, purposes, fc.string({ maxLength: 100 }), ([key, ...others], purpose, text) => {
      const [made, rest] = [deriveSecrets(key), deriveSecrets(...(others as [string, ...string[]]))]
      expect(() => rest.open(purpose, made.seal(purpose, text))).toThrow('neither SECRET_KEY nor in SECRET_KEY_PREVIOUS')
      const signature = made.sign(purpose, text)
      expect(rest.isSigned(purpose, text, signature)).toBe(false)
      // The number alone does not help.
      expect(rest.isSigned(purpose, text, rest.sign(purpose, '')[0] + signature.slice(1))).toBe(false)
    }),
  )
})

test('signatures of two purposes differ', () => {
  expect(secrets.sign('open-token', 'x')).not.toBe(secrets.sign('click-token', 'x'))
})
