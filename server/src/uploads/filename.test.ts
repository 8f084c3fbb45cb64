import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyCharacter } from '../../test/support/any-character.ts'
import { cleanFilename } from './filename.ts'

test.each<[string | undefined, string]>([
  ['logo.png', 'logo.png'],
  ['Grüße 🦜.png', 'Grüße 🦜.png'],
  ['../../etc/passwd', 'passwd'],
  ['C:\\Users\\ada\\logo.png', 'logo.png'],
  ['a/b\\..', 'otherwise'],
  ['..', 'otherwise'],
  ['', 'otherwise'],
  [undefined, 'otherwise'],
  [' \t\r\n ', 'otherwise'],
  ['lo\0go\r\n.png', 'logo.png'],
  ['gpj.\u202egnp', 'gpj.gnp'],
  ['a\u2028b\u200b.png', 'ab.png'],
  ['e\u0301.png', '\u00e9.png'],
  ['\ud800.png', '\ufffd.png'],
  ['<img src=x>.png', '<img src=x>.png'],
  ['x'.repeat(300), 'x'.repeat(255)],
  ['🦜'.repeat(300), '🦜'.repeat(255)],
])('%j is shown as %j', (given, shown) => {
  expect(cleanFilename(given, 'otherwise')).toBe(shown)
})

test('any cleaned name is short, not empty, without path or invisible characters, and stays the same when cleaned again', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 400 }), (given) => {
      const shown = cleanFilename(given, 'otherwise')
      expect(shown).toMatch(/^[^\\/\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,255}$/u)
      expect(cleanFilename(shown, 'otherwise')).toBe(shown)
    }),
  )
})
