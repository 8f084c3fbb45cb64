import fc from 'fast-check'
import { anyCharacter } from '../../test/support/any-character.ts'
import type { Attachment, ComposedMessage, MessageFields } from './compose.ts'

/** Messages for tests: an ordinary one, and arbitrary ones with everything that can break a message. */

export const messageSource = ({ head, body }: ComposedMessage) => `${head}\r\n${body}`

export const plainMessage: MessageFields = {
  id: '019a0000-0000-7000-8000-000000000001',
  messageId: '019a0000-0000-7000-8000-000000000001@example.com',
  date: new Date('2026-01-02T03:04:05Z'),
  from: { name: 'Ada', address: 'ada@example.com' },
  to: { name: null, address: 'bob@example.org' },
  replyTo: null,
  subject: 'Hello',
  html: '<p>Hello</p>',
  text: 'Hello\n',
  headers: {},
  attachments: [],
}

const nastyPiece = fc.constantFrom(
  ...[
    '\r',
    '\n',
    '\r\n',
    '\0',
    '\u0085',
    '\u2028',
    '\u2029',
    '\u000b',
    '\t',
    ' ',
    '  ',
    ' \r\n',
    '\t\n',
    '\u00a0',
    '\ufeff',
    '\u202e',
    '\x7f',
  ],
  ...[
    '=?',
    '?=',
    '=?UTF-8?B?YQ==?=',
    '=?utf-8?q?a b?=',
    '=',
    '=3D',
    '=\r\n',
    '"',
    '\\',
    '<',
    '>',
    ',',
    ';',
    ':',
    '(',
    ')',
    '@',
    "'",
    '%',
    '*',
  ],
  ...[
    '--=_',
    `--=_${plainMessage.id}-a`,
    `\r\n--=_${plainMessage.id}-a--\r\n`,
    '.',
    '\n.\n',
    '\r\n.\r\n',
    '\nFrom ',
    '\r\nBcc: x@example.com\r\n\r\n',
  ],
  ...['Grüße', '你好', 'שלום', 'مرحبا', '🦜', '👩‍👩‍👧‍👦', 'e\u0301', 'a', 'Hello', '<b>', '&amp;', '{{x}}', '\ud800'],
  ...['x'.repeat(74), 'y'.repeat(75), 'z'.repeat(76), 'w'.repeat(77), 'ü'.repeat(40), '🦜'.repeat(30), ' '.repeat(80), '.'.repeat(200)],
)

const joined = (pieces: fc.Arbitrary<string>, maxLength: number) => fc.array(pieces, { maxLength }).map((all) => all.join(''))

const anyText = (maxLength: number) =>
  fc.oneof(
    joined(nastyPiece, maxLength),
    fc.string({ unit: anyCharacter, maxLength: maxLength * 8 }),
    fc.string({ unit: 'grapheme', maxLength: maxLength * 4 }),
    fc.lorem({ maxCount: maxLength }),
  )

const longLine = fc.constantFrom('x', 'ü', '🦜', '.', ' ', 'ab ', '=', '<td>', '\t').map((piece) => piece.repeat(100_000 / piece.length))

const body = fc.oneof({ weight: 20, arbitrary: anyText(40) }, { weight: 1, arbitrary: longLine })

const subject = fc.oneof(
  anyText(20),
  fc.constantFrom('x'.repeat(998), 'ab '.repeat(332), `${'ü'.repeat(997)}x`, ' '.repeat(998), '=?'.repeat(499), '🦜'.repeat(499)),
)

/** Values of structured headers; without line breaks, which are refused. */
export const structuredValue = fc
  .oneof(
    anyText(12),
    fc.constantFrom(`<${'x'.repeat(996)}>`, `<${'ü'.repeat(500)}>`, `"${'ü'.repeat(500)}" <a@example.com>`, '<'.repeat(998)),
  )
  .map((value) =>
    value
      .toWellFormed()
      .replace(/[\r\n]/g, ' ')
      .slice(0, 998)
      .toWellFormed(),
  )

/** Without encoded words: mail programs decode them differently. */
const filename = anyText(12).filter((name) => !/=\?[^?\s]+\?[qb]\?[^?]*\?=/i.test(name))

const attachment: fc.Arbitrary<Attachment> = fc
  .record({
    filename,
    contentType: fc.constantFrom('image/png', 'application/pdf', 'application/octet-stream', 'APPLICATION/x-y.z+json'),
    contentId: fc.constantFrom('logo', 'a.b@c', 'x'.repeat(127)),
    inline: fc.boolean(),
    content: fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.constantFrom(0, 56, 57, 58, 114, 10_000).map((size) => new Uint8Array(size).fill(7)),
    ),
  })
  .map(({ contentId, content, ...file }) => ({
    ...file,
    contentId: file.inline || contentId === 'logo' ? contentId : null,
    content: Buffer.from(content),
  }))

/** Named unlike our own headers and unlike any that parsers treat specially. */
const headers = fc.dictionary(
  fc.stringMatching(/^X-[A-Za-z0-9-]{1,74}$/).filter((name) => name.toLowerCase() !== 'x-sterna-id'),
  anyText(12),
  { maxKeys: 4, noNullPrototype: true },
)

const address = fc.constantFrom(
  'ada@example.com',
  "o'hara+x=y@example.co.uk",
  '{a}|b@xn--mller-kva.example',
  `${'l'.repeat(64)}@${'d'.repeat(60)}.example`,
)

export const anyMessage: fc.Arbitrary<MessageFields> = fc
  .record({
    from: fc.record({ name: fc.option(anyText(8)), address }),
    to: fc.record({ name: fc.option(anyText(8)), address }),
    replyTo: fc.option(address),
    subject,
    html: body,
    text: body,
    headers,
    attachments: fc.array(attachment, { maxLength: 3 }),
    date: fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => new Date(seconds * 1_000)),
  })
  .filter(({ headers: given }) => new Set(Object.keys(given).map((name) => name.toLowerCase())).size === Object.keys(given).length)
  .map((given) => ({ ...plainMessage, ...given }))
