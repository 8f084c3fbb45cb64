import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { issues, outcome } from '../support/answers.ts'
import { ADA, BOB, file, times, useSending } from '../support/delivery/sending.ts'
import { startCpuClock } from '../support/faults/cpu-clock.ts'

const { sterna, newProject, quiet, busy, expectNothingOf, expectRefused } = useSending()

describe('the content', () => {
  test('is needed, and bounded, and one line where it is a line', () =>
    expectRefused([
      ['no subject', { subject: undefined }, [['subject', 'required']]],
      ['no body', { body: undefined }, [['body', 'required']]],
      ['no sender', { from: undefined }, [['from', 'required']]],
      ['none of them', { from: undefined, subject: undefined, body: undefined }, [['subject', 'required'], ['body', 'required'], ['from', 'required']]], // biome-ignore format: one case
      ['an empty subject', { subject: '' }, [['subject', 'too_small']]],
      ['999 characters', { subject: 'x'.repeat(999) }, [['subject', 'too_big']]],
      ['CR LF in the subject', { subject: 'a\r\nBcc: x@y.example' }, [['subject', 'invalid_string']]],
      ['LF in the subject', { subject: 'a\nb' }, [['subject', 'invalid_string']]],
      ['CR in the subject', { subject: 'a\rb' }, [['subject', 'invalid_string']]],
      ['U+0000 in the subject', { subject: 'a\0b' }, [['subject', 'invalid_string']]],
      ['an empty body', { body: '' }, [['body', 'too_small']]],
      ['a body with tags beyond two million characters', { body: `{{ x }}${'x'.repeat(2_000_000)}` }, [['body', 'too_big']]],
      ['a template that is no id', { template: 'welcome' }, [['template', 'invalid_string']]],
      ['subscribed as a text', { subscribed: 'false' }, [['subscribed', 'invalid_type']]],
      ['subscribed as a number', { subscribed: 1 }, [['subscribed', 'invalid_type']]],
      ['subscribed as null', { subscribed: null }, [['subscribed', 'invalid_type']]],
      ['a reply that is a list', { reply: [ADA] }, [['reply', 'invalid_type']]],
      ['a reply with a name', { reply: 'Ada <a@x.example>' }, [['reply', 'invalid_string']]],
      ['a reply with a line break', { reply: 'a@x.example\r\nBcc: b@y.example' }, [['reply', 'invalid_string']]],
    ]))

  test('is refused with the place when it is no template', () =>
    expectNothingOf(async () => {
      const body = await quiet.send({ body: '<p>\n  {{ name | }}</p>' })
      expect([outcome(body), body.body.error.errors]).toEqual([
        [422, 'VALIDATION_ERROR'],
        [{ field: 'body', message: expect.stringMatching(/^Line 2, column \d+: ./), code: 'custom' }],
      ])
      const both = await quiet.send({ subject: 'Hi {{', body: '{% if %}' })
      expect(issues(both)).toEqual([
        ['subject', 'custom'],
        ['body', 'custom'],
      ])
      expect(issues(await quiet.send({ body: '{% include "secrets" %}' }))).toEqual([['body', 'custom']])
    }))

  test('arrives unchanged, whatever characters it contains', async () => {
    const body = 'a\n.\nMAIL FROM:<x@y.example>\r.\r..\n.\r\n=3D é 🦜 \u2028\u0085 &amp; <b>x</b>\t \n'
    const answer = await busy.send({ subject: 'Ünï 🦜 \u2028 \u0085 =?UTF-8?Q?x?=', body })
    const [email] = await busy.ended(answer)
    const source = await busy.source(email!.id)
    expect(source).toMatch(/^[\x20-\x7e\t\r\n]+$/)
    expect(source.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
    const parsed = await PostalMime.parse(source)
    expect(parsed.subject).toBe('Ünï 🦜 \u2028 \u0085 =?UTF-8?Q?x?=')
    expect(parsed.html!.replace(/\r\n?/g, '\n').trimEnd()).toBe(body.replace(/\r\n?/g, '\n').trimEnd())
    expect(source.split('\r\n').every((line) => line.length <= 998)).toBe(true)
  })

  test.each([
    ['300,000 empty lines', `${'\n'.repeat(300_000)}x`],
    ['60,000 paragraphs', '<p>a</p>'.repeat(60_000)],
    ['100,000 spaces that end no line', `${' '.repeat(100_000)}x`],
  ])('of %s is made in little time', async (_, body) => {
    const cpuMs = startCpuClock()
    expect((await busy.ended(await busy.send({ body })))[0]).toMatchObject({ status: 'SENT' })
    expect(cpuMs()).toBeLessThan(5_000)
  })

  test('of a subject of 998 characters is one header', async () => {
    const subject = 'é'.repeat(998)
    expect((await busy.deliver({ subject })).subject).toBe(subject)
    expect((await busy.deliver({ subject: 'x'.repeat(998) })).subject).toBe('x'.repeat(998))
  })

  test('values never end the line of the subject, and are escaped in the body only', async () => {
    const email = await busy.deliver({
      subject: 'Hi {{x}}',
      body: '<p>{{x}}|{{x | raw}}</p>',
      data: { x: { value: '<b>\r\nBcc: v@y.example', persistent: false } },
    })
    expect(email.subject).toBe('Hi <b>Bcc: v@y.example')
    expect(email.bcc).toBeUndefined()
    expect(email.html).toContain('&lt;b&gt;')
    expect(email.html).toContain('|<b>')
  })
})

test('concurrent requests with nearly the same body each keep their own', async () => {
  const project = await newProject()
  // They differ where a quick look does not see it.
  const bodyOf = (letter: string) => `<p>${'a'.repeat(100)}${letter}${'a'.repeat(300)}</p>`
  const wanted = times(40, (index) => ({ to: `near${index}@example.com`, body: bodyOf('xyz'[index % 3]!) }))
  await Promise.all(wanted.map((email) => project.send(email)))
  const rows = await many(
    sterna.db,
    sql<{ to: string; body: string }>`
      select e.to_address as to, c.body from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id
      where e.project_id = ${project.id}
    `,
  )
  const bodies = new Map(rows.map(({ to, body }) => [to, body]))
  expect(wanted.map(({ to }) => bodies.get(to))).toEqual(wanted.map(({ body }) => body))
})

test('concurrent requests with the same content share it, all others keep their own', async () => {
  const project = await newProject()
  const template = await project.template({ subject: 'Shared', body: '<p>shared</p>' })
  const file = { filename: 'a.txt', content: 'YQ==', contentType: 'text/plain' }
  const wanted = times(60, (index) => {
    const to = `r${index}@example.com`
    if (index % 6 === 0) return { to, subject: `Own ${index}` }
    if (index % 6 === 1) return { to, subject: 'With a file', attachments: [file] }
    return index % 2 ? { to, template, subject: undefined, body: undefined } : { to, subject: 'The same' }
  })
  const answers = await Promise.all(wanted.map((more) => project.send(more)))
  expect(answers.map(({ status }) => status)).toEqual(times(60, () => 200))
  const rows = await many(
    sterna.db,
    sql<{ to: string; subject: string; contents: number }>`
      select e.to_address as to, c.subject, (select count(*)::int from contents where project_id = ${project.id}) as contents
      from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id where e.project_id = ${project.id}
    `,
  )
  const subjectOf = new Map(rows.map(({ to, subject }) => [to, subject]))
  expect(wanted.map(({ to }) => subjectOf.get(to))).toEqual(wanted.map(({ subject }) => subject ?? 'Shared'))
  // 20 of them cannot share. How many batches the others came in is a matter of time, but not one each.
  expect(rows[0]!.contents).toBeGreaterThanOrEqual(22)
  expect(rows[0]!.contents).toBeLessThan(60)
})

test('keys that are not the caller’s to set take no effect', async () => {
  const project = await newProject()
  const id = randomUUID()
  const answer = await project.send({
    id,
    projectId: busy.id,
    project: { id: busy.id },
    status: 'SENT',
    state: 'sent',
    sourceType: 'CAMPAIGN',
    type: 'MARKETING',
    campaignId: id,
    contactId: id,
    contact: { id, email: BOB },
    createdAt: '2000-01-01T00:00:00.000Z',
    messageId: 'x@y',
    attachments: [file({ path: '/etc/passwd', href: 'http://127.0.0.1', raw: 'x', encoding: 'hex' })],
  })
  const [email] = await project.ended(answer)
  expect(email).toMatchObject({ projectId: project.id, to: ADA, sourceType: 'TRANSACTIONAL', type: 'TRANSACTIONAL', campaignId: null })
  expect(email!.id).not.toBe(id)
  expect(email!.messageId).not.toBe('x@y')
  expect((await project.contact(BOB)) ?? 'nobody').toBe('nobody')
  const [attached] = (await PostalMime.parse(await project.source(email!.id))).attachments
  expect(Buffer.from(attached!.content as ArrayBuffer).toString()).toBe('hello')
})

test('a body beyond 42 MB is too large', () =>
  expectNothingOf(async () => {
    const answer = await quiet.send({ x: 'x'.repeat(42 * 1024 * 1024 + 64 * 1024) })
    expect(outcome(answer)).toEqual([413, 'PAYLOAD_TOO_LARGE'])
  }))
