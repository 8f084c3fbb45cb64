import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { sql } from 'kysely'
import PostalMime, { decodeWords, type Email as Parsed } from 'postal-mime'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type DataPatch, NO_DATA, readData } from '../../src/contacts/data.ts'
import { type ContactUpsert, mergeWanted, upsertContacts, want } from '../../src/contacts/upsert.ts'
import { many, one, transact } from '../../src/db/index.ts'
import { findEmail, listEmails } from '../../src/delivery/emails/email.ts'
import { newId } from '../../src/lib/id.ts'
import { type Answer, startApp, useApp } from '../support/app.ts'

const ENV = { RATE_LIMIT_PER_MINUTE: '0' }
const sterna = useApp({ env: ENV })
type Sterna = Pick<typeof sterna, 'call'>

/** Another node on the same database. */
let second: Awaited<ReturnType<typeof startApp>>
beforeAll(async () => {
  second = await startApp(sterna.url, { env: ENV })
})
afterAll(() => second.close())

const ADA = 'ada@example.com'
const BOB = 'bob@example.com'
const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
/** Nobody waits for longer, and most for much less. */
const soon = <T>(look: () => Promise<T>) => vi.waitFor(look, { timeout: 40_000, interval: 20 })
const times = <T>(length: number, make: (index: number) => T) => Array.from({ length }, (_, index) => make(index))
const outcome = ({ status, body }: Answer) => (status < 400 ? [status] : [status, body.error.code])
const issues = ({ body }: Answer) => body.error.errors?.map(({ field, code }: { field: string; code: string }) => [field, code])
const base64 = (text: string) => Buffer.from(text).toString('base64')
const file = (more: object = {}) => ({ filename: 'a.txt', content: base64('hello'), contentType: 'text/plain', ...more })

type Options = { key?: string; at?: Sterna; sk?: string }
type Email = { id: string; status: string; error: string | null; to: string; [key: string]: unknown }
type Event = { name: string; data: Record<string, unknown>; emailId: string | null; contactId: string | null }

const PROJECTS_OF_A_PERSON = 50
let owner: Awaited<ReturnType<typeof sterna.newPerson>>
let shops = 0

/** A project with a domain of its own. */
async function newShop({ name = 'Test' } = {}) {
  if (shops++ % PROJECTS_OF_A_PERSON === 0) owner = await sterna.newPerson()
  const { id, pk, sk } = await sterna.newProject(owner)
  // What arrives is compared with what was given.
  await owner.call('PATCH', `/users/@me/projects/${id}`, { body: { name, tracking: 'DISABLED' } })
  const domain = `shop${shops}.example`
  const call = (method: string, url: string, body?: unknown) =>
    sterna.call(method, url, { key: sk, ...(body === undefined ? {} : { body }) })
  const { id: domainId } = (await call('POST', '/domains', { domain })).body
  const mail = (more: object = {}) => ({ to: ADA, from: `hello@${domain}`, subject: 'Hi', body: '<p>Hi</p>', ...more })
  const send = (more: object = {}, { key, at = sterna, sk: given = sk }: Options = {}): Promise<Answer> =>
    at.call('POST', '/v1/send', { key: given, body: mail(more), headers: key === undefined ? {} : { 'idempotency-key': key } })
  const email = async (emailId: string): Promise<Email> => (await call('GET', `/emails/${emailId}`)).body
  /** The mails of an answer, once they have ended. */
  const ended = (answer: Answer): Promise<Email[]> =>
    Promise.all(
      answer.body.data.emails.map(({ email: emailId }: { email: string }) =>
        soon(async () => {
          const found = await email(emailId)
          expect(['PENDING', 'SENDING']).not.toContain(found.status)
          return found
        }),
      ),
    )
  const source = async (emailId: string): Promise<string> => {
    const { id: messageId } = await one(sterna.db, sql<{ id: string }>`select id from sandbox_messages where email_id = ${emailId}`)
    return (await call('GET', `/sandbox/messages/${messageId}`)).body.source
  }
  return {
    id,
    pk,
    sk,
    domain,
    domainId: domainId as string,
    owner,
    call,
    mail,
    send,
    email,
    ended,
    source,
    /** Sends and reads what came out at the other end. */
    async deliver(more: object = {}): Promise<Parsed> {
      const answer = await send(more)
      expect(outcome(answer)).toEqual([200])
      const [sent] = await ended(answer)
      expect([sent!.status, sent!.error]).toEqual(['SENT', null])
      return PostalMime.parse(await source(sent!.id))
    },
    template: async (more: object = {}): Promise<string> => {
      const body = { name: 'T', subject: 'Of the template', body: '<p>template</p>', type: 'TRANSACTIONAL', ...more }
      const answer = await call('POST', '/templates', body)
      expect(outcome(answer)).toEqual([201])
      return answer.body.id
    },
    contact: async (address = ADA) =>
      (await call('GET', '/contacts?limit=100')).body.data.find((each: { email: string }) => each.email === address),
    contacts: async () => (await call('GET', '/contacts?limit=100')).body,
    events: async (): Promise<Event[]> => (await call('GET', '/events?limit=100')).body.data,
    names: async (): Promise<string[]> => (await call('GET', '/events?limit=100')).body.data.map((each: Event) => each.name),
    consents: () =>
      many(sterna.db, sql<{ subscribed: boolean; source: string }>`select subscribed, source from consents where project_id = ${id}`),
    keys: async () => (await many(sterna.db, sql<{ key: string }>`select key from idempotency_keys where project_id = ${id}`)).length,
  }
}
type Shop = Awaited<ReturnType<typeof newShop>>

/** A shop whose requests are refused, so that all of it can happen in one place. */
let quiet: Shop
/** One whose mails arrive. */
let busy: Shop
beforeAll(async () => {
  quiet = await newShop()
  busy = await newShop()
})

/** Who tried how often, and which nodes there are, says nothing of a request. */
const UNCOUNTED = { except: ['attempts', 'job_workers'] }

/** Nothing of any of them may be left: no contact, no content, no attachment, no key. */
async function expectNothingOf(work: () => Promise<unknown>) {
  const idle = () => many(sterna.db, sql`select 1 from emails where state in ('queued', 'sending')`)
  await soon(async () => expect(await idle()).toEqual([]))
  const before = await sterna.digest(UNCOUNTED)
  await work()
  expect(await sterna.digest(UNCOUNTED)).toBe(before)
}

/** Each body with the fields it is refused for. */
const expectRefused = (cases: [string, object, [field: string, code: string][]][]) =>
  expectNothingOf(async () => {
    for (const [what, more, fields] of cases) {
      const answer = await quiet.send(more, { key: randomUUID() })
      expect([what, outcome(answer), issues(answer)]).toEqual([what, [422, 'VALIDATION_ERROR'], fields])
    }
  })

