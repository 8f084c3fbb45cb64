import fc from 'fast-check'
import PostalMime from 'postal-mime'
import { beforeAll, describe, expect, test } from 'vitest'
import { outcome } from '../support/answers.ts'
import { useApp } from '../support/app.ts'
import { newSendingProject } from '../support/project.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0', PUBLIC_URL: 'https://mail.example' } })

let project: Awaited<ReturnType<typeof newSendingProject>>
beforeAll(async () => {
  project = await newSendingProject(sterna)
})

type Type = 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
type Previewed = { subject: string; html: string; text: string; missingVariables: string[] }

async function newTemplate({ type, ...content }: { type: Type; subject?: string; previewText?: string | null; body: string }) {
  const id = await project.template({ from: `hello@${project.domain}`, type: type === 'HEADLESS' ? 'MARKETING' : type, ...content })
  if (type === 'HEADLESS') await project.call('PATCH', `/templates/${id}`, { type })
  return id
}

async function preview(template: string, sample: object): Promise<Previewed> {
  const answer = await project.call('POST', `/templates/${template}/preview`, sample)
  expect(outcome(answer)).toEqual([200])
  return answer.body
}

let contacts = 0
async function newContact(data: object = {}): Promise<{ id: string; email: string }> {
  const email = `recipient${++contacts}@example.com`
  return (await project.call('POST', '/contacts', { email, subscribed: true, data })).body
}

/** The message of the template to the contact, as it arrives in the sandbox. */
async function deliver(template: string, to: string) {
  const { id, status, error } = await project.sent({ to, template, from: undefined, subject: undefined, body: undefined })
  expect([status, error]).toEqual(['SENT', null])
  return PostalMime.parse(await project.source(id))
}

/** A part of a message without the line break that the parser adds at its end, and the preview of it, with line breaks of one kind. */
const partOf = (text = '') => lines(text).slice(0, -1)
const lines = (text: string) => withoutEmail(text.replaceAll('\r\n', '\n'))

/** Links name the email, which a preview does not have. Project and contact come before it. */
const withoutEmail = (text: string) =>
  text.replace(/(https:\/\/mail\.example\/(?:unsubscribe|subscribe|manage)\/[\w-]{45})[\w-]{44}/g, '$1')

