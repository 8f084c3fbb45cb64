import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyCharacter } from '../../../test/support/any-character.ts'
import { inPieces, PIECE, toUtf8 } from './csv-encoding.ts'

const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')
const ENCODINGS: [string, (text: string) => Buffer][] = [
  ['UTF-8', (text) => Buffer.from(text)],
  ['UTF-8 with a byte order mark', (text) => Buffer.from(`\ufeff${text}`)],
  ['UTF-16, little-endian,', utf16],
  ['UTF-16, big-endian,', (text) => utf16(text).swap16()],
]

/** Counts the turns of the event loop until the work is done. */
async function turnsDuring(work: () => Promise<unknown>) {
  let turns = 0
  let next = setImmediate(function count() {
    turns++
    next = setImmediate(count)
  })
  await work()
  clearImmediate(next)
  return turns
}

describe('decoding a file', () => {
  test.each(ENCODINGS)('in %s keeps characters that span two pieces', async (_, encode) => {
    const padding = fc.nat(8).map((length) => 'x'.repeat(length))
    await fc.assert(
      fc.asyncProperty(padding, fc.string({ unit: anyCharacter, minLength: 1, maxLength: 8 }), async (start, characters) => {
        const text = `email,${start}${`${characters.replaceAll('\0', '')}é😀`.repeat(40_000)}`
        expect((await toUtf8(encode(text))).equals(Buffer.from(text))).toBe(true)
      }),
      { numRuns: 10 },
    )
  })

  test('as windows-1252 keeps every character', async () => {
    const text = `email,name\n${'ada@example.com,Zoë “5 €”\n'.repeat(5_000)}`
    const bytes = Buffer.from(text.replaceAll('€', '\x80').replaceAll('“', '\x93').replaceAll('”', '\x94'), 'latin1')
    expect((await toUtf8(bytes)).toString()).toBe(text)
  })

  test.each([
    ['German', 'M\xfcller\nK\xf6ln\nStra\xdfe\n\xc4rzte \x84gut\x93 5 \x80'],
    ['French', 'L\x9ctitia d\x92Arc\n\x8cuvre\nRen\xe9 \x96 H\xe9l\xe8ne \xab ici \xbb'],
    ['Spanish', 'Mu\xf1oz\nM\xaaJos\xe9\n\xbfQu\xe9?'],
    ['Portuguese', 'Concei\xe7\xe3o\nA\xc7\xd5ES'],
    ['Slavic names', 'Du\x9aan \x8akoda \x8eukov To\x9ei\xe6'],
    ['punctuation only', 'wait\x85what a\x93b\x94c \x80uro Brand\x99s x\x97y 5 m\xb3'],
    ['capitals', 'M\xdcLLER\n\xc4\xd6\xdc\nGR\xd6\xdfE\nB\xc4R\nJ\xd6RG\nK\xd6LN'],
  ])('accepts real windows-1252: %s', async (_, names) => {
    await expect(toUtf8(Buffer.from(`email,name\n${names}`, 'latin1'))).resolves.toBeInstanceOf(Buffer)
  })

  test.each([
    ['German in Mac OS Roman', 'M\x9fller\nJ\x9arg\nM\x8arz\nStra\xa7e'],
    ['capitals in Mac OS Roman', 'M\x86LLER\nJ\x85RG'],
    ['French in Mac OS Roman', 'Ren\x8e\nH\x8el\x8fne\nFran\x8dois'],
    ['Spanish in Mac OS Roman', 'Gonz\x87lez\nGarc\x92a\nJos\x8e \xc0Qu\x8e?'],
    ['Polish in windows-1250', 'Wa\xb3\xeasa\nMa\xb3gorzata\nKsi\xb9\xbfek\nBo\xbfena'],
    ['Russian in windows-1251', '\xc8\xe2\xe0\xed \xcf\xe5\xf2\xf0\xee\xe2\n\xcc\xee\xf1\xea\xe2\xe0'],
    ['Greek in windows-1253', '\xc3\xe9\xfe\xf1\xe3\xef\xf2'],
  ])('refuses encodings other than windows-1252: %s', async (_, names) => {
    await expect(toUtf8(Buffer.from(`email,name\n${names}`, 'latin1'))).rejects.toThrow('Save it as CSV UTF-8.')
  })

  test('detects a damaged character in the last bytes of a large file', async () => {
    const file = Buffer.from(`xx${'漢'.repeat(8 * PIECE)}`)
    file[file.length - 1] = 0x41
    await expect(toUtf8(file)).rejects.toThrow('damaged characters')
  })

  test.each<[string, Buffer]>([
    ['UTF-8', Buffer.from('email\n'.padEnd(20 * PIECE, 'ä'))],
    ['UTF-16', utf16('email\n'.padEnd(10 * PIECE, 'ä'))],
    ['windows-1252', Buffer.from('email\n'.padEnd(20 * PIECE, 'x\xe4'), 'latin1')],
  ])('in %s yields to the event loop between pieces of 64 KB', async (_, file) => {
    expect(await turnsDuring(() => toUtf8(file))).toBeGreaterThanOrEqual(file.length / PIECE - 1)
  })

  test('reads pieces of 64 KB that together are the file', async () => {
    const file = Buffer.from('x'.repeat(5 * PIECE + 7))
    const pieces: Buffer[] = []
    for await (const piece of inPieces(file)) pieces.push(piece)
    expect(pieces.map(({ length }) => length)).toEqual([PIECE, PIECE, PIECE, PIECE, PIECE, 7])
    expect(Buffer.concat(pieces).equals(file)).toBe(true)
  })
})