describe('an answer', () => {
  test('comes with the contact and the mail of every recipient, and the mail arrives', async () => {
    const shop = await newShop({ name: 'Ada’s Shop' })
    const answer = await shop.send({
      to: ' Ada@Example.com',
      subject: 'Order {{n}}',
      body: '<p>Hello {{name}}</p>',
      data: { n: 7, name: 'Ada' },
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      success: true,
      data: {
        emails: [{ contact: { id: expect.stringMatching(UUID7), email: ADA }, email: expect.stringMatching(UUID7) }],
        timestamp: expect.stringMatching(TIME),
      },
    })
    const contact = await shop.contact()
    expect(contact).toMatchObject({ id: answer.body.data.emails[0].contact.id, subscribed: false, data: { n: 7, name: 'Ada' } })

    const [email] = await shop.ended(answer)
    expect(email).toEqual({
      id: answer.body.data.emails[0].email,
      projectId: shop.id,
      contactId: contact.id,
      messageId: expect.stringMatching(new RegExp(`^[0-9a-f]{32}@${shop.domain}$`)),
      subject: 'Order 7',
      from: `hello@${shop.domain}`,
      fromName: null,
      to: ADA,
      toName: null,
      replyTo: null,
      sourceType: 'TRANSACTIONAL',
      type: 'TRANSACTIONAL',
      templateId: null,
      campaignId: null,
      workflowExecutionId: null,
      status: 'SENT',
      sentAt: expect.stringMatching(TIME),
      deliveredAt: null,
      openedAt: null,
      clickedAt: null,
      bouncedAt: null,
      complainedAt: null,
      outcomeUnknownSince: null,
      opens: 0,
      clicks: 0,
      error: null,
      errorCode: null,
      resentFrom: null,
      attempts: 1,
      createdAt: answer.body.data.timestamp,
      updatedAt: expect.stringMatching(TIME),
      timeline: [
        { at: answer.body.data.timestamp, what: 'queued', details: {} },
        {
          at: expect.stringMatching(TIME),
          what: 'email.sent',
          details: expect.objectContaining({ emailId: answer.body.data.emails[0].email }),
        },
      ],
    })

    const source = await shop.source(email!.id)
    expect(source).toMatch(/^[\x20-\x7e\t\r\n]+$/)
    expect(source.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
    const parsed = await PostalMime.parse(source)
    expect(parsed).toMatchObject({
      from: { name: 'Ada’s Shop', address: `hello@${shop.domain}` },
      to: [{ name: '', address: ADA }],
      subject: 'Order 7',
      messageId: `<${email!.messageId}>`,
      html: '<p>Hello Ada</p>\n',
      text: expect.stringMatching(/^Hello Ada\n+$/),
      attachments: [],
    })
    expect(parsed.replyTo).toBeUndefined()
    expect(Date.parse(parsed.date!)).toBe(Math.floor(Date.parse(email!.createdAt as string) / 1000) * 1000)
    expect(parsed.headers.filter(({ key }) => /^(list-unsubscribe|bcc|cc|sender|return-path)/.test(key))).toEqual([])
  })

  test.each<[string, unknown, { name: string; address: string }[]]>([
    ['a text', ADA, [{ name: '', address: ADA }]],
    ['an object', { email: ADA }, [{ name: '', address: ADA }]],
    ['an object with a name', { name: 'Ada', email: ADA }, [{ name: 'Ada', address: ADA }]],
    ['an object with an empty name', { name: '', email: ADA }, [{ name: '', address: ADA }]],
    ['an object whose name is null', { name: null, email: ADA }, [{ name: '', address: ADA }]],
    ['an object with more in it', { name: 'Ada', email: ADA, id: 7 }, [{ name: 'Ada', address: ADA }]],
    ['a list of one', [ADA], [{ name: '', address: ADA }]],
    [
      'a mixed list',
      [BOB, { name: 'Ada', email: ADA }, { email: 'c@example.com' }],
      [
        { name: '', address: BOB },
        { name: 'Ada', address: ADA },
        { name: '', address: 'c@example.com' },
      ],
    ],
    [
      'the same address twice',
      [ADA, { name: 'Ada', email: 'ADA@EXAMPLE.com' }],
      [
        { name: '', address: ADA },
        { name: 'Ada', address: ADA },
      ],
    ],
    ['a domain in another script', 'a@почта.рф', [{ name: '', address: 'a@xn--80a1acny.xn--p1ai' }]],
    ['a name with their address in it', { name: `Ada, ${ADA}`, email: ADA }, [{ name: `Ada, ${ADA}`, address: ADA }]],
    ['a name with another address in it', { name: 'A <b@y.example>', email: ADA }, [{ name: 'A <b@y.example>', address: ADA }]],
    ['a name with quotes and a comma', { name: '"A", \\B\\', email: ADA }, [{ name: '"A", \\B\\', address: ADA }]],
    ['a name in another script', { name: 'Ада 🦜', email: ADA }, [{ name: 'Ада 🦜', address: ADA }]],
  ])('to %s is in its order, one mail each', async (_, to, expected) => {
    const answer = await busy.send({ to })
    expect(answer.body.data.emails.map(({ contact }: { contact: { email: string } }) => contact.email)).toEqual(
      expected.map(({ address }) => address),
    )
    const mails = await busy.ended(answer)
    expect(new Set(mails.map(({ id }) => id)).size).toBe(expected.length)
    const parsed = await Promise.all(mails.map(async ({ id }) => PostalMime.parse(await busy.source(id))))
    expect(parsed.map((each) => each.to)).toEqual(expected.map((mailbox) => [mailbox]))
  })

  test('to a thousand recipients is one contact and one mail for each', async () => {
    const shop = await newShop()
    const to = times(1_000, (index) => `r${index}@example.com`)
    const answer = await shop.send({ to })
    expect(answer.status).toBe(200)
    expect(answer.body.data.emails.map(({ contact }: { contact: { email: string } }) => contact.email)).toEqual(to)
    expect((await shop.contacts()).total).toBe(1_000)
    await soon(async () => expect((await shop.call('GET', '/emails?status=SENT&limit=1')).body.total).toBe(1_000))
  }, 30_000)
})

describe('recipients are refused', () => {
  test('as a whole when one of them is no address, and nothing is done', () =>
    expectRefused([
      ['missing', { to: undefined }, [['to', 'required']]],
      ['null', { to: null }, [['to', 'invalid_type']]],
      ['a number', { to: 7 }, [['to', 'invalid_type']]],
      ['nobody', { to: [] }, [['to', 'too_small']]],
      ['1,001', { to: times(1_001, (index) => `r${index}@example.com`) }, [['to', 'too_big']]],
      ['10,000', { to: times(10_000, () => ADA) }, [['to', 'too_big']]],
      ['a list in a list', { to: [[ADA]] }, [['to.0', 'invalid_type']]],
      ['an object without an address', { to: { name: 'Ada' } }, [['to.email', 'required']]],
      ['one bad among good', { to: [ADA, 'nobody', { email: 'x' }, BOB] }, [['to.1', 'invalid_string'], ['to.2.email', 'invalid_string']]], // biome-ignore format: one case
      ['a megabyte', { to: `${'x'.repeat(1_000_000)}@example.com` }, [['to', 'invalid_string']]],
      ...[
        'a@x.example, b@y.example',
        'a@x.example;b@y.example',
        'a@x.example\r\nRCPT TO:<b@y.example>',
        'a@x.example\nBcc: b@y.example',
        '"b@y.example x"@z.example',
        'g: a@x.example, b@y.example;',
        'Ada <a@x.example>',
        '<a@x.example>',
        'a(b)@x.example',
        `${'('.repeat(5_000)}a@x.example`,
        'a@[127.0.0.1]',
        'a@127.0.0.1',
        'a@localhost',
        'a@x..example',
        '@x.example',
        'a@',
        '',
        ' ',
        'a b@x.example',
        'a\u200b@x.example',
        `${'a'.repeat(65)}@x.example`,
      ].flatMap((bad): [string, object, [string, string][]][] => [
        [bad, { to: bad }, [['to', 'invalid_string']]],
        [bad, { to: { name: 'A', email: bad } }, [['to.email', 'invalid_string']]],
      ]),
      ['a line break in a name', { to: { name: 'A\r\nBcc: x@y.example', email: ADA } }, [['to.name', 'invalid_string']]],
      ['a lone line feed in a name', { to: { name: 'A\nB', email: ADA } }, [['to.name', 'invalid_string']]],
      ['a lone CR in a name', { to: { name: 'A\rB', email: ADA } }, [['to.name', 'invalid_string']]],
      ['64 kB of a name', { to: { name: 'x'.repeat(65_536), email: ADA } }, [['to.name', 'invalid_string']]],
      ['256 characters of a name', { to: [{ name: 'x'.repeat(256), email: ADA }] }, [['to.0.name', 'invalid_string']]],
      ['a name that is a list', { to: { name: ['A'], email: ADA } }, [['to.name', 'invalid_type']]],
    ]))
})

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

  test('arrives as it was given, whatever it consists of', async () => {
    const body = 'a\n.\nMAIL FROM:<x@y.example>\r.\r..\n.\r\n=3D é 🦜 \u2028\u0085 &amp; <b>x</b>\t \n'
    const answer = await busy.send({ subject: 'Ünï 🦜 \u2028 \u0085 =?UTF-8?Q?x?=', body })
    const [mail] = await busy.ended(answer)
    const source = await busy.source(mail!.id)
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
    const before = performance.now()
    expect((await busy.ended(await busy.send({ body })))[0]).toMatchObject({ status: 'SENT' })
    expect(performance.now() - before).toBeLessThan(5_000)
  })

  test('of a subject of 998 characters is one header', async () => {
    const subject = 'é'.repeat(998)
    expect((await busy.deliver({ subject })).subject).toBe(subject)
    expect((await busy.deliver({ subject: 'x'.repeat(998) })).subject).toBe('x'.repeat(998))
  })

  test('values never end the line of the subject, and are escaped in the body only', async () => {
    const mail = await busy.deliver({
      subject: 'Hi {{x}}',
      body: '<p>{{x}}|{{x | raw}}</p>',
      data: { x: { value: '<b>\r\nBcc: v@y.example', persistent: false } },
    })
    expect(mail.subject).toBe('Hi <b>Bcc: v@y.example')
    expect(mail.bcc).toBeUndefined()
    expect(mail.html).toContain('&lt;b&gt;')
    expect(mail.html).toContain('|<b>')
  })
})

test('those who say nearly the same at the same time say what is theirs', async () => {
  const shop = await newShop()
  // They differ where a quick look does not see it.
  const bodyOf = (letter: string) => `<p>${'a'.repeat(100)}${letter}${'a'.repeat(300)}</p>`
  const wanted = times(40, (index) => ({ to: `near${index}@example.com`, body: bodyOf('xyz'[index % 3]!) }))
  await Promise.all(wanted.map((mail) => shop.send(mail)))
  const rows = await many(
    sterna.db,
    sql<{ to: string; body: string }>`
      select e.to_address as to, c.body from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id
      where e.project_id = ${shop.id}
    `,
  )
  const bodies = new Map(rows.map(({ to, body }) => [to, body]))
  expect(wanted.map(({ to }) => bodies.get(to))).toEqual(wanted.map(({ body }) => body))
})

test('those who say the same at the same time share it, and everyone else says what is theirs', async () => {
  const shop = await newShop()
  const template = await shop.template({ subject: 'Shared', body: '<p>shared</p>' })
  const file = { filename: 'a.txt', content: 'YQ==', contentType: 'text/plain' }
  const wanted = times(60, (index) => {
    const to = `r${index}@example.com`
    if (index % 6 === 0) return { to, subject: `Own ${index}` }
    if (index % 6 === 1) return { to, subject: 'With a file', attachments: [file] }
    return index % 2 ? { to, template, subject: undefined, body: undefined } : { to, subject: 'The same' }
  })
  const answers = await Promise.all(wanted.map((more) => shop.send(more)))
  expect(answers.map(({ status }) => status)).toEqual(times(60, () => 200))
  const rows = await many(
    sterna.db,
    sql<{ to: string; subject: string; contents: number }>`
      select e.to_address as to, c.subject, (select count(*)::int from contents where project_id = ${shop.id}) as contents
      from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id where e.project_id = ${shop.id}
    `,
  )
  const subjectOf = new Map(rows.map(({ to, subject }) => [to, subject]))
  expect(wanted.map(({ to }) => subjectOf.get(to))).toEqual(wanted.map(({ subject }) => subject ?? 'Shared'))
  // 20 of them cannot share. How many batches the others came in is a matter of time, but not one each.
  expect(rows[0]!.contents).toBeGreaterThanOrEqual(22)
  expect(rows[0]!.contents).toBeLessThan(60)
})

