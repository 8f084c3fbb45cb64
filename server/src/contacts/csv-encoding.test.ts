import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { inPieces, PIECE, toUtf8 } from './csv-encoding.ts'

const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')
const ENCODINGS: [string, (text: string) => Buffer][] = [
  ['UTF-8', (text) => Buffer.from(text)],
  ['UTF-8 with a byte order mark', (text) => Buffer.from(`\ufeff${text}`)],
  ['UTF-16, little end first,', utf16],
  ['UTF-16, big end first,', (text) => utf16(text).swap16()],
]

/** Counts how often the event loop turns until the work is done. */
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
  test.each(ENCODINGS)('in %s keeps characters that lie across two pieces', async (_, encode) => {
    const padding = fc.nat(8).map((length) => 'x'.repeat(length))
    await fc.assert(
      fc.asyncProperty(padding, fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }), async (start, characters) => {
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

  test.each<[string, Buffer]>([
    ['UTF-8', Buffer.from('email\n'.padEnd(20 * PIECE, 'ä'))],
    ['UTF-16', utf16('email\n'.padEnd(10 * PIECE, 'ä'))],
    ['windows-1252', Buffer.from('email\n'.padEnd(20 * PIECE, '\xe4'), 'latin1')],
  ])('in %s lets the event loop turn between pieces of 64 KB', async (_, file) => {
    expect(await turnsDuring(() => toUtf8(file))).toBeGreaterThanOrEqual(file.length / PIECE - 1)
  })

  test('looks at pieces of 64 KB, which together are the file', async () => {
    const file = Buffer.from('x'.repeat(5 * PIECE + 7))
    const pieces: Buffer[] = []
    for await (const piece of inPieces(file)) pieces.push(piece)
    expect(pieces.map(({ length }) => length)).toEqual([PIECE, PIECE, PIECE, PIECE, PIECE, 7])
    expect(Buffer.concat(pieces).equals(file)).toBe(true)
  })
})
