import fc from 'fast-check'
import { base64Lines } from '../encoding/encode.ts'
import { quotedPrintable } from '../encoding/quoted-printable.ts'

/** MIME messages of others, for tests: nested parts, odd encodings and boundaries, text in 8 bits, long lines. All lines end with CRLF. */

const crlf = (text: string) =>
  text
    .toWellFormed()
    .replace(/\r\n|\r|\n/g, '\r\n')
    .replaceAll('\0', '')

const line = fc.oneof(
  fc.lorem({ maxCount: 8 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.constantFrom(
    '',
    '.',
    '..',
    ' ',
    'trailing  ',
    '\ttab',
    '--',
    '--b',
    '-- ',
    '=',
    '=20',
    'From me',
    'Grüße 🦜',
    'x'.repeat(1_500),
    'ü'.repeat(600),
  ),
)
const text = fc.array(line, { maxLength: 6 }).map((lines) => crlf(lines.join('\n')))

const FILLER = 'Content-Description: =?utf-8?q?a_b?=\r\n\tfolded\r\n'
const EIGHT_BIT = fc.constantFrom('8bit', '8BIT', 'binary')

type Part = { head: string; body: Buffer }

const encodedText = fc
  .record({
    text,
    type: fc.constantFrom('text/plain', 'text/html', 'Text/Plain', 'text/x-odd'),
    encoding: fc.constantFrom('raw', 'qp', 'base64'),
    raw: EIGHT_BIT,
    hasFiller: fc.boolean(),
  })
  .map(({ text: given, type, encoding, raw, hasFiller }): Part => {
    const filler = hasFiller ? FILLER : ''
    const head = (name: string) => `Content-Type: ${type}; charset=utf-8\r\n${filler}Content-Transfer-Encoding: ${name}\r\n`
    if (encoding === 'base64') return { head: head('Base64'), body: Buffer.from(base64Lines(Buffer.from(given))) }
    if (encoding === 'qp') return { head: head('quoted-printable'), body: Buffer.from(quotedPrintable(given)) }
    return { head: head(raw), body: Buffer.from(given) }
  })

const latin1 = text.map(
  (given): Part => ({
    head: 'content-type: text/plain; charset="iso-8859-1"\r\ncontent-transfer-encoding: 8bit\r\n',
    body: Buffer.from(given.replace(/[^\0-\xff]/g, '?'), 'latin1'),
  }),
)

/** Without a header at all: text in ASCII. */
const bare = text.map((given): Part => ({ head: '', body: Buffer.from(given.replace(/[^\0-\x7f]/g, '?')) }))

const bytes = fc.uint8Array({ maxLength: 200 }).map(
  (given): Part => ({
    head: 'Content-Type: application/octet-stream; name="a.bin"\r\nContent-Disposition: attachment; filename="a.bin"\r\nContent-Transfer-Encoding: base64\r\n',
    body: Buffer.from(base64Lines(given)),
  }),
)

/** Some are the start of another, some contain characters of an expression. */
const boundary = fc.constantFrom('b', 'bb', 'b-1', '=_x', '----=_Part_1', "a'()+_,-./:=?z", 'with space')

const leaf = fc.oneof(encodedText, latin1, bare, bytes)

let boundaries = 0

const { tree } = fc.letrec<{ tree: Part; multipart: Part; attached: Part }>((tie) => ({
  tree: fc.oneof({ maxDepth: 4, withCrossShrink: true }, leaf, tie('multipart'), tie('attached')),
  multipart: fc
    .record({
      parts: fc.array(tie('tree'), { minLength: 1, maxLength: 4 }),
      kind: fc.constantFrom('mixed', 'alternative', 'related', 'Mixed'),
      boundary,
      preamble: fc.constantFrom('', 'This is a MIME message.\r\n', '-- \r\n'),
      epilogue: fc.constantFrom('', '\r\n', '\r\nignored\r\n'),
      isClosed: fc.boolean(),
    })
    .map(({ parts, kind, boundary: name, preamble, epilogue, isClosed }): Part => {
      // A boundary must not occur in a part.
      const unique = `${name}${++boundaries}`
      const inner = parts.flatMap(({ head, body }) => [Buffer.from(`--${unique}\r\n${head}\r\n`), body, Buffer.from('\r\n')])
      const end = isClosed ? `--${unique}--${epilogue}` : ''
      return {
        head: `Content-Type: multipart/${kind};\r\n boundary="${unique}"\r\n`,
        body: Buffer.concat([Buffer.from(preamble), ...inner, Buffer.from(end)]),
      }
    }),
  attached: tie('tree').map(
    ({ head, body }): Part => ({
      head: 'Content-Type: message/rfc822\r\nContent-Transfer-Encoding: 8bit\r\n',
      body: Buffer.concat([Buffer.from(`Subject: attached\r\n${head}\r\n`), body]),
    }),
  ),
}))

/** With the given header lines before those of the tree. */
export const anyMime = (headers: string) =>
  tree.map(({ head, body }) => Buffer.concat([Buffer.from(`${headers}MIME-Version: 1.0\r\n${head}\r\n`), body, Buffer.from('\r\n')]))