describe('a template', () => {
  test('does not leave under the address of somebody else as its name: not by the project, nor by an older template', async () => {
    const nameOf = async (shop: Shop, more: object = {}) => (await shop.deliver(more)).from
    const named = await newShop({ name: 'Billing of ceo@bank.com' })
    expect(await nameOf(named)).toEqual({ name: 'Billing of', address: `hello@${named.domain}` })
    const template = await named.template({ fromName: 'Ada' })
    await sql`update templates set from_name = 'ceo@bank.com' where id = ${template}`.execute(sterna.db)
    expect(await nameOf(named, { template, subject: undefined, body: undefined })).toMatchObject({ name: 'Billing of' })
    const bare = await newShop({ name: 'CEO＠bank.com' })
    expect(await nameOf(bare)).toEqual({ name: bare.domain, address: `hello@${bare.domain}` })
  })

  test('gives subject, body, sender and reply address, and each can be overridden', async () => {
    const shop = await newShop()
    const template = await shop.template({ from: `t@${shop.domain}`, fromName: 'Of the template', replyTo: 'r@example.com' })
    const nothing = { from: undefined, subject: undefined, body: undefined }
    const asIs = await shop.deliver({ ...nothing, template })
    expect(asIs).toMatchObject({
      subject: 'Of the template',
      html: '<p>template</p>\n',
      from: { name: 'Of the template', address: `t@${shop.domain}` },
      replyTo: [{ name: '', address: 'r@example.com' }],
    })
    const changed = await shop.deliver({
      template,
      subject: 'Own',
      body: '<p>own</p>',
      from: { name: 'Me', email: `me@${shop.domain}` },
      reply: BOB,
    })
    expect(changed).toMatchObject({
      subject: 'Own',
      html: '<p>own</p>\n',
      from: { name: 'Me', address: `me@${shop.domain}` },
      replyTo: [{ name: '', address: BOB }],
    })
    expect(await shop.deliver({ ...nothing, template, subject: 'Own' })).toMatchObject({ subject: 'Own', html: '<p>template</p>\n' })
    expect(await shop.deliver({ ...nothing, template, body: '<p>own</p>' })).toMatchObject({
      subject: 'Of the template',
      html: '<p>own</p>\n',
    })
    const answer = await shop.send({ ...nothing, template })
    expect((await shop.ended(answer))[0]).toMatchObject({ templateId: template, type: 'TRANSACTIONAL', replyTo: 'r@example.com' })
    expect(await shop.deliver({ ...nothing, template, subject: '{{x}}', data: { x: 'from data' } })).toMatchObject({ subject: 'from data' })
  })

  test('without a sender needs one in the request', async () => {
    const template = await quiet.template()
    await expectRefused([['no sender', { template, from: undefined }, [['from', 'required']]]])
  })

  test('of nobody, of somebody else, or deleted is not found', async () => {
    const foreign = await busy.template()
    const deleted = await quiet.template()
    await quiet.call('DELETE', `/templates/${deleted}`)
    await expectNothingOf(async () => {
      for (const template of [randomUUID(), foreign, deleted]) {
        const answer = await quiet.send({ template }, { key: 'k' })
        expect(outcome(answer)).toEqual([404, 'TEMPLATE_NOT_FOUND'])
        expect(answer.body.error.details).toEqual({ resource: 'template', id: template })
      }
    })
  })

  test('changed after the request does not change the mail', async () => {
    const shop = await newShop()
    await hold(shop)
    const template = await shop.template()
    const answer = await shop.send({ template, subject: undefined, body: undefined })
    await shop.call('PATCH', `/templates/${template}`, { subject: 'Changed' })
    await shop.call('DELETE', `/templates/${template}`)
    await release(shop)
    const [mail] = await shop.ended(answer)
    expect((await PostalMime.parse(await shop.source(mail!.id))).subject).toBe('Of the template')
  })
})

describe('the sender', () => {
  test.each<[string, object, { name: string; local: string }]>([
    ['a text and nothing else: the project', { from: 'a@{d}' }, { name: 'Test', local: 'a' }],
    ['a name of its own', { from: { name: 'Own', email: 'a@{d}' }, name: 'Old' }, { name: 'Own', local: 'a' }],
    ['the deprecated name', { from: 'a@{d}', name: 'Old' }, { name: 'Old', local: 'a' }],
    [
      'the project, not the deprecated name, beside an object without one',
      { from: { email: 'a@{d}' }, name: 'Old' },
      { name: 'Test', local: 'a' },
    ],
    ['an empty name', { from: { name: ' ', email: 'a@{d}' }, name: '' }, { name: 'Test', local: 'a' }],
    ['a name with its own address', { from: { name: 'Me, a@{d}', email: 'a@{d}' } }, { name: 'Me, a@{d}', local: 'a' }],
    ['another spelling of the domain', { from: 'A@{D}' }, { name: 'Test', local: 'a' }],
    ['a name in quotes', { from: { name: '"Own", Inc. <x>', email: 'a@{d}' } }, { name: '"Own", Inc. <x>', local: 'a' }],
  ])('is named by %s', async (_, more, expected) => {
    const filled = JSON.parse(JSON.stringify(more).replaceAll('{d}', busy.domain).replaceAll('{D}', busy.domain.toUpperCase()))
    const mail = await busy.deliver(filled)
    expect(mail.from).toEqual({ name: expected.name.replace('{d}', busy.domain), address: `${expected.local}@${busy.domain}` })
  })

  test('of a template counts before the project, behind the request', async () => {
    const template = await busy.template({ from: `t@${busy.domain}`, fromName: 'Of the template' })
    expect((await busy.deliver({ template, from: `a@${busy.domain}` })).from!.name).toBe('Of the template')
    expect((await busy.deliver({ template, from: `a@${busy.domain}`, name: 'Old' })).from!.name).toBe('Old')
    expect((await busy.deliver({ template, from: undefined, name: 'Old' })).from).toEqual({
      name: 'Of the template',
      address: `t@${busy.domain}`,
    })
  })

  test('is on a domain that this project has verified, and on no other', async () => {
    const removed = await newShop()
    await removed.call('DELETE', `/domains/${removed.domainId}`)
    await expectNothingOf(async () => {
      for (const domain of [
        'unknown.example',
        busy.domain,
        `mail.${quiet.domain}`,
        quiet.domain.slice(0, -1),
        `x${quiet.domain}`,
        `${quiet.domain}.evil.example`,
        quiet.domain.replace('o', '0'),
        quiet.domain.replace('o', 'о'),
        'example.com',
      ]) {
        for (const from of [`a@${domain}`, { name: 'A', email: `a@${domain}` }]) {
          const answer = await quiet.send({ from }, { key: 'k' })
          expect([domain, outcome(answer)]).toEqual([domain, [403, 'DOMAIN_NOT_VERIFIED']])
        }
      }
      const answer = await removed.send({}, { key: 'k' })
      expect([outcome(answer), answer.body.error.details]).toEqual([[403, 'DOMAIN_NOT_VERIFIED'], { domain: removed.domain }])
    })
    await sql`update domains set status = 'pending', verified_by = null, verified_at = null where id = ${quiet.domainId}`.execute(sterna.db)
    await expectNothingOf(async () => expect(outcome(await quiet.send())).toEqual([403, 'DOMAIN_NOT_VERIFIED']))
    await sql`update domains set status = 'verified', verified_by = 'sandbox', verified_at = now() where id = ${quiet.domainId}`.execute(
      sterna.db,
    )
  })

  test('does not pose as another', () => {
    const own = `a@${quiet.domain}`
    return expectRefused([
      ['another address as the name before an address', { from: `ceo@bank.com <${own}>` }, [['from', 'custom']]],
      ['another address as the name', { from: { name: 'ceo@bank.com', email: own } }, [['from.name', 'custom']]],
      ['another address in the name', { from: { name: 'The <boss@bank.com>', email: own } }, [['from.name', 'custom']]],
      ['another address in the old name', { from: own, name: 'ceo@bank.com' }, [['name', 'custom']]],
      ['a line break in the name', { from: { name: 'A\r\nBcc: x', email: own } }, [['from.name', 'invalid_string']]],
      ['a line break in the old name', { from: own, name: 'A\nB' }, [['name', 'invalid_string']]],
      ['256 characters', { from: { name: 'x'.repeat(256), email: own } }, [['from.name', 'invalid_string']]],
      ['a list', { from: [own] }, [['from', 'invalid_type']]],
      ['no address', { from: { name: 'A' } }, [['from.email', 'required']]],
    ])
  })
})

