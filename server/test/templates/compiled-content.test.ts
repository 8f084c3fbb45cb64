import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { expect, test } from 'vitest'
import { type BuildRequest, createMessageBuilder } from '../../src/delivery/message/build.ts'
import { readClickToken, readOpenToken } from '../../src/delivery/message/links/tracking-token.ts'
import { toWireForm } from '../../src/delivery/transport/wire-form.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { deriveSecrets } from '../../src/lib/secrets.ts'
import { bytesOf } from '../../src/mime/compose.ts'
import { readMessage } from '../../src/mime/raw/read-message.ts'
import { preferenceLinks } from '../../src/preferences/link.ts'
import type { Recipient } from '../../src/templates/language/variables.ts'
import { outgoingHtml, outgoingHtmlString } from '../../src/templates/outgoing-html.ts'
import { renderEmail } from '../../src/templates/rendering/render.ts'

const secrets = deriveSecrets('a master key of more than 32 characters')
const publicUrl = 'https://mail.example'
const build = createMessageBuilder({ secrets, publicUrl, log: createLog('silent') })
const ids = { projectId: '019a0000-0000-7000-8000-00000000000a', contactId: '019a0000-0000-7000-8000-00000000000b' }

const recipientWith = (data: Record<string, unknown>): Recipient => ({
  id: ids.contactId,
  email: 'ada@example.com',
  subscribed: true,
  createdAt: '2026-01-02T03:04:05.000Z',
  ...preferenceLinks(secrets, publicUrl, ids),
  data,
})

const requestWith = (html: BuildRequest['html'], type: BuildRequest['content']['type'], subject: string): BuildRequest => ({
  email: {
    projectId: ids.projectId,
    id: '019a0000-0000-7000-8000-00000000000e',
    messageId: 'x@shop.example',
    createdAt: new Date('2026-01-02T03:04:05Z'),
    toAddress: 'ada@example.com',
    toName: null,
  },
  content: { id: '019a0000-0000-7000-8000-0123456789ab', type, fromAddress: 'news@shop.example', replyTo: null, attachments: [] },
  fromName: 'Shop',
  subject,
  html,
  headers: {},
  tracking: 'ENABLED',
  returnPath: undefined,
  signer: undefined,
})

type Content = { type: BuildRequest['content']['type']; body: string; previewText: string; fromName: string; data: Record<string, unknown> }

/** What a recipient gets: all headers and parts, with the meaning of each tracked link in place of its token. */
function contentOf(message: Buffer) {
  const { html, ...rest } = readMessage(message)
  const decoded = html!
    .replace(/(?<=\/t\/c\/)[\w-]+/g, (token) => JSON.stringify(readClickToken(secrets, token)))
    .replace(/(?<=\/t\/o\/)[\w-]+/g, (token) => JSON.stringify(readOpenToken(secrets, token)))
  return { ...rest, html: decoded }
}

/** How the message was built: by copying, from a skeleton, or alone. */
async function expectSameMessage({ type, body, previewText, fromName, data }: Content, onBuilt: OnBuilt = () => {}) {
  const recipient = recipientWith(data)
  const rendered = await renderEmail({ subject: 'Hi', previewText, body }, recipient)
  if (!rendered.ok) throw new Error(rendered.reason)
  const email = { type, fromName, projectLanguage: 'en' }
  const { slots: _, ...withoutSlots } = rendered
  const [compiled, slow] = [outgoingHtml(email, recipient, rendered), outgoingHtml(email, recipient, withoutSlots)]
  expect(slow).toBeTypeOf('string')
  expect(outgoingHtmlString(email, recipient, rendered)).toBe(slow)
  const [fast, plain] = [compiled, slow].map((html) => requestWith(html, type, rendered.subject)) as [BuildRequest, BuildRequest]
  const built = build(fast)
  const bytes = bytesOf(built)
  expect(contentOf(bytes)).toEqual(contentOf(bytesOf(build(plain))))
  // Nothing is escaped when it is sent, and a second attempt has the same bytes.
  expect(toWireForm(bytes)).toBe(bytes)
  expect(bytesOf(build(fast)).equals(bytes)).toBe(true)
  expect(
    bytes
      .toString('latin1')
      .split('\r\n')
      .every((line) => line.length <= 998),
  ).toBe(true)
  await onBuilt([fast, plain])
  return typeof built.body === 'string' ? (typeof compiled === 'string' ? 'alone' : 'from a skeleton') : 'by copying'
}
type OnBuilt = (requests: BuildRequest[]) => unknown

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
const signer = { domain: 'shop.example', selector: 'sterna', key: privateKey }