describe('a preview', () => {
  const piece = fc.constantFrom(
    ...['<p>', '</p>', '<ul>', '<ol start="3">', '<li>', '</li>', '</ul>', '</ol>', '<blockquote>', '</blockquote>', '<hr>', '<br>'],
    ...[
      '<pre>',
      '</pre>',
      '<h1>',
      '</h1>',
      '<table><tr><td>',
      '<td>',
      '</table>',
      '<b>',
      '<div hidden>',
      '</div>',
      '</body>',
      '<!--',
      '-->',
    ],
    ...['<a href="https://shop.example/?a=1&amp;b=2">', '</a>', '<a href="{{ unsubscribeUrl }}">', '<a href="{{ manageUrl }}">Manage</a>'],
    ...[
      '{{ name }}',
      '{{ name ?? "you" }}',
      '{% if vip %}VIP{% endif %}',
      '{{ locale }}',
      '{{ subscribeUrl }}',
      ' ',
      '\n',
      'word',
      '€ 🦜',
      '&lt;',
    ],
  )
  const content = fc.record({
    type: fc.constantFrom<Type>('TRANSACTIONAL', 'MARKETING', 'MARKETING', 'HEADLESS'),
    body: fc.array(piece, { maxLength: 30 }).map((pieces) => `x${pieces.join('')}`),
    previewText: fc.constantFrom(null, '', 'Soon', 'For {{ name }} & "you"', '{% if vip %}<VIP>{% endif %}'),
    subject: fc.constantFrom('News', 'Hi {{ name ?? "you" | strip }}', '{% if vip %}VIP{% endif %} €'),
    data: fc.record(
      { name: fc.constantFrom('Ada', '<b>Ada</b>', ' a  b '), vip: fc.boolean(), locale: fc.constantFrom('de', 'pt-BR', 'xx') },
      { requiredKeys: [] },
    ),
  })

  type GeneratedContent = typeof content extends fc.Arbitrary<infer Generated> ? Generated : never

  test('is the message that is sent: subject, HTML and text, with the same footer and links', async () => {
    async function expectSame({ data, ...template }: GeneratedContent) {
      const [id, contact] = [await newTemplate(template), await newContact(data)]
      const shown = await preview(id, { contactId: contact.id })
      const sent = await deliver(id, contact.email)
      expect([shown.subject, lines(shown.html), lines(shown.text)]).toEqual([sent.subject, partOf(sent.html), partOf(sent.text)])
    }
    await fc.assert(
      fc.asyncProperty(fc.array(content, { minLength: 20, maxLength: 20 }), async (contents) => {
        await Promise.all(contents.map(expectSame))
      }),
      { numRuns: 1, endOnFailure: true },
    )
  })

  test('has no open or click tracking, which the text does not depend on', async () => {
    await project.owner.call('PATCH', `/users/@me/projects/${project.id}`, { body: { tracking: 'ENABLED' } })
    try {
      const [id, contact] = [await newTemplate({ type: 'MARKETING', body: '<a href="https://shop.example/">Shop</a>' }), await newContact()]
      const shown = await preview(id, { contactId: contact.id })
      const sent = await deliver(id, contact.email)
      expect([/\/t\/[oc]\//.test(shown.html), /\/t\/o\//.test(sent.html!), /\/t\/c\//.test(sent.html!)]).toEqual([false, true, true])
      expect(lines(shown.text)).toBe(partOf(sent.text))
    } finally {
      await project.owner.call('PATCH', `/users/@me/projects/${project.id}`, { body: { tracking: 'DISABLED' } })
    }
  })

  test('has a footer only where the email has one, in the language of the recipient', async () => {
    const shown = async (type: Type, body: string, sample: object = {}) => (await preview(await newTemplate({ type, body }), sample)).text
    expect(await shown('TRANSACTIONAL', 'A preview')).toBe('A preview\n')
    expect(await shown('HEADLESS', 'A preview')).toBe('A preview\n')
    expect(await shown('MARKETING', 'A preview')).toMatch(
      /^A preview\n\n.+\nUnsubscribe \(https:\/\/mail\.example\/unsubscribe\/[\w-]{89}\)\n$/,
    )
    expect(await shown('MARKETING', 'A preview', { locale: 'de' })).toMatch(/\nAbmelden \(/)
    expect(await shown('MARKETING', 'A preview', { data: { locale: 'fr' } })).toMatch(/\nSe désabonner \(/)
    expect(await shown('MARKETING', '<a href="{{ manageUrl }}">Settings</a>')).toMatch(/^Settings \(\S+\)\n$/)
  })

  test('writes nothing, and the links of a made-up recipient are not found', async () => {
    const [id, contact] = [await newTemplate({ type: 'MARKETING', body: 'News' }), await newContact()]
    const before = await sterna.digest({ except: ['attempts'] })
    await preview(id, { contactId: contact.id, data: { plan: 'new field' } })
    const { text } = await preview(id, { email: 'new@example.com', data: { plan: 'new field' } })
    expect(await sterna.digest({ except: ['attempts'] })).toBe(before)
    const [link] = text.match(/https:\/\/mail\.example(\/unsubscribe\/[\w-]+)/)!.slice(1)
    expect((await sterna.call('GET', link!)).status).toBe(404)
  })

  test('of more than a megabyte of HTML shows the text of the first one, like the message', async () => {
    const body = `${`<p>${'word '.repeat(100)}</p>\n`.repeat(2_200)}{{ email }}`
    const [id, contact] = [await newTemplate({ type: 'TRANSACTIONAL', body }), await newContact()]
    const { html, text } = await preview(id, { contactId: contact.id })
    expect([html.length > 1_100_000, text.startsWith('word word '), text.includes(contact.email)]).toEqual([true, true, false])
    expect(lines(text)).toBe(partOf((await deliver(id, contact.email)).text))
  })
})