describe('marketing', () => {
  /** Through HTTP a template becomes HEADLESS by a change only. */
  const marketing = async (shop: Shop, type: string) => {
    const template = await shop.template({ type: 'MARKETING' })
    if (type === 'HEADLESS') await shop.call('PATCH', `/templates/${template}`, { type })
    return template
  }

  test.each(['MARKETING', 'HEADLESS'])('(%s) to one who is not subscribed is refused, and nothing is written', async (type) => {
    const shop = await newShop()
    const template = await marketing(shop, type)
    await shop.call('POST', '/contacts', { email: BOB, subscribed: false })
    await shop.call('POST', '/contacts', { email: 'carl@example.com', subscribed: true })
    await expectNothingOf(async () => {
      for (const to of [BOB, 'new@example.com', [BOB, 'new@example.com'], [BOB, BOB]]) {
        expect([to, outcome(await shop.send({ to, template, data: { x: 1 } }, { key: 'k' }))]).toEqual([to, [400, 'CONTACT_UNSUBSCRIBED']])
      }
      // Whoever is to be unsubscribed by this very request gets nothing either.
      expect(outcome(await shop.send({ to: 'carl@example.com', template, subscribed: false }))).toEqual([400, 'CONTACT_UNSUBSCRIBED'])
    })
    expect((await shop.contacts()).total).toBe(2)
  })

  test.each(['MARKETING', 'HEADLESS'])('(%s) to several skips those who are not subscribed, and says so', async (type) => {
    const shop = await newShop()
    const template = await marketing(shop, type)
    await shop.call('POST', '/contacts', { email: ADA, subscribed: true })
    await shop.call('POST', '/contacts', { email: BOB, subscribed: false })
    const answer = await shop.send({ to: [BOB, ADA, 'new@example.com', BOB], template })
    expect(outcome(answer)).toEqual([200])
    const mails = await shop.ended(answer)
    expect(mails.map(({ to, status, error, attempts }) => [to, status, error, attempts])).toEqual([
      [BOB, 'SKIPPED', 'unsubscribed', 0],
      [ADA, 'SENT', null, 1],
      ['new@example.com', 'SKIPPED', 'unsubscribed', 0],
      [BOB, 'SKIPPED', 'unsubscribed', 0],
    ])
    expect(mails[0]!.timeline).toEqual([
      { at: mails[0]!.createdAt, what: 'queued', details: {} },
      { at: mails[0]!.updatedAt, what: 'skipped', details: { reason: 'unsubscribed' } },
    ])
    expect(await shop.contact('new@example.com')).toMatchObject({ subscribed: false })
    expect((await shop.call('GET', '/sandbox/messages')).body.total).toBe(1)
  })

  test('with `subscribed: true` counts the choice first', async () => {
    const shop = await newShop()
    const template = await marketing(shop, 'MARKETING')
    await shop.call('POST', '/contacts', { email: BOB, subscribed: false })
    const answer = await shop.send({ to: [BOB, 'new@example.com'], template, subscribed: true })
    expect((await shop.ended(answer)).map(({ status }) => status)).toEqual(['SENT', 'SENT'])
    expect(await shop.names()).toEqual(expect.arrayContaining(['contact.subscribed']))
  })

  test('of several requests at once each counts for itself', async () => {
    const shop = await newShop()
    const template = await marketing(shop, 'MARKETING')
    const answers = await Promise.all(
      times(40, (index) =>
        index % 2
          ? shop.send({ to: `p${index}@example.com`, template, subscribed: true })
          : shop.send({ to: `p${index}@example.com`, template }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(times(40, (index) => (index % 2 ? 200 : 400)))
    // The same person, in the same moment: once with their consent, once without.
    const twins = await Promise.all([
      shop.send({ to: [ADA, 'p1@example.com'], template }),
      shop.send({ to: ADA, template, subscribed: true }),
      shop.send({ to: ADA }),
    ])
    expect(twins.map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await shop.ended(twins[1]!))[0]!.status).toBe('SENT')
  })

  test('goes to subscribers, and transactional mail to everyone', async () => {
    const shop = await newShop()
    await shop.call('POST', '/contacts', { email: BOB, subscribed: false })
    expect(outcome(await shop.send({ to: BOB }))).toEqual([200])
    expect(outcome(await shop.send({ to: 'new@example.com', template: await shop.template() }))).toEqual([200])
  })
})

describe('contacts', () => {
  test.each<[string, boolean | undefined, boolean | undefined, boolean, string[]]>([
    ['a new one is not subscribed', undefined, undefined, false, []],
    ['a new one that should be is subscribed, which is no change', undefined, true, true, []],
    ['a new one that should not be is not, which is no change', undefined, false, false, []],
    ['a subscriber stays one when nothing is said', true, undefined, true, []],
    ['one that opted out stays out when nothing is said', false, undefined, false, []],
    ['a subscriber that should be one is not told so', true, true, true, []],
    ['a subscriber leaves when asked for', true, false, false, ['contact.unsubscribed']],
    ['one that opted out comes back when asked for', false, true, true, ['contact.subscribed']],
  ])('%s', async (_, before, given, after, expected) => {
    const shop = await newShop()
    if (before !== undefined) await shop.call('POST', '/contacts', { email: ADA, subscribed: before })
    await shop.ended(await shop.send(given === undefined ? {} : { subscribed: given }))
    expect((await shop.contact()).subscribed).toBe(after)
    expect((await shop.names()).filter((name) => name.startsWith('contact.'))).toEqual(expected)
    expect(await shop.consents()).toEqual(expected.length ? [{ subscribed: after, source: 'secret-key' }] : [])
    const { total } = (await shop.call('GET', '/contacts?subscribed=true')).body
    expect(total).toBe(after ? 1 : 0)
  })

  test('get what the rules of data say, and the mail sees all of it', async () => {
    const shop = await newShop()
    await shop.call('POST', '/contacts', { email: ADA, data: { kept: 'k', gone: 'g', same: 'e', code: 'old' } })
    const mail = await shop.deliver({
      subject: '{{kept}}|{{gone}}|{{same}}|{{code}}|{{list}}|{{o.a}}|{{data["first name"]}}|{{flag}}|{{stored}}',
      body: '<p>{{id}}|{{email}}|{{unsubscribeUrl}}|{{subscribed}}</p>',
      data: {
        gone: null,
        same: '',
        code: { value: 'secret', persistent: false },
        list: [1, 2],
        o: { a: 'x' },
        'first name': 'Ada',
        flag: false,
        stored: { value: 's', persistent: true },
        id: 'spoof',
        email: { value: 'spoof', persistent: false },
        unsubscribeUrl: { value: 'https://evil.example', persistent: false },
        service_id: 'spoof',
        sterna_id: 'spoof',
      },
    })
    expect(mail.subject).toBe('k||e|secret|1,2|x|Ada|false|s')
    expect(mail.html).toContain(ADA)
    expect(mail.html).not.toContain('spoof')
    expect(mail.html).not.toContain('evil')
    expect((await shop.contact()).data).toEqual({
      kept: 'k',
      same: 'e',
      code: 'old',
      list: [1, 2],
      o: { a: 'x' },
      'first name': 'Ada',
      flag: false,
      stored: 's',
    })
  })

  test('changed by a later request do not change the mail of an earlier one', async () => {
    const shop = await newShop()
    await hold(shop)
    const answers = []
    for (const code of ['111', '222', null]) answers.push(await shop.send({ subject: 'Code {{code ?? "none"}}', data: { code } }))
    await release(shop)
    const mails = await Promise.all(answers.map(async (answer) => (await shop.ended(answer))[0]!))
    const subjects = await Promise.all(mails.map(async ({ id }) => (await PostalMime.parse(await shop.source(id))).subject))
    expect(subjects).toEqual(['Code 111', 'Code 222', 'Code none'])
  })

  test.each<[string, object | undefined, object, unknown]>([
    ['fills an empty one', undefined, {}, 'Ada'],
    ['fills one without a name', { plan: 'pro' }, {}, 'Ada'],
    ['does not replace one', { name: 'Countess' }, {}, 'Countess'],
    ['does not replace one that is false', { name: false }, {}, false],
    ['counts behind data', undefined, { name: 'Given' }, 'Given'],
    ['counts behind data of a known one', { name: 'Countess' }, { name: 'Given' }, 'Given'],
    ['does not undo a deletion', { name: 'Countess' }, { name: null }, undefined],
    ['does not fill what is to be empty', undefined, { name: null }, undefined],
    ['counts when data says nothing', undefined, { name: '' }, 'Ada'],
    ['is not kept when data has one for this mail', undefined, { name: { value: 'T', persistent: false } }, undefined],
  ])('the name of a recipient %s', async (_, before, data, expected) => {
    const shop = await newShop()
    if (before) await shop.call('POST', '/contacts', { email: ADA, data: before })
    expect(outcome(await shop.send({ to: { name: 'Ada', email: ADA }, data }))).toEqual([200])
    expect((await shop.contact()).data?.name).toEqual(expected)
  })

  test('the first of two names is kept, and the field is known', async () => {
    const shop = await newShop()
    await shop.send({ to: [{ name: 'First', email: ADA }, { name: 'Second', email: ADA }, { name: 'B', email: BOB }, 'c@example.com'] })
    expect([(await shop.contact()).data, (await shop.contact(BOB)).data, (await shop.contact('c@example.com')).data]).toEqual([
      { name: 'First' },
      { name: 'B' },
      null,
    ])
    expect((await shop.call('GET', '/contacts/fields')).body.fields).toContainEqual(
      expect.objectContaining({ field: 'data.name', type: 'string' }),
    )
  })

  test('requests for one contact in one batch amount to the same as one after the other', async () => {
    const request = fc.record({
      fill: fc.option(fc.constantFrom('Ada', 'Bea')),
      data: fc.constantFrom({}, { name: 'Set' }, { name: null }, { name: '' }, { name: { value: 'T', persistent: false } }),
    })
    const source = { by: 'secret-key' as const }
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 5 }), fc.boolean(), async (requests, known) => {
        const [one, other] = [`${newId()}@example.com`, `${newId()}@example.com`]
        const wanted = (email: string): ContactUpsert[] =>
          requests.map(({ fill, data }) =>
            want({ projectId: busy.id, email, subscribedIfNew: false, patch: readData(data), fill: fill ? { name: fill } : {}, source }),
          )
        const before: DataPatch = known ? readData({ name: 'Known' }) : NO_DATA
        for (const email of [one, other])
          await transact(sterna.db, (tx) =>
            upsertContacts(tx, [want({ projectId: busy.id, email, subscribedIfNew: false, patch: before, source })]),
          )
        for (const each of wanted(one)) await transact(sterna.db, (tx) => upsertContacts(tx, [each]))
        await transact(sterna.db, (tx) => upsertContacts(tx, mergeWanted(wanted(other))))
        const rows = await many(
          sterna.db,
          sql<{
            email: string
            data: object
          }>`select email, data from contacts where project_id = ${busy.id} and email in (${one}, ${other})`,
        )
        expect(rows.find(({ email }) => email === other)!.data).toEqual(rows.find(({ email }) => email === one)!.data)
      }),
      { numRuns: 100 },
    )
  })

  test('data that cannot be stored is refused with its key', () =>
    expectRefused([
      ['a list', { data: [] }, [['data', 'invalid_type']]],
      ['a text', { data: 'x' }, [['data', 'invalid_type']]],
      ['501 keys', { data: Object.fromEntries(times(501, (index) => [`k${index}`, 1])) }, [['data', 'too_big']]],
      ['a long key', { data: { ['k'.repeat(10_000)]: 1 } }, [[`data.${'k'.repeat(50)}`, 'too_big']]],
      ['a megabyte', { data: { x: 'x'.repeat(1_000_000) } }, [['data.x', 'too_big']]],
      ['a locale that is a number', { data: { locale: 7 } }, [['data.locale', 'invalid_type']]],
      ['300 KB', { data: Object.fromEntries(times(5, (index) => [`k${index}`, 'x'.repeat(60_000)])) }, [['data', 'too_big']]],
      [
        'much for many',
        {
          to: times(1_000, (index) => `r${index}@example.com`),
          data: Object.fromEntries(times(10, (index) => [`k${index}`, 'x'.repeat(2_000)])),
        },
        [['data', 'too_big']],
      ],
    ]))

  test('data with the names of prototypes is data, or nothing', async () => {
    const shop = await newShop()
    const text = JSON.stringify(shop.mail({ subject: '{{toString}}|{{hasOwnProperty}}|{{x}}' }))
    const data = '{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}},"toString":"t","hasOwnProperty":1,"valueOf":"v"}'
    const answer = await sterna.call('POST', '/v1/send', { key: shop.sk, body: `${text.slice(0, -1)},"data":${data}}` })
    expect(outcome(answer)).toEqual([200])
    const [mail] = await shop.ended(answer)
    expect((await PostalMime.parse(await shop.source(mail!.id))).subject).toBe('t|1|')
    expect((await shop.contact()).data).toEqual({ constructor: { prototype: { y: 1 } }, toString: 't', hasOwnProperty: 1, valueOf: 'v' })
    expect(({} as Record<string, unknown>).x ?? ({} as Record<string, unknown>).y).toBeUndefined()
  })

  test.each(['{"n":1e400}', '{"n":9007199254740993}', '{"n":"\\ud800"}', '{"n":"\\u0000"}', '{"a\\u0000":1}'])(
    'data %s is refused',
    async (data) => {
      const text = JSON.stringify(quiet.mail())
      await expectNothingOf(async () => {
        const answer = await sterna.call('POST', '/v1/send', { key: quiet.sk, body: `${text.slice(0, -1)},"data":${data}}` })
        expect(outcome(answer)).toEqual([422, 'VALIDATION_ERROR'])
      })
    },
  )
})

