import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type BuildRequest, createMessageBuilder } from '../../src/delivery/message/build.ts'
import { createLog } from '../../src/lib/log.ts'
import { deriveSecrets } from '../../src/lib/secrets.ts'
import { preferenceLinks } from '../../src/preferences/link.ts'
import type { Recipient } from '../../src/templates/language/variables.ts'
import { outgoingHtml, outgoingHtmlString } from '../../src/templates/outgoing-html.ts'
import { renderEmail } from '../../src/templates/render.ts'

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
  content: { type, fromAddress: 'news@shop.example', replyTo: null, attachments: [] },
  fromName: 'Shop',
  subject,
  html,
  headers: {},
  tracking: 'ENABLED',
  returnPath: undefined,
  signer: undefined,
})

type Content = { type: BuildRequest['content']['type']; body: string; previewText: string; fromName: string; data: Record<string, unknown> }

/** Whether the message was built from a skeleton. */
async function expectSameMessage({ type, body, previewText, fromName, data }: Content) {
  const recipient = recipientWith(data)
  const rendered = await renderEmail({ subject: 'Hi', previewText, body }, recipient)
  if (!rendered.ok) throw new Error(rendered.reason)
  const email = { type, fromName, projectLanguage: 'en' }
  const { slots: _, ...withoutSlots } = rendered
  const [compiled, slow] = [outgoingHtml(email, recipient, rendered), outgoingHtml(email, recipient, withoutSlots)]
  expect(slow).toBeTypeOf('string')
  expect(outgoingHtmlString(email, recipient, rendered)).toBe(slow)
  expect(build(requestWith(compiled, type, rendered.subject))).toEqual(build(requestWith(slow, type, rendered.subject)))
  return typeof compiled !== 'string'
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
    '<hr>',
    '{{ email }}',
  ],
)
const content: fc.Arbitrary<Content> = fc.record({
  type: fc.constantFrom('TRANSACTIONAL' as const, 'MARKETING' as const, 'MARKETING' as const, 'HEADLESS' as const),
  body: fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join('')),
  previewText: fc.constantFrom('', '', 'For {{ a }}', '{{ b }}', '50 % < 100 % & "more"', '{{ unsubscribeUrl }}'),
  fromName: fc.constantFrom('Shop', 'A & "B"', '{{ x }}', '\ue001'),
  data: fc.record({ a: anyValue, b: anyValue, c: anyValue, locale: fc.constantFrom('de', 'fr', 'xx', 7) }, { requiredKeys: [] }),
})

test('a message built from a skeleton has the bytes of one that is parsed alone', async () => {
  let compiled = 0
  const numRuns = Number(process.env.FC_RUNS ?? 800)
  await fc.assert(
    fc.asyncProperty(content, async (given) => {
      if (await expectSameMessage(given)) compiled++
    }),
    { numRuns },
  )
  expect(compiled).toBeGreaterThan(numRuns / 5)
})

test.each<[string, boolean]>([
  ['<p>Hi {{ a }}, <a href="https://shop.example/?u={{ id }}">shop</a> or <a href="{{ unsubscribeUrl }}">leave</a></p>', true],
  ['<p>No variables at all</p>', true],
  ['<p>{{ a | raw }}</p>', false],
  ['<{{ a }}>', false],
  ['<p>{% if a %}{{ a }}{% endif %}</p>', false],
])('%s is compiled once: %s', async (body, isCompiled) => {
  const given = { type: 'MARKETING' as const, body, previewText: 'For {{ a }}', fromName: 'Shop', data: { a: 'Ada' } }
  expect(await expectSameMessage(given)).toBe(isCompiled)
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
