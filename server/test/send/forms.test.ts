import PostalMime from 'postal-mime'
import { beforeAll, describe, expect, test } from 'vitest'
import { readContentType } from '../../src/send/acceptance/attachment.ts'
import { sendBody } from '../../src/send/acceptance/body.ts'
import { issues, outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { newSendingProject } from '../support/project.ts'

const sterna = useSharedApp()
const Schema = sendBody({ maxAttachments: 10, maxAttachmentMb: 10 })
let project: Awaited<ReturnType<typeof newSendingProject>>
beforeAll(async () => {
  project = await newSendingProject(sterna)
})

async function deliver(more: object) {
  const { id, status, error } = await project.sent(more)
  expect([status, error]).toEqual(['SENT', null])
  return PostalMime.parse(await project.source(id))
}

describe('a body', () => {
  const LINE = `${'0123456789'.repeat(7)}\r\n`
  const lines = (count: number) => LINE.repeat(count)

  test('of nearly 2,000,000 characters with template tags is rendered and sent', async () => {
    const { id, status, error } = await project.sent({ body: `${lines(27_700)}{{ email | upcase }}` })
    expect([status, error]).toEqual(['SENT', null])
    expect(await project.source(id)).toContain(`${LINE}ADA@EXAMPLE.COM\r\n`)
  })

  test('over 2,000,000 characters without template tags is sent as it is, whatever the subject', async () => {
    const body = lines(28_000)
    const { id, status, error } = await project.sent({ subject: '{% if subscribed %}a{% else %}b{% endif %} {{ email }}', body })
    expect([status, error, body.length > 2_000_000]).toEqual(['SENT', null, true])
    const source = await project.source(id)
    expect([source.includes('Subject: b ada@example.com\r\n'), source.includes(body)]).toEqual([true, true])
  })

  test('over 2,000,000 characters with template tags, or larger than a message, is refused', async () => {
    const { error: withTags } = Schema.safeParse({ ...project.sendBody(), body: `{{ email }}${'x'.repeat(2_000_000)}` })
    expect(withTags?.issues).toMatchObject([{ path: ['body'], params: { code: 'too_big' } }])
    const { error: tooLarge } = Schema.safeParse({ ...project.sendBody(), body: 'x'.repeat(40 * 1024 * 1024 + 1) })
    expect(tooLarge?.issues).toMatchObject([{ path: ['body'], code: 'too_big' }])
  })

  test('of 2,000,000 characters may be stored as a template, previewed and linted', async () => {
    const body = `${lines(27_700)}{{ email }}`
    const id = await project.template({ body })
    const preview = await project.call('POST', `/templates/${id}/preview`, {})
    expect([outcome(preview), preview.body.html?.length]).toEqual([
      [200],
      body.length - '{{ email }}'.length + 'someone@example.com'.length,
    ])
    expect(outcome(await project.call('POST', `/templates/${id}/lint`, {}))).toEqual([200])
    expect(issues(await project.call('PATCH', `/templates/${id}`, { body: 'x'.repeat(2_000_001) }))).toEqual([['body', 'too_big']])
  })
})

describe('an attachment', () => {
  const file = (more: object = {}) => ({ filename: 'a.txt', content: 'aGVsbG8=', contentType: 'text/plain', ...more })
  const textOf = (content: unknown) => new TextDecoder().decode(content as ArrayBuffer)

  test('may be base64 in lines, or without padding', async () => {
    const long = Buffer.from('hello '.repeat(30))
    const wrapped = long.toString('base64').replace(/(.{76})/g, '$1\r\n')
    const forms = ['aGVsbG8=', 'aGVsbG8', 'aGVs\nbG8=\n', ' aGVsbG8', wrapped]
    const { attachments } = await deliver({ attachments: forms.map((content) => file({ content })) })
    expect(attachments.map(({ content }) => textOf(content))).toEqual(['hello', 'hello', 'hello', 'hello', long.toString()])
  })

  test('may say the parameters of its MIME type', async () => {
    const { id } = await project.sent({
      attachments: [file({ contentType: 'text/csv; charset=utf-8; header=present; name="other.csv"', filename: 'list.csv' })],
    })
    const source = (await project.source(id)).replace(/\r\n[ \t]+/g, ' ')
    expect(source).toMatch(/Content-Type: text\/csv; charset=utf-8; header=present; name="?list\.csv"?\r\n/)
  })

  test('may have any file name without quotes, line breaks and ways out of a folder', async () => {
    const names = ["Ada's list.csv", 'a/b.txt', 'a\\b.txt', 'Grüße.txt', '..hidden', 'a..b']
    const { attachments } = await deliver({ attachments: names.map((filename) => file({ filename })) })
    expect(attachments.map(({ filename }) => filename)).toEqual(names)
  })

  test.each([
    ['text/plain', 'text/plain'],
    ['Text/CSV;charset="utf-8"', 'Text/CSV; charset="utf-8"'],
    ['text/plain; name=a; charset=x ', 'text/plain; charset=x'],
    ["text/plain; name*=utf-8''x", 'text/plain'],
    ['application/vnd.api+json; profile="a;b=\\"c\\""', 'application/vnd.api+json; profile="a;b=\\"c\\""'],
    ['multipart/mixed; boundary=x', undefined],
    ['text/plain;', undefined],
    ['text/plain; =x', undefined],
    ['text/plain; a=é', undefined],
    ['text/plain; a=b c', undefined],
  ])('has the MIME type %j read as %j', (given, read) => expect(readContentType(given)).toBe(read))
})

describe('the name of the sender', () => {
  const fromOf = async (more: object) => (await deliver(more)).from
  const address = () => `hello@${project.domain}`

  test.each<[string, () => object, string]>([
    ['`name`, when `from` is a string without one', () => ({ from: address(), name: 'Of name' }), 'Of name'],
    ['not `name`, when `from` is an object', () => ({ from: { email: address() }, name: 'Of name' }), 'Test'],
    ['that of `from` before `name`', () => ({ from: { name: 'Own', email: address() }, name: 'Of name' }), 'Own'],
    ['that of `Name <address>` before `name`', () => ({ from: `Own <${address()}>`, name: 'Of name' }), 'Own'],
    ['quoted', () => ({ from: `"Own, \\"Inc\\"" <${address()}>` }), 'Own, "Inc"'],
    ['`name`, when there is none before <address>', () => ({ from: `<${address()}>`, name: 'Of name' }), 'Of name'],
  ])('is %s', async (_, more, name) => expect(await fromOf(more())).toEqual({ address: address(), name }))

  test('is that of the template when the template has the sender, whatever `name` is', async () => {
    const template = await project.template({ from: address(), fromName: 'Of the template' })
    expect(await fromOf({ template, from: undefined, name: 'Of name' })).toEqual({ address: address(), name: 'Of the template' })
    expect(await fromOf({ template, from: address(), name: 'Of name' })).toEqual({ address: address(), name: 'Of name' })
  })

  test('in `Name <address>` is held to the same rules as elsewhere', async () => {
    for (const from of [
      'Bank <nobody>',
      'A <',
      '<>',
      `A <${address()}> B`,
      `A\r\nX: y <${address()}>`,
      `${'x'.repeat(300)} <${address()}>`,
    ])
      expect([from, issues(await project.send({ from }))]).toEqual([from, [['from', 'invalid_string']]])
    expect(issues(await project.send({ from: `service@bank.example <${address()}>` }))).toEqual([['from', 'custom']])
  })
})