test('keys that are not the caller’s to set take no effect', async () => {
  const shop = await newShop()
  const id = randomUUID()
  const answer = await shop.send({
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
  const [mail] = await shop.ended(answer)
  expect(mail).toMatchObject({ projectId: shop.id, to: ADA, sourceType: 'TRANSACTIONAL', type: 'TRANSACTIONAL', campaignId: null })
  expect(mail!.id).not.toBe(id)
  expect(mail!.messageId).not.toBe('x@y')
  expect((await shop.contact(BOB)) ?? 'nobody').toBe('nobody')
  const [attached] = (await PostalMime.parse(await shop.source(mail!.id))).attachments
  expect(Buffer.from(attached!.content as ArrayBuffer).toString()).toBe('hello')
})

describe('headers', () => {
  test('of the caller are in the mail, as given', async () => {
    const headers = {
      'X-Order': '42',
      'x-long': 'word '.repeat(190).trim(),
      'X-Unicode': 'Ünï 🦜',
      'X-Unbroken': 'x'.repeat(998),
      'X-Encoded': '=?UTF-8?Q?x?=',
      References: '<a@x.example> <b@x.example>',
      'In-Reply-To': '<b@x.example>',
      'List-Unsubscribe': '<https://x.example/u>, <mailto:u@x.example>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      Precedence: 'bulk',
      'Feedback-ID': 'a:b:c:d',
      constructor: 'c',
    }
    const mail = await busy.deliver({ headers })
    const found = new Map(mail.headers.map(({ key, value }) => [key, decodeWords(value)]))
    for (const [name, value] of Object.entries(headers)) expect([name, found.get(name.toLowerCase())]).toEqual([name, value])
    expect(mail.headers.filter(({ key }) => key.startsWith('list-unsubscribe'))).toHaveLength(2)
  })

  test('of the caller may say where replies go', async () => {
    const mail = await busy.deliver({ headers: { 'reply-TO': 'Help <help@x.example>, other@x.example' }, reply: BOB })
    expect(mail.replyTo).toEqual([
      { name: 'Help', address: 'help@x.example' },
      { name: '', address: 'other@x.example' },
    ])
    expect(mail.headers.filter(({ key }) => key === 'reply-to')).toHaveLength(1)
  })

  test('may be fifty', async () => {
    const headers = Object.fromEntries(times(50, (index) => [`X-H${index}`, 'v']))
    expect((await busy.deliver({ headers })).headers.filter(({ key }) => key.startsWith('x-h'))).toHaveLength(50)
    await expectRefused([['51', { headers: { ...headers, 'X-More': 'v' } }, [['headers', 'too_big']]]])
  })

  test('that are ours are refused in any spelling', () =>
    expectRefused(
      [
        ...['From', 'Sender', 'To', 'Cc', 'Bcc', 'Return-Path', 'Received', 'DKIM-Signature', 'Date', 'Message-ID', 'MIME-Version'],
        ...['Content-Type', 'Content-Transfer-Encoding', 'Content-', 'Content-X', 'Resent-To', 'Resent-Bcc', 'X-SES-Configuration-Set'],
        ...['X-Sterna-Id', 'Subject'],
      ].flatMap((name) =>
        [name, name.toLowerCase(), name.toUpperCase()].map((spelt): [string, object, [string, string][]] => [
          spelt,
          { headers: { [spelt]: 'v@x.example' } },
          [[`headers.${spelt}`, 'custom']],
        ]),
      ),
    ))

  test('with names or values that break the mail are refused', () =>
    expectRefused([
      ...['X-A\r\nX-B', 'X-A\n', '\rX', 'a b', 'a:', 'é', 'X(a)', 'X@a', 'x'.repeat(77), ' X', 'X\t', '"X"', 'X,'].map(
        (name): [string, object, [string, string][]] => [name, { headers: { [name]: 'v' } }, [[`headers.${name}`, 'invalid_string']]],
      ),
      ['no name', { headers: { '': 'v' } }, [['headers.', 'invalid_string']]],
      ['CR LF', { headers: { 'X-A': 'v\r\nBcc: x@y.example' } }, [['headers.X-A', 'invalid_string']]],
      ['LF', { headers: { 'X-A': 'v\nBcc: x@y.example' } }, [['headers.X-A', 'invalid_string']]],
      ['CR', { headers: { 'X-A': 'v\rBcc: x@y.example' } }, [['headers.X-A', 'invalid_string']]],
      ['999 characters', { headers: { 'X-A': 'x'.repeat(999) } }, [['headers.X-A', 'too_big']]],
      ['a number', { headers: { 'X-A': 7 } }, [['headers.X-A', 'invalid_type']]],
      ['a list', { headers: { 'X-A': ['v'] } }, [['headers.X-A', 'invalid_type']]],
      ['null', { headers: { 'X-A': null } }, [['headers.X-A', 'invalid_type']]],
      ['twice', { headers: { 'X-A': 'v', 'x-a': 'w' } }, [['headers.x-a', 'custom']]],
      ['a list of headers', { headers: [['X-A', 'v']] }, [['headers', 'invalid_type']]],
      ['1,000', { headers: Object.fromEntries(times(1_000, (index) => [`X-${index}`, 'v'])) }, [['headers', 'too_big']]],
    ]))
})

test('whatever is accepted arrives as it was given, in its own header', async () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 120 }).filter((each) => !/[{}]/.test(each) && each.trim() === each)
  const breaking = fc.constantFrom('\r\n', '\n', '\r', '\0', '\u2028', '"', ',', '<', '>', '@', '=?', '?=', ';', '\t', '\\')
  const nasty = fc.array(fc.oneof(text, breaking, text), { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''))
  const given = fc.record({ subject: nasty, toName: nasty, fromName: nasty, header: nasty, filename: nasty })
  const samples = fc.sample(given, { numRuns: 120, seed: 7 })
  let arrived = 0
  const usual = (await busy.deliver({ headers: { 'X-Given': 'x' } })).headers.map(({ key }) => key).sort()
  await Promise.all(
    samples.map(async ({ subject, toName, fromName, header, filename }) => {
      const answer = await busy.send({
        to: { name: toName, email: ADA },
        from: { name: fromName, email: `a@${busy.domain}` },
        subject,
        headers: { 'X-Given': header },
        attachments: [file({ filename })],
      })
      if (answer.status !== 200) return expect(outcome(answer)).toEqual([422, 'VALIDATION_ERROR'])
      arrived++
      const [mail] = await busy.ended(answer)
      const parsed = await PostalMime.parse(await busy.source(mail!.id))
      expect(parsed.headers.map(({ key }) => key).sort()).toEqual(usual)
      expect(parsed.to).toEqual([{ name: toName.trim(), address: ADA }])
      expect(parsed.from).toEqual({ name: fromName.trim() || 'Test', address: `a@${busy.domain}` })
      expect([parsed.subject, decodeWords(parsed.headers.find(({ key }) => key === 'x-given')!.value)]).toEqual([subject, header])
      expect(parsed.attachments.map((each) => each.filename)).toEqual([filename])
    }),
  )
  expect(arrived).toBeGreaterThan(10)
})