const record = `v=DKIM1; k=rsa; p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`

async function expectVerified(requests: BuildRequest[]) {
  for (const request of requests) {
    const { results } = await dkimVerify(bytesOf(build({ ...request, signer })), { resolver: async () => [[record]], minBitLength: 1024 })
    expect(results[0]?.status).toMatchObject({ result: 'pass', aligned: 'shop.example' })
  }
}

const anyValue = fc.oneof(
  fc.constantFrom<unknown>(
    '',
    ' ',
    'Ada',
    '<b>"Ada" & \'Bob\'</b>',
    'a\r\nb',
    'https://shop.example/?a=1&b=2',
    'javascript:x',
    'ü'.repeat(300),
    'w'.repeat(2_000),
  ),
  fc.constantFrom<unknown>(7, true, null, ['a', '<'], { x: '"' }, '&', 'amp;', '-->', '</body>', '\u0000', '🦜'),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
)
const piece = fc.constantFrom(
  ...[
    '<p>',
    '</p>',
    '<div style="display:none">',
    '<div hidden>',
    '</div>',
    '<b>',
    '</b>',
    '<br>',
    '<li>',
    '</li>',
    '<ul>',
    '</ul>',
    '<blockquote>',
  ],
  ...[
    '<html>',
    '<head>',
    '<title>{{ a }}</title>',
    '</head>',
    '<body>',
    '<body bgcolor="{{ c }}">',
    '</body>',
    '</html>',
    '<!-- x -->',
    '<table><tr><td>',
  ],
  ...[
    '<a href="https://shop.example/?a=1&amp;b=2">',
    '<a href="https://shop.example/{{ a }}?x={{ b }}">',
    '<a href="{{ b }}">',
    '</a>',
    '<img alt="{{ a }}">',
  ],
  ...[
    '<a href="{{ unsubscribeUrl }}">',
    '<a href="{{ unsubscribeUrl }}">{{ a }}</a>',
    '<a href="{{ manageUrl }}">Manage</a>',
    '{{ manageUrl }}',
  ],
  ...[
    '{{ a }}',
    '{{ b ?? "you" }}',
    '{{ c | upcase }}',
    '{{ a }}{{ b }}',
    ' ',
    '\n',
    'word',
    '€ 🦜',
    '&lt;',
    'a & b',
    '&{{ a }}',
    '<{{ a }}>',
    '{{ c | raw }}',
  ],
  ...[
    '<p style="{{ a }}">',
    '<!-- {{ a }} -->',
    '<pre>{{ a }}</pre>',
    '<p>The quick brown fox jumps over the lazy dog.</p>\n',
    '  two  spaces \n\t and a tab\n.',
    '<hr>',
    '{{ email }}',
  ],
  ...[
    '{% if a %}<p>{% else %}<div>{% endif %}',
    '{% if b == "Ada" %}{{ a }}{% endif %}',
    '{%- unless c -%} <b>{{ b }}</b> {%- endunless -%}',
  ],
  ...['{% for item in c %}<li>{{ item }}</li>{% endfor %}', '<a href="{% if a %}{{ b }}{% else %}https://shop.example/{% endif %}">'],
)
const content: fc.Arbitrary<Content> = fc.record({
  type: fc.constantFrom('TRANSACTIONAL' as const, 'MARKETING' as const, 'MARKETING' as const, 'HEADLESS' as const),
  body: fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join('')),
  previewText: fc.constantFrom('', '', 'For {{ a }}', '{{ b }}', '50 % < 100 % & "more"', '{{ unsubscribeUrl }}'),
  fromName: fc.constantFrom('Shop', 'A & "B"', '{{ x }}', '\ue001'),
  data: fc.record({ a: anyValue, b: anyValue, c: anyValue, locale: fc.constantFrom('de', 'fr', 'xx', 7) }, { requiredKeys: [] }),
})