describe('attachments', () => {
  test('arrive byte for byte, inline ones beside the text', async () => {
    const bytes = Buffer.from(times(256, (index) => index))
    const mail = await busy.deliver({
      body: '<img src="cid:logo@1"><p>Hi</p>',
      attachments: [
        file({ filename: 'Rechnung März 🦜.pdf', content: bytes.toString('base64'), contentType: 'application/pdf' }),
        file({ filename: "it's.txt", content: '' }),
        file({ filename: 'logo.png', contentType: 'image/png', contentId: 'logo@1', disposition: 'inline', content: base64('png') }),
        file({ filename: 'b.bin', contentId: 'also', content: base64('x'.repeat(100_000)) }),
      ],
    })
    expect(mail.html).toContain('cid:logo@1')
    const found = mail.attachments.map(({ filename, mimeType, disposition, contentId, content }) => ({
      filename,
      mimeType,
      disposition,
      contentId,
      bytes: Buffer.from(content as ArrayBuffer).toString('base64'),
    }))
    expect(found).toEqual([
      expect.objectContaining({
        filename: 'logo.png',
        mimeType: 'image/png',
        disposition: 'inline',
        contentId: '<logo@1>',
        bytes: base64('png'),
      }),
      expect.objectContaining({
        filename: 'Rechnung März 🦜.pdf',
        mimeType: 'application/pdf',
        disposition: 'attachment',
        bytes: bytes.toString('base64'),
      }),
      expect.objectContaining({ filename: "it's.txt", bytes: '' }),
      expect.objectContaining({ filename: 'b.bin', contentId: '<also>', bytes: base64('x'.repeat(100_000)) }),
    ])
  })

  test('may be ten, and ten megabytes together', async () => {
    expect((await busy.deliver({ attachments: times(10, () => file()) })).attachments).toHaveLength(10)
    const mail = await busy.deliver({ attachments: [file({ content: Buffer.alloc(10 * 1024 * 1024, 7).toString('base64') })] })
    expect((mail.attachments[0]!.content as ArrayBuffer).byteLength).toBe(10 * 1024 * 1024)
  })

  test('are refused when they are too many, too large, or not what they say', () => {
    const at = (field: string, code: string): [string, string][] => [[`attachments.0.${field}`, code]]
    const one = (more: object) => ({ attachments: [file(more)] })
    return expectRefused([
      ['11', { attachments: times(11, () => file()) }, [['attachments', 'too_big']]],
      ['10 MB and a byte', one({ content: Buffer.alloc(10 * 1024 * 1024 + 1).toString('base64') }), [['attachments', 'too_big']]],
      [
        '10 MB and a byte together',
        { attachments: [1, 5 * 1024 * 1024, 5 * 1024 * 1024].map((size) => file({ content: Buffer.alloc(size).toString('base64') })) },
        [['attachments', 'too_big']],
      ],
      ['an object', { attachments: file() }, [['attachments', 'invalid_type']]],
      ['a text', { attachments: ['x'] }, [['attachments.0', 'invalid_type']]],
      ...['filename', 'content', 'contentType'].map((name): [string, object, [string, string][]] => [
        name,
        one({ [name]: undefined }),
        at(name, 'required'),
      ]),
      ...['QUJDR', 'Q=JD', '=', '====', 'QQ=', 'QUJD=', 'QQ==QQ==', 'QUI_', 'QUI-', '!!!!', 'data:text/plain;base64,QUJD'].map(
        (content): [string, object, [string, string][]] => [content, one({ content }), at('content', 'invalid_string')],
      ),
      ['empty filename', one({ filename: '' }), [...at('filename', 'too_small'), ...at('filename', 'invalid_string')]],
      ...['a"b', 'a\r\nX: y', 'a\nb', 'a\rb', '../a', 'a/../b', 'a\\..\\b', 'a\u202efdp.exe', 'a\u2066b', 'a\u2028b', 'a\tb'].map(
        (filename): [string, object, [string, string][]] => [filename, one({ filename }), at('filename', 'invalid_string')],
      ),
      ['256 characters', one({ filename: 'x'.repeat(256) }), at('filename', 'too_big')],
      ...[
        'text',
        'text/plain; name',
        'text/plain; charset="utf-8',
        'text/plain\r\nX: y',
        'text/plain; charset=utf-8\r\nX: y',
        'text/',
        '/plain',
        'a b/c',
        'text/plain;',
        '',
        'multipart/mixed',
        'Multipart/Related',
      ].map((contentType): [string, object, [string, string][]] => [
        contentType,
        one({ contentType }),
        at('contentType', 'invalid_string'),
      ]),
      ...['a>\r\nX:', 'a b', '<a>', 'a"', 'é', ''].map((contentId): [string, object, [string, string][]] => [
        contentId,
        one({ contentId }),
        at('contentId', 'invalid_string'),
      ]),
      ['inline without an id', one({ disposition: 'inline' }), at('contentId', 'required')],
      ['another disposition', one({ disposition: 'form-data' }), at('disposition', 'invalid_enum_value')],
    ])
  })

  test('are as many and as large as the installation says, but the whole mail fits 40 MB', async () => {
    const large = await startApp(sterna.url, { env: { ...ENV, MAX_ATTACHMENTS: '2', MAX_ATTACHMENT_MB: '30' } })
    try {
      const megabytes = (size: number) => file({ content: Buffer.alloc(size * 1024 * 1024).toString('base64') })
      await expectNothingOf(async () => {
        const three = await quiet.send({ attachments: times(3, () => file()) }, { at: large.sterna })
        expect(issues(three)).toEqual([['attachments', 'too_big']])
        const whole = await quiet.send({ attachments: [megabytes(15), megabytes(15)] }, { at: large.sterna })
        expect([outcome(whole), issues(whole)]).toEqual([[422, 'VALIDATION_ERROR'], [['attachments', 'too_big']]])
      })
      expect(outcome(await busy.send({ attachments: [megabytes(14), megabytes(14)] }, { at: large.sterna }))).toEqual([200])
    } finally {
      await large.close()
    }
  }, 30_000)
})

describe('an Idempotency-Key', () => {
  test('lets one of fifty at once through, over two nodes, and tells the others which mails it made', async () => {
    const shop = await newShop()
    const answers = await Promise.all(
      times(50, (index) => shop.send({ to: [ADA, BOB] }, { key: 'order-1', at: index % 2 ? second.sterna : sterna })),
    )
    const [first, ...more] = answers.filter(({ status }) => status === 200)
    expect(more).toEqual([])
    const { emails } = first!.body.data
    for (const answer of answers.filter((each) => each !== first)) {
      expect(outcome(answer)).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
      expect(answer.body.error.details).toEqual({
        key: 'order-1',
        originalRequest: 'POST /v1/send',
        originalRequestAt: expect.stringMatching(TIME),
        originalStatusCode: 200,
        emails,
      })
    }
    await shop.ended(first!)
    expect((await shop.call('GET', '/emails')).body.total).toBe(2)
    expect((await shop.call('GET', '/sandbox/messages')).body.total).toBe(2)
  })

  test('is the project’s, whichever endpoint took it', async () => {
    const [shop, other] = [await newShop(), await newShop()]
    const track = (key: string) =>
      sterna.call('POST', '/v1/track', { key: shop.pk, body: { email: ADA, event: 'x' }, headers: { 'idempotency-key': key } })
    const sent = await shop.send({}, { key: 'a' })
    const tracked = await track('a')
    expect([outcome(tracked), tracked.body.error.details.emails]).toEqual([[409, 'IDEMPOTENCY_KEY_REUSED'], sent.body.data.emails])
    expect(outcome(await track('b'))).toEqual([200])
    expect((await shop.send({}, { key: 'b' })).body.error.details.originalRequest).toBe('POST /v1/track')
    expect(outcome(await other.send({}, { key: 'a' }))).toEqual([200])
  })

  test('is not burnt by a refusal or a failure of ours', async () => {
    const shop = await newShop()
    const marketing = await shop.template({ type: 'MARKETING' })
    expect((await shop.send({ subject: '' }, { key: 'k' })).status).toBe(422)
    expect((await shop.send({ from: 'a@bank.example' }, { key: 'k' })).status).toBe(403)
    expect((await shop.send({ template: randomUUID() }, { key: 'k' })).status).toBe(404)
    expect((await shop.send({ template: marketing }, { key: 'k' })).status).toBe(400)
    await sql`create function fail_here() returns trigger language plpgsql as $$ begin raise exception 'on purpose'; end $$`.execute(
      sterna.db,
    )
    await sql`create trigger fail_here before insert on emails for each row when (new.to_address = 'fail@example.com') execute function fail_here()`.execute(
      sterna.db,
    )
    await expectNothingOf(async () =>
      expect(outcome(await shop.send({ to: [BOB, 'fail@example.com'] }, { key: 'k' }))).toEqual([500, 'INTERNAL_SERVER_ERROR']),
    )
    await sql`drop trigger fail_here on emails`.execute(sterna.db)
    expect((await shop.send({}, { key: 'k' })).status).toBe(200)
    expect((await shop.send({}, { key: 'k' })).status).toBe(409)
    expect(await shop.keys()).toBe(1)
  })

  test('is taken over when it has expired, and not before', async () => {
    const shop = await newShop()
    await shop.send({}, { key: 'k' })
    const age = (interval: string) =>
      sql`update idempotency_keys set created_at = now() - ${interval}::interval where project_id = ${shop.id}`.execute(sterna.db)
    await age('23:59:50')
    expect((await shop.send({}, { key: 'k' })).status).toBe(409)
    await age('24:00:01')
    expect((await shop.send({}, { key: 'k' })).status).toBe(200)
    expect((await shop.send({}, { key: 'k' })).status).toBe(409)
  })

  test('that is none is refused', () =>
    expectNothingOf(async () => {
      for (const key of ['', 'x'.repeat(256), 'a\tb', 'a\x7f', 'é'])
        expect([key, outcome(await quiet.send({}, { key }))]).toEqual([key, [400, 'BAD_REQUEST']])
    }))
})

describe('a key', () => {
  test('of the wrong kind, or of nobody, is refused', () =>
    expectNothingOf(async () => {
      for (const sk of [quiet.pk, `sk_${'0'.repeat(64)}`, quiet.sk.toUpperCase(), quiet.sk.replace('sk_', 'pk_')])
        expect(outcome(await quiet.send({}, { sk }))).toEqual([401, 'INVALID_API_KEY'])
      expect(outcome(await sterna.call('POST', '/v1/send', { body: quiet.mail() }))).toEqual([401, 'MISSING_AUTH'])
      const cookie = { cookie: quiet.owner.cookie, headers: { 'x-project-id': quiet.id }, body: quiet.mail() }
      expect(outcome(await sterna.call('POST', '/v1/send', cookie))).toEqual([401, 'MISSING_AUTH'])
    }))

  test('that was replaced, or whose project is disabled or deleted, stops at once, on every node', async () => {
    const shop = await newShop()
    for (const at of [sterna, second.sterna]) expect((await shop.send({}, { at })).status).toBe(200)
    const { body } = await shop.owner.call('POST', `/users/@me/projects/${shop.id}/regenerate-keys`)
    await expectNothingOf(async () => {
      for (const at of [sterna, second.sterna]) expect(outcome(await shop.send({}, { at }))).toEqual([401, 'INVALID_API_KEY'])
    })
    const sk = body.secret as string
    for (const at of [sterna, second.sterna]) expect((await shop.send({}, { at, sk })).status).toBe(200)
    await sql`update projects set disabled = true where id = ${shop.id}`.execute(sterna.db)
    for (const at of [sterna, second.sterna])
      expect(outcome(await shop.send({ to: 'new@example.com' }, { at, sk }))).toEqual([403, 'PROJECT_DISABLED'])
    await sql`update projects set disabled = false where id = ${shop.id}`.execute(sterna.db)
    for (const at of [sterna, second.sterna]) expect((await shop.send({}, { at, sk })).status).toBe(200)
    await shop.owner.call('DELETE', `/users/@me/projects/${shop.id}`)
    for (const at of [sterna, second.sterna]) expect(outcome(await shop.send({}, { at, sk }))).toEqual([401, 'INVALID_API_KEY'])
  })
})

// Holding mails back --------------------------------------------------------------------------------------------------

beforeAll(async () => {
  await sql`create table held (project_id uuid primary key)`.execute(sterna.db)
  await sql`
    create function hold_back() returns trigger language plpgsql as $$ begin
      if new.state = 'queued' and exists (select from held h where h.project_id = new.project_id) then new.state := 'deferred'; end if;
      return new;
    end $$
  `.execute(sterna.db)
  await sql`create trigger hold_back before insert on emails for each row execute function hold_back()`.execute(sterna.db)
})

/** Mails of this shop stay where they are until they are released. */
async function hold(shop: Shop) {
  await sql`insert into held values (${shop.id})`.execute(sterna.db)
}

async function release(shop: Shop) {
  await sql`delete from held where project_id = ${shop.id}`.execute(sterna.db)
  await sql`update emails set state = 'queued' where project_id = ${shop.id} and state = 'deferred'`.execute(sterna.db)
  await sql`select pg_notify('sterna_emails', '')`.execute(sterna.db)
}

describe('between the request and the mail', () => {
  async function meanwhile(change: (shop: Shop) => Promise<unknown>, more: (shop: Shop) => Promise<object> = async () => ({})) {
    const shop = await newShop()
    await shop.call('POST', '/contacts', { email: ADA, subscribed: true })
    await hold(shop)
    const answer = await shop.send(await more(shop))
    expect(outcome(answer)).toEqual([200])
    const id = answer.body.data.emails[0].email as string
    expect((await shop.email(id)).status).toBe('PENDING')
    await change(shop)
    await release(shop)
    return { shop, answer, id }
  }
  const unsubscribe = async (shop: Shop) => shop.call('PATCH', `/contacts/${(await shop.contact()).id}`, { subscribed: false })
  const marketing = async (shop: Shop) => ({ template: await shop.template({ type: 'MARKETING' }) })

  test('a contact may go: the mail is skipped, and its record has no contact', async () => {
    const { shop, answer } = await meanwhile(async (each) => each.call('DELETE', `/contacts/${(await each.contact()).id}`))
    const [mail] = await shop.ended(answer)
    expect(mail).toMatchObject({ status: 'SKIPPED', error: 'contact_deleted', contactId: null, to: ADA })
    expect((mail!.timeline as { what: string }[]).map(({ what }) => what)).toEqual(['queued', 'skipped'])
  })

  test('a contact may unsubscribe: marketing is skipped, anything else goes out', async () => {
    const skipped = await meanwhile(unsubscribe, marketing)
    expect((await skipped.shop.ended(skipped.answer))[0]).toMatchObject({ status: 'SKIPPED', error: 'unsubscribed' })
    const sent = await meanwhile(unsubscribe)
    expect((await sent.shop.ended(sent.answer))[0]).toMatchObject({ status: 'SENT' })
    expect((await skipped.shop.names()).filter((name) => name.startsWith('email.'))).toEqual([])
  })

  test('an address may bounce elsewhere: the mail is skipped', async () => {
    const { shop, answer } = await meanwhile((each) =>
      sql`insert into suppressions (project_id, address, reason) values (${each.id}, ${ADA}, 'bounce')`.execute(sterna.db),
    )
    expect((await shop.ended(answer))[0]).toMatchObject({ status: 'SKIPPED', error: 'suppressed' })
    expect((await shop.call('GET', '/sandbox/messages')).body.data).toEqual([])
  })

  test('a domain may go: the mail fails', async () => {
    const { shop, answer } = await meanwhile((each) => each.call('DELETE', `/domains/${each.domainId}`))
    expect((await shop.ended(answer))[0]).toMatchObject({ status: 'FAILED', error: 'domain_not_verified' })
    const [failed] = (await shop.events()).filter(({ name }) => name === 'email.failed')
    expect(failed!.data).toMatchObject({ reason: 'domain_not_verified', subject: 'Hi' })
  })

  test('a project may be disabled: the mail waits', async () => {
    const { shop, answer, id } = await meanwhile((each) =>
      sql`update projects set disabled = true where id = ${each.id}`.execute(sterna.db),
    )
    const waiting = await soon(async () => {
      const found = await shop.email(id)
      expect(found.error).toBe('project_disabled')
      return found
    })
    expect(waiting).toMatchObject({ status: 'PENDING' })
    expect((waiting.timeline as { what: string; details: object }[]).at(-1)).toMatchObject({
      what: 'deferred',
      details: { reason: 'project_disabled' },
    })
    await sql`update projects set disabled = false where id = ${shop.id}`.execute(sterna.db)
    await sql`update emails set due_at = now() where project_id = ${shop.id}`.execute(sterna.db)
    expect((await shop.ended(answer))[0]).toMatchObject({ status: 'SENT', error: null, attempts: 2 })
  })

  test('a project may be deleted: nothing is sent, and nothing of it is left', async () => {
    const { shop } = await meanwhile(
      (each) => each.owner.call('DELETE', `/users/@me/projects/${each.id}`),
      async () => ({ attachments: [file()] }),
    )
    const left = () =>
      many(
        sterna.db,
        sql`
          select 'mail' from emails where project_id = ${shop.id}
          union all select 'content' from contents where project_id = ${shop.id}
          union all select 'attachment' from attachments where project_id = ${shop.id}
          union all select 'message' from sandbox_messages where project_id = ${shop.id}
        `,
      )
    await soon(async () => expect(await left()).toEqual([]))
  })

  test('a project may be reset: its mails and messages are gone, and it can send again', async () => {
    const shop = await newShop()
    await shop.ended(await shop.send({ attachments: [file()] }))
    await shop.owner.call('POST', `/users/@me/projects/${shop.id}/reset`)
    await soon(async () => {
      expect((await shop.call('GET', '/emails')).body.total).toBe(0)
      expect((await shop.call('GET', '/sandbox/messages')).body.total).toBe(0)
      expect(await many(sterna.db, sql`select 1 from contents where project_id = ${shop.id}`)).toEqual([])
      expect(await many(sterna.db, sql`select 1 from attachments where project_id = ${shop.id}`)).toEqual([])
    })
    expect((await shop.ended(await shop.send()))[0]).toMatchObject({ status: 'SENT' })
  })

  test('a mail of more than 40 MB fails, with the reason', async () => {
    const data = { x: { value: '€'.repeat(60_000), persistent: false } }
    const answer = await busy.send({ body: '{% for n in (1..80) %}{{x}}{% endfor %}', data })
    expect((await busy.ended(answer))[0]).toMatchObject({ status: 'FAILED', error: 'The mail has more than 40 MB.' })
  })

  test('a mail that cannot be rendered fails, with the reason', async () => {
    const answer = await busy.send({ subject: '{{x}}', data: { x: { value: 'x'.repeat(999), persistent: false } } })
    expect((await busy.ended(answer))[0]).toMatchObject({ status: 'FAILED', error: 'The rendered subject is longer than 998 characters.' })
  })
})

describe('addresses of the sandbox that behave', () => {
  const keys = ['campaignId', 'emailId', 'from', 'messageId', 'sourceType', 'subject', 'templateId', 'workflowExecutionId']
  async function tell(to: string, status: string) {
    const shop = await newShop()
    await shop.call('POST', '/contacts', { email: to, subscribed: true })
    const answer = await shop.send({ to })
    const id = answer.body.data.emails[0].email as string
    const mail = await soon(async () => {
      const found = await shop.email(id)
      expect(found.status).toBe(status)
      return found
    })
    const events = (await shop.events()).reverse()
    for (const { name, data, emailId, contactId } of events.filter((each) => each.name.startsWith('email.'))) {
      expect([
        name,
        Object.keys(data)
          .filter((key) => keys.includes(key))
          .sort(),
      ]).toEqual([name, keys])
      expect([data.emailId, emailId, contactId, data.messageId, data.sourceType, data.templateId]).toEqual([
        id,
        id,
        mail.contactId,
        mail.messageId,
        'TRANSACTIONAL',
        null,
      ])
    }
    return { shop, mail, events, what: (mail.timeline as { what: string }[]).map(({ what }) => what) }
  }

  test('anybody: it is sent', async () => {
    const { events, mail, what } = await tell(ADA, 'SENT')
    expect(events.map(({ name }) => name)).toEqual(['email.sent'])
    expect(events[0]!.data.sentAt).toBe(mail.sentAt)
    expect(what).toEqual(['queued', 'email.sent'])
  })

  test.each(['constructor', '__proto__'])('%s@: it is sent like to anybody', async (local) => {
    const { events } = await tell(`${local}@example.com`, 'SENT')
    expect(events.map(({ name }) => name)).toEqual(['email.sent'])
  })

  test('delivered@: it is delivered', async () => {
    const { shop, events, mail, what } = await tell('delivered+1@example.com', 'DELIVERED')
    expect(events.map(({ name }) => name)).toEqual(['email.sent', 'email.delivery'])
    expect(events[1]!.data.deliveredAt).toBe(mail.deliveredAt)
    expect(what).toEqual(['queued', 'email.sent', 'email.delivery'])
    expect((await shop.contact('delivered+1@example.com')).subscribed).toBe(true)
  })

  test('bounce@: it comes back, and nobody writes to it any more', async () => {
    const { shop, events, mail } = await tell('bounce@example.com', 'BOUNCED')
    expect(events.map(({ name }) => name)).toEqual(['email.sent', 'email.bounce', 'contact.unsubscribed'])
    expect(events[1]!.data).toMatchObject({ bounceType: 'Permanent', reason: expect.stringContaining('550') })
    expect(events[2]!.data).toEqual({ reason: 'bounce' })
    expect(mail.bouncedAt).toMatch(TIME)
    expect((await shop.contact('bounce@example.com')).subscribed).toBe(false)
    expect(await shop.consents()).toEqual([{ subscribed: false, source: 'bounce' }])
    const [again] = await shop.ended(await shop.send({ to: 'bounce@example.com' }))
    expect(again).toMatchObject({ status: 'SKIPPED', error: 'suppressed', attempts: 1 })
    expect((await shop.call('GET', '/contacts?subscribed=true')).body.total).toBe(0)
  })

  test('complaint@: they complain, and nobody writes to them any more', async () => {
    const { shop, events } = await tell('complaint@example.com', 'COMPLAINED')
    expect(events.map(({ name }) => name)).toEqual(['email.sent', 'email.delivery', 'email.complaint', 'contact.unsubscribed'])
    expect(events[3]!.data).toEqual({ reason: 'complaint' })
    const [again] = await shop.ended(await shop.send({ to: 'complaint@example.com' }))
    expect(again).toMatchObject({ status: 'SKIPPED', error: 'suppressed' })
    // Of another project they may be a happy reader.
    expect((await busy.ended(await busy.send({ to: 'bounce-no@example.com' })))[0]!.status).toBe('SENT')
  })

  test('delay@: it is tried again later', async () => {
    const shop = await newShop()
    const id = (await shop.send({ to: 'delay@example.com' })).body.data.emails[0].email
    const mail = await soon(async () => {
      const found = await shop.email(id)
      expect(found.error).toContain('451')
      return found
    })
    expect(mail).toMatchObject({ status: 'PENDING', attempts: 1, sentAt: null })
    expect((mail.timeline as { what: string }[]).map(({ what }) => what)).toEqual(['queued', 'deferred'])
    expect(await shop.names()).toEqual([])
    expect((await shop.call('GET', '/sandbox/messages')).body.total).toBe(0)
  })

  test('refuse@: it bounces at once, the reason is kept, and the address gets no more emails', async () => {
    const { shop, mail } = await tell('refuse@example.com', 'BOUNCED')
    const events = await soon(async () => {
      const told = (await shop.events()).reverse()
      expect(told.map(({ name }) => name)).toEqual(['email.bounce', 'contact.unsubscribed'])
      return told
    })
    expect(events[0]).toMatchObject({ emailId: mail.id, data: { bounceType: 'Permanent', reason: expect.stringContaining('550') } })
    expect(events[1]!.data).toEqual({ reason: 'bounce' })
    expect(await shop.email(mail.id)).toMatchObject({
      status: 'BOUNCED',
      errorCode: 'bounced',
      error: events[0]!.data.reason,
      bouncedAt: expect.stringMatching(TIME),
    })
    expect(await shop.consents()).toEqual([{ subscribed: false, source: 'bounce' }])
    expect((await shop.ended(await shop.send({ to: 'refuse@example.com' })))[0]).toMatchObject({ status: 'SKIPPED', error: 'suppressed' })
  })
})