test('a message decodes to the same parts, headers and links however it is built, and its signature holds', async () => {
  const ways: Record<string, number> = {}
  const numRuns = Number(process.env.FC_RUNS ?? 800)
  await fc.assert(
    fc.asyncProperty(content, fc.boolean(), async (given, verifies) => {
      const way = await expectSameMessage(given, (requests) => verifies && expectVerified(requests))
      ways[way] = (ways[way] ?? 0) + 1
    }),
    { numRuns },
  )
  expect(ways['by copying']).toBeGreaterThan(numRuns / 10)
  expect(ways['from a skeleton']).toBeGreaterThan(numRuns / 20)
  expect(ways.alone).toBeGreaterThan(numRuns / 20)
})

test.each<[string, Record<string, unknown>, string]>([
  ['<p>Hi {{ a }}, <a href="https://shop.example/?u={{ id }}">shop</a> or <a href="{{ unsubscribeUrl }}">leave</a></p>', {}, 'by copying'],
  ['<p>Hi {{ a }}, <a href="{{ b }}">shop</a></p>', { b: 'https://shop.example/x' }, 'by copying'],
  ['<p>Hi {{ a }}</p>', { a: 'Jürg Müller 🦜' }, 'by copying'],
  ['<p>Grüße, {{ a }}</p>', { a: '.' }, 'by copying'],
  ['<p>Hi {{ a }}{{ b }}</p>', { b: '' }, 'by copying'],
  ['<p>No variables at all</p>', {}, 'by copying'],
  ['<p>two  spaces, one before a line break \n\tand  {{ a }}  \n</p>\n.', {}, 'by copying'],
  ['<p>Hi {{ a }}</p>', { a: 'two\nlines' }, 'from a skeleton'],
  ['<a href="{{ b }}">Here</a>', { b: 'Here' }, 'from a skeleton'],
  ['<a href="{{ b }}">{{ b }}</a>', { b: 'https://shop.example/x' }, 'from a skeleton'],
  ['<p>{{ a | raw }}</p>', {}, 'alone'],
  ['<{{ a }}>', {}, 'alone'],
  ['<p>{% if a %}{{ a }}{% else %}you{% endif %}</p>', {}, 'by copying'],
  ['<p>{% if a %}{{ a }}{% else %}you{% endif %}</p>', { a: null }, 'by copying'],
  ['<ul>{% for item in b %}<li>{{ item }}</li>{% endfor %}</ul>', { b: ['one', 'two'] }, 'by copying'],
  ['{% if a %}<p title="{% endif %}{{ b }}">', { b: 'x' }, 'by copying'],
  ['{% if a %}<p title={% endif %}{{ b }}>', { b: 'x' }, 'alone'],
  ['<p>{% assign x = a %}{{ x }}</p>', {}, 'alone'],
])('%s with %o is built %s', async (body, data, way) => {
  const given = { type: 'MARKETING' as const, body, previewText: 'For {{ a }}', fromName: 'Shop', data: { a: 'Ada', ...data } }
  expect(await expectSameMessage(given, expectVerified)).toBe(way)
})

test('emails of one content share a skeleton', async () => {
  const skeletonFor = async (data: Record<string, unknown>) => {
    const rendered = await renderEmail({ subject: 'x', body: '<p>{{ a }}</p>' }, recipientWith(data))
    const html = rendered.ok && outgoingHtml({ type: 'MARKETING', fromName: 'Shop', projectLanguage: 'en' }, recipientWith(data), rendered)
    return html && typeof html !== 'string' ? html.skeleton : undefined
  }
  const first = await skeletonFor({ a: 1 })
  expect(first).toBeDefined()
  expect(await skeletonFor({ a: 'two' })).toBe(first)
  expect(await skeletonFor({ a: 'drei', locale: 'de' })).not.toBe(first)
})