describe('the list of mails', () => {
  test('is newest first, by pages, with filters', async () => {
    const shop = await newShop()
    const sent = await shop.send({ to: times(25, (index) => `r${index}@example.com`) })
    await shop.ended(sent)
    const failing = await shop.send({ to: 'refuse@example.com' })
    await shop.ended(failing)
    const ids = [...sent.body.data.emails, ...failing.body.data.emails].map(({ email }: { email: string }) => email).reverse()

    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body }: Answer = await shop.call('GET', `/emails?limit=10${cursor ? `&cursor=${cursor}` : ''}`)
      expect(body.total).toBe(cursor ? 0 : 26)
      expect(body.hasMore).toBe(body.cursor !== null)
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      cursor = body.cursor
    }
    expect(seen).toEqual(ids)

    const list = async (query: string) => (await shop.call('GET', `/emails?${query}`)).body
    expect((await list('status=BOUNCED')).data.map(({ id }: Email) => id)).toEqual([ids[0]])
    expect(await list('status=SENT&limit=1')).toMatchObject({ total: 25, hasMore: true })
    expect(await list('status=OPENED')).toMatchObject({ total: 0, data: [] })
    const { id: contactId } = sent.body.data.emails[3].contact
    expect((await list(`contactId=${contactId}`)).data.map(({ id }: Email) => id)).toEqual([sent.body.data.emails[3].email])
    for (const bad of ['contactId=x', `contactId=${randomUUID()}`, 'campaignId=x', `campaignId=${randomUUID()}`, 'contactId='])
      expect([bad, await list(bad)]).toEqual([bad, { data: [], cursor: null, hasMore: false, total: 0 }])
    expect(outcome(await shop.call('GET', '/emails?status=GONE'))).toEqual([422, 'VALIDATION_ERROR'])
    const { cursor } = await list('limit=10')
    for (const bad of [`status=SENT&cursor=${cursor}`, 'cursor=x', `cursor=${cursor}x`])
      expect(outcome(await shop.call('GET', `/emails?${bad}`))).toEqual([400, 'BAD_REQUEST'])
    expect((await list('limit=1000')).data).toHaveLength(26)

    for (const path of [`/emails/${ids[0]}`, `/sandbox/messages/${randomUUID()}`])
      expect(outcome(await quiet.call('GET', path))).toEqual([404, 'RESOURCE_NOT_FOUND'])
    expect((await quiet.call('GET', `/emails?contactId=${contactId}`)).body.total).toBe(0)
  })

  test.each<[string, string, string | null]>([
    [`state = 'queued'`, 'PENDING', null],
    [`state = 'deferred', error = 'busy'`, 'PENDING', 'busy'],
    [`state = 'sending'`, 'SENDING', null],
    [`state = 'unknown', unknown_since = now()`, 'SENDING', null],
    [`state = 'sent'`, 'SENT', null],
    [`state = 'sent', delivered_at = now()`, 'DELIVERED', null],
    [`state = 'sent', delivered_at = now(), opened_at = now()`, 'OPENED', null],
    [`state = 'sent', opened_at = now()`, 'OPENED', null],
    [`state = 'sent', opened_at = now(), clicked_at = now()`, 'CLICKED', null],
    [`state = 'sent', clicked_at = now(), bounced_at = now()`, 'BOUNCED', null],
    [`state = 'sent', clicked_at = now(), bounced_at = now(), complained_at = now()`, 'COMPLAINED', null],
    [`state = 'failed', error = 'e'`, 'FAILED', 'e'],
    [`state = 'skipped', error = 'e'`, 'SKIPPED', 'e'],
    [`state = 'cancelled'`, 'SKIPPED', 'cancelled'],
  ])('a row with %s reads %s', async (row, status, error) => {
    const shop = await newShop()
    await hold(shop)
    const id = (await shop.send()).body.data.emails[0].email as string
    // In a transaction that ends as it began: nobody may take it meanwhile.
    await transact(sterna.db, async (tx) => {
      await sql`update emails set ${sql.raw(row)}, due_at = null where id = ${id}`.execute(tx)
      const { emailStatus, ...found } = await readInside(tx, shop, id)
      expect([emailStatus, found.error, found.outcomeUnknownSince !== null]).toEqual([status, error, row.includes('unknown')])
      await sql`update emails set state = 'deferred' where id = ${id}`.execute(tx)
    })
  })
})

async function readInside(tx: Parameters<typeof findEmail>[0], shop: Shop, id: string) {
  const { status, error, outcomeUnknownSince } = (await findEmail(tx, shop.id, id))!
  const listed = await listEmails(tx, sterna.secrets, shop.id, { limit: 1, status })
  expect(listed.data.map((each) => each.id)).toEqual([id])
  return { emailStatus: status, error, outcomeUnknownSince }
}

describe('the sandbox', () => {
  test('lists what would have been sent, newest first, with its source', async () => {
    const shop = await newShop()
    for (const to of [ADA, BOB, 'c@example.com']) await shop.ended(await shop.send({ to, subject: 'To {{email}}' }))
    const { body } = await shop.call('GET', '/sandbox/messages?limit=2')
    expect(body).toEqual({
      data: ['c@example.com', BOB].map((to) => ({
        id: expect.stringMatching(UUID7),
        emailId: expect.stringMatching(UUID7),
        to,
        from: `hello@${shop.domain}`,
        subject: `To ${to}`,
        createdAt: expect.stringMatching(TIME),
      })),
      cursor: expect.any(String),
      hasMore: true,
      total: 3,
    })
    const next = (await shop.call('GET', `/sandbox/messages?cursor=${body.cursor}`)).body
    expect([next.data.map(({ to }: { to: string }) => to), next.total, next.cursor]).toEqual([[ADA], 0, null])
    const { source, ...message } = (await shop.call('GET', `/sandbox/messages/${body.data[0].id}`)).body
    expect(message).toEqual(body.data[0])
    expect(source).toContain('Subject: To c@example.com\r\n')
    expect(outcome(await quiet.call('GET', `/sandbox/messages/${body.data[0].id}`))).toEqual([404, 'RESOURCE_NOT_FOUND'])
    expect(outcome(await shop.call('GET', '/sandbox/messages?cursor=x'))).toEqual([400, 'BAD_REQUEST'])
  })

  test('keeps the newest thousand of a project', async () => {
    const [shop, other] = [await newShop(), await newShop()]
    const fill = (projectId: string) =>
      sql`
        insert into sandbox_messages (project_id, id, email_id, recipient, sender, subject, source)
        select ${projectId}, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, ${randomUUID()}, 'a', 'b', n::text, ''
        from generate_series(1, 1200) n
      `.execute(sterna.db)
    await fill(shop.id)
    await fill(other.id)
    await shop.ended(await shop.send())
    const kept = await many(
      sterna.db,
      sql<{ subject: string }>`select subject from sandbox_messages where project_id = ${shop.id} order by id`,
    )
    expect([kept.length, kept[0]!.subject, kept.at(-1)!.subject]).toEqual([1_000, '202', 'Hi'])
    expect((await other.call('GET', '/sandbox/messages')).body.total).toBe(1_200)
    await shop.ended(await shop.send({ to: times(120, (index) => `r${index}@example.com`) }))
    const { total } = (await shop.call('GET', '/sandbox/messages')).body
    expect(total).toBeGreaterThanOrEqual(1_000)
    expect(total).toBeLessThan(1_100)
  })

  test('keeps no more than a hundred megabytes of a project', async () => {
    const shop = await newShop()
    await sql`
      insert into sandbox_messages (project_id, id, email_id, recipient, sender, subject, source)
      select ${shop.id}, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, ${randomUUID()}, 'a', 'b', n::text,
        convert_to(repeat('x', 30000000), 'UTF8')
      from generate_series(1, 5) n
    `.execute(sterna.db)
    await shop.ended(await shop.send())
    const kept = await many(
      sterna.db,
      sql<{ subject: string }>`select subject from sandbox_messages where project_id = ${shop.id} order by id`,
    )
    expect(kept.map(({ subject }) => subject)).toEqual(['3', '4', '5', 'Hi'])
  })
})

test('a body beyond 42 MB is too large', () =>
  expectNothingOf(async () => {
    const answer = await quiet.send({ x: 'x'.repeat(42 * 1024 * 1024 + 64 * 1024) })
    expect(outcome(answer)).toEqual([413, 'PAYLOAD_TOO_LARGE'])
  }))
