import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { connect, many } from '../../src/db/index.ts'
import { findReturnPath, returnPathOf } from '../../src/delivery/message/return-path.ts'
import { startListener } from '../../src/inbound/listener.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { lowestId, newId } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/log.ts'
import { outgoingEmail } from '../../src/worker.ts'
import { SECRET_KEY, startApp } from '../support/app.ts'
import { cloneDatabase } from '../support/database.ts'
import { freePort, startNode } from '../support/process.ts'
import { complaint, exchange, exim, gmail, outOfOffice, postfix, qmail, type Reported, report } from '../support/reports.ts'
import { connectSmtp, deliver } from '../support/smtp-client.ts'
import { startSmtpServer } from '../support/smtp-server.ts'

const BOUNCES = 'bounces.example'
const log = createLog('silent')

let database: Awaited<ReturnType<typeof cloneDatabase>>
let sink: Awaited<ReturnType<typeof startSmtpServer>>
let sterna: Awaited<ReturnType<typeof startApp>>['sterna']
let closeApp: () => Promise<void>
let port: number

beforeAll(async () => {
  database = await cloneDatabase()
  sink = await startSmtpServer()
  port = await freePort()
  const inbound = { BOUNCE_DOMAIN: BOUNCES, INBOUND_SMTP_PORT: String(port), INBOUND_SMTP_HOST: '127.0.0.1' }
  const started = await startApp(database.url, { env: { SMTP_URL: sink.url, RATE_LIMIT_PER_MINUTE: '0', ...inbound } })
  sterna = started.sterna
  closeApp = started.close
})
afterAll(async () => {
  await closeApp?.()
  await sink?.stop()
  await database?.drop()
})

const soon = <T>(look: () => Promise<T>) => vi.waitFor(look, { timeout: 15_000, interval: 20 })
let projects = 0
let people = 0

type Event = { name: string; data: Record<string, unknown>; contactId: string | null }

/** A project that has proven its domain. */
async function newProject() {
  const { id, sk } = await sterna.newProject()
  const domain = `shop${++projects}.example`
  await sterna.call('POST', '/domains', { key: sk, body: { domain } })
  await sql`
    update domains set status = 'verified', verified_by = 'dns', verified_at = now(), next_check_at = 'infinity' where project_id = ${id}
  `.execute(sterna.db)
  const get = async (url: string) => (await sterna.call('GET', url, { key: sk })).body

  /** One that has left, as the receiver knows it. */
  async function send(recipient = `ada${++people}@example.com`): Promise<Reported> {
    const body = { to: recipient, from: `news@${domain}`, subject: 'Hi', body: 'Hi', subscribed: true }
    const answer = await sterna.call('POST', '/v1/send', { key: sk, body })
    const emailId = answer.body.data.emails[0].email as string
    const email = await soon(async () => {
      const arrived = sink.messages.find((each) => each.id === emailId)
      expect(arrived).toBeDefined()
      return arrived!
    })
    if (!recipient.startsWith('hang-dot')) await soon(async () => expect((await get(`/emails/${emailId}`)).status).toBe('SENT'))
    return { id: emailId, recipient, returnPath: email.sender, messageId: email.messageId.replace(/[<>]/g, '') }
  }
  const eventsOf = (emailId: string) =>
    many(
      sterna.db,
      sql<Event>`select name, data, contact_id as "contactId" from events where project_id = ${id} and email_id = ${emailId} order by id`,
    )
  const bouncesOf = async (emailId: string) =>
    (await eventsOf(emailId)).filter(({ name }) => name === 'email.bounce').map(({ data }) => [data.bounceType, data.reason])
  const received = async () =>
    (
      await many(
        sterna.db,
        sql<Event>`select name, data, contact_id as "contactId" from events where project_id = ${id} and name = 'email.received' order by id`,
      )
    ).map(({ data, contactId }) => ({ ...data, contactId }) as Record<string, unknown>)
  const isSuppressed = async (address: string) =>
    (await sterna.call('GET', '/suppressions', { key: sk })).body.data.some((each: { address: string }) => each.address === address)
  return { id, sk, domain, get, send, eventsOf, bouncesOf, received, isSuppressed }
}

const bounceTo = (email: Reported, message: string) => deliver(port, { to: email.returnPath, message })

/** What a message changed, besides that it was kept. */
async function changes(work: () => Promise<unknown>) {
  const before = await sterna.digest()
  await work()
  return (await sterna.digest()) !== before
}

// The return path --------------------------------------------------------------------------------------------------------

describe('the return path of an email', () => {
  test('names the email, signed, in the envelope and in the message, and fits into an address', async () => {
    const project = await newProject()
    const email = await project.send()
    expect(email.returnPath).toMatch(/^bounce\+[0-9a-v]{56}@bounces\.example$/)
    expect(email.returnPath.split('@')[0]!.length).toBeLessThanOrEqual(64)
    expect(await findReturnPath(sterna.db, sterna.secrets, email.returnPath)).toEqual({ projectId: project.id, emailId: email.id })
    expect(sink.bodies.get(email.id)).toContain(`\r\nX-Sterna-Return-Path: ${email.returnPath}\r\n`)
  })

  test('is the sender without a domain for bounces, with Amazon SES, and in the sandbox', () => {
    const domainWith = (env: object) => {
      const config = loadConfig({ SECRET_KEY, DATA_DIR: '/nowhere', ...env })
      return outgoingEmail({ config, db: sterna.db, secrets: sterna.secrets, log }).bounceDomain
    }
    expect(domainWith({ SMTP_URL: 'smtp://relay.example', BOUNCE_DOMAIN: 'Bounces.Example' })).toBe('bounces.example')
    expect(domainWith({ SMTP_URL: 'smtp://relay.example' })).toBeUndefined()
    expect(domainWith({ SES_REGION: 'eu-central-1', BOUNCE_DOMAIN: BOUNCES })).toBeUndefined()
    expect(domainWith({ BOUNCE_DOMAIN: BOUNCES })).toBeUndefined()
  })

  test('identifies its email in any letter case, and in no other spelling', async () => {
    const { id: projectId } = await newProject()
    const { id: otherId } = await newProject()
    const find = (text: string) => findReturnPath(sterna.db, sterna.secrets, text)
    const token = fc.uuid().map((emailId) => ({ emailId, path: returnPathOf(sterna.secrets, { projectId, emailId }, BOUNCES) }))
    const change = fc.record({ at: fc.nat(55), digit: fc.nat(31) })
    await fc.assert(
      fc.asyncProperty(token, fc.array(fc.boolean()), change, async ({ emailId, path }, capitals, { at, digit }) => {
        const mixed = [...path].map((letter, index) => (capitals[index % (capitals.length || 1)] ? letter.toUpperCase() : letter)).join('')
        expect(await find(mixed)).toEqual({ projectId, emailId })
        const place = 'bounce+'.length + at
        const altered = path.slice(0, place) + digit.toString(32) + path.slice(place + 1)
        if (altered !== path) expect(await find(altered)).toBeUndefined()
        const ofOther = returnPathOf(sterna.secrets, { projectId: otherId, emailId }, BOUNCES)
        const [start, end] = ['bounce+'.length + 25, 'bounce+'.length + 32]
        expect(await find(path.slice(0, start) + ofOther.slice(start, end) + path.slice(end))).toBeUndefined()
      }),
      { numRuns: 100 },
    )
  })
})

// Reports ------------------------------------------------------------------------------------------------------------------

describe('a report to the return path', () => {
  test.each([
    ['Postfix', postfix, /^smtp; 550 5\.1\.1 .*User unknown$/],
    ['Exim', exim, /^smtp; 550 5\.1\.1 No such user here$/],
    ['Exchange', exchange, /^smtp;550 5\.1\.10 RESOLVER\.ADR\.RecipientNotFound/],
    ['Gmail', gmail, /^smtp; 550-5\.1\.1 The email account .* gsmtp$/],
  ])('of %s ends the email and its address', async (_, shape, reason) => {
    const project = await newProject()
    const email = await project.send()
    expect(await bounceTo(email, shape(email))).toMatch(/^250 /)
    const found = await project.get(`/emails/${email.id}`)
    expect(found.status).toBe('BOUNCED')
    expect(found.timeline.map(({ what }: { what: string }) => what)).toEqual(['queued', 'email.sent', 'email.bounce'])
    expect(await project.bouncesOf(email.id)).toEqual([['Permanent', expect.stringMatching(reason)]])
    expect(await project.isSuppressed(email.recipient)).toBe(true)
    expect((await project.get(`/contacts/${found.contactId}`)).subscribed).toBe(false)
  })

  const failed = (status: string, diagnosis = '') =>
    `Final-Recipient: rfc822; x@example.com\nAction: failed\nStatus: ${status}${diagnosis ? `\nDiagnostic-Code: ${diagnosis}` : ''}`

  test.each([
    ['is given up after days', failed('4.4.7')],
    ['is full', failed('5.2.2', 'smtp; 552 5.2.2 Mailbox full')],
    ['dislikes us', failed('5.7.1', 'smtp; 550 5.7.1 Blocked, see our list')],
    ['dislikes us and says so only in words', failed('5.0.0', 'smtp; 550 5.7.1 Service unavailable; blocked')],
    ['says no code', failed('')],
  ])('that %s is one that may pass', async (_, group) => {
    const project = await newProject()
    const email = await project.send()
    expect(await bounceTo(email, report([group])(email))).toMatch(/^250 /)
    expect((await project.get(`/emails/${email.id}`)).status).toBe('SENT')
    expect(await project.bouncesOf(email.id)).toMatchObject([['Transient', expect.any(String)]])
    expect(await project.isSuppressed(email.recipient)).toBe(false)
  })

  test.each([
    ['there is no such domain', failed('5.4.4')],
    ['there is nobody, by a code that says less', failed('5.5.0', 'smtp; 550 5.5.0 Requested action not taken: mailbox unavailable')],
  ])('that %s is a hard bounce', async (_, group) => {
    const project = await newProject()
    const email = await project.send()
    await bounceTo(email, report([group])(email))
    expect((await project.get(`/emails/${email.id}`)).status).toBe('BOUNCED')
  })

  test('of five in a row for one address, the fifth suppresses it', async () => {
    const project = await newProject()
    for (let round = 1; round <= 5; round++) {
      const email = await project.send('full@example.com')
      await bounceTo(email, report([failed('4.2.2')])(email))
      expect(await project.isSuppressed('full@example.com')).toBe(round === 5)
    }
  })

  test('in words is one that may pass', async () => {
    const project = await newProject()
    const email = await project.send()
    expect(await bounceTo(email, qmail(email))).toMatch(/^250 /)
    expect(await project.bouncesOf(email.id)).toEqual([['Transient', 'Sorry, no mailbox here by that name. (#5.1.1)']])
    expect((await project.get(`/emails/${email.id}`)).status).toBe('SENT')
  })

  test('of a delay is in the timeline of the email, and has no other effect', async () => {
    const project = await newProject()
    const email = await project.send()
    await bounceTo(
      email,
      report(['Final-Recipient: rfc822; x@example.com\nAction: delayed\nStatus: 4.4.1\nDiagnostic-Code: smtp; 451 busy'])(email),
    )
    const { status, timeline } = await project.get(`/emails/${email.id}`)
    expect([status, timeline.at(-1)]).toMatchObject(['SENT', { what: 'delayed', details: { reason: 'smtp; 451 busy' } }])
    expect((await project.eventsOf(email.id)).map(({ name }) => name)).toEqual(['email.sent'])
  })

  test('of a delivery is one', async () => {
    const project = await newProject()
    const email = await project.send()
    await bounceTo(email, report(['Final-Recipient: rfc822; x@example.com\nAction: delivered\nStatus: 2.0.0'])(email))
    expect((await project.get(`/emails/${email.id}`)).status).toBe('DELIVERED')
  })

  test('does not end an address that forwards to several, of which one failed', async () => {
    const project = await newProject()
    const email = await project.send()
    await bounceTo(
      email,
      report([failed('5.1.1'), 'Final-Recipient: rfc822; y@example.com\nAction: relayed\nStatus: 2.0.0', failed('4.2.2')])(email),
    )
    expect((await project.bouncesOf(email.id)).map(([type]) => type)).toEqual(['Transient'])
    await bounceTo(email, report([failed('5.1.1'), failed('5.1.1')])(email))
    expect((await project.get(`/emails/${email.id}`)).status).toBe('BOUNCED')
  })

  test('counts once, however often, in whatever order and by however many at once', async () => {
    const project = await newProject()
    const email = await project.send()
    const all = [postfix, postfix, qmail, qmail, report(['Action: delivered\nStatus: 2.0.0']), complaint(), complaint(), postfix]
    const answers = await Promise.all(all.map((shape) => bounceTo(email, shape(email))))
    expect(answers.filter((answer) => !answer.startsWith('250'))).toEqual([])
    const names = (await project.eventsOf(email.id)).map(({ name, data }) => `${name} ${data.bounceType ?? ''}`.trim()).sort()
    expect(names).toEqual(['email.bounce Permanent', 'email.bounce Transient', 'email.complaint', 'email.delivery', 'email.sent'])
    expect((await project.get(`/contacts/${(await project.get(`/emails/${email.id}`)).contactId}`)).subscribed).toBe(false)
  })

  test('on an email of unknown outcome is evidence that it was accepted', async () => {
    const project = await newProject()
    const email = await project.send(`hang-dot+${newId()}@example.com`)
    expect(await bounceTo(email, postfix(email))).toMatch(/^250 /)
    expect((await project.get(`/emails/${email.id}`)).status).toBe('BOUNCED')
    expect((await project.eventsOf(email.id)).map(({ name }) => name)).toEqual(['email.sent', 'email.bounce'])
  })

  test('works when a relay wrote the address in capitals', async () => {
    const project = await newProject()
    const email = await project.send()
    expect(await deliver(port, { to: email.returnPath.toUpperCase(), message: postfix(email) })).toMatch(/^250 /)
    expect((await project.get(`/emails/${email.id}`)).status).toBe('BOUNCED')
  })

  test.each([
    ['somebody is away', outOfOffice],
    ['a person writes of "5.1.1"', (email: Reported) => `From: ${email.recipient}\nSubject: Re: Hi\n\nI use version 5.1.1 of it.\n`],
    [
      'an email was displayed',
      (email: Reported) => report(['Action: failed\nStatus: 5.1.1'])(email).replaceAll('delivery-status', 'disposition-notification'),
    ],
    ['nothing is said', () => '\n'],
  ])('by which %s changes nothing', async (_, shape) => {
    const project = await newProject()
    const email = await project.send()
    const isPerson = shape(email).includes('I use version')
    const changed = await changes(async () =>
      expect(await deliver(port, { from: isPerson ? email.recipient : '', to: email.returnPath, message: shape(email) })).toMatch(/^250 /),
    )
    expect(changed).toBe(false)
  })

  test('is recorded a bounded number of times for an email', async () => {
    const project = await newProject()
    const email = await project.send()
    const client = await connectSmtp(port)
    await client.say('EHLO x')
    for (let round = 0; round < 30; round++) {
      const message = report([`Action: delayed\nStatus: 4.4.1\nDiagnostic-Code: smtp; 451 ${round}`])(email)
      expect(await client.deliver({ to: email.returnPath, message })).toMatch(/^250 /)
    }
    client.end()
    expect((await project.get(`/emails/${email.id}`)).timeline.filter(({ what }: { what: string }) => what === 'delayed')).toHaveLength(20)
  })
})

describe('a report that is not signed changes nothing', () => {
  test('with a return path that was altered, or put together of two', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const [email, foreign] = [await project.send(), await other.send()]
    const [mine, theirs] = [email.returnPath.slice(7, 63), foreign.returnPath.slice(7, 63)]
    const forged = [
      `${mine.slice(0, 55)}${mine.endsWith('0') ? '1' : '0'}`,
      theirs.slice(0, 25) + mine.slice(25),
      mine.slice(0, 25) + theirs.slice(25),
      mine.slice(0, 32) + theirs.slice(32),
      '0'.repeat(56),
      mine.slice(1),
    ]
    const changed = await changes(async () => {
      for (const token of forged)
        expect(await deliver(port, { to: `bounce+${token}@${BOUNCES}`, message: postfix(email) })).toMatch(/^550 5\.1\.1 /)
    })
    expect(changed).toBe(false)
  })

  test('to an address of the project, whatever it contains', async () => {
    const project = await newProject()
    const email = await project.send()
    const changed = await changes(async () => {
      for (const shape of [postfix, exim, gmail, complaint()])
        for (const local of ['news', `bounce+${'0'.repeat(56)}`])
          expect(await deliver(port, { to: `${local}@${project.domain}`, message: shape(email) })).toMatch(/^250 /)
      // Not even by the real one: a bounce is about the address that it was sent to.
      const quoted = postfix(email)
      expect(quoted).toContain(email.returnPath)
      expect(await deliver(port, { to: `postmaster@${BOUNCES}`, message: quoted })).toMatch(/^250 /)
    })
    expect(changed).toBe(false)
  })
})

describe('a complaint', () => {
  test.each([
    ['to the return path', (email: Reported) => ({ to: email.returnPath })],
    ['that names the envelope', (email: Reported) => ({ fields: `Original-Mail-From: <${email.returnPath}>\n` })],
    ['with the email as it was delivered', (email: Reported) => ({ header: `Return-Path: <${email.returnPath}>\n` })],
    ['with the email as it was sent', (email: Reported) => ({ header: `X-Sterna-Return-Path: ${email.returnPath}\n` })],
  ])('%s ends the email and its address', async (_, how) => {
    const project = await newProject()
    const email = await project.send()
    const { to = `fbl@${BOUNCES}`, ...rest } = how(email) as { to?: string; fields?: string; header?: string }
    expect(await deliver(port, { from: 'feedback@receiver.example', to, message: complaint(rest)(email) })).toMatch(/^250 /)
    const found = await project.get(`/emails/${email.id}`)
    expect(found.status).toBe('COMPLAINED')
    expect(await project.isSuppressed(email.recipient)).toBe(true)
    expect((await project.get(`/contacts/${found.contactId}`)).subscribed).toBe(false)
  })

  test.each([
    ['with ids, but no signature', () => ({})],
    [
      'with an altered one',
      (email: Reported) => ({ header: `Return-Path: <${email.returnPath.replace(/.@/, (end) => (end === '0@' ? '1@' : '0@'))}>\n` }),
    ],
    ['that is none', (email: Reported) => ({ type: 'not-spam', header: `Return-Path: <${email.returnPath}>\n` })],
  ])('%s changes nothing', async (_, how) => {
    const project = await newProject()
    const email = await project.send()
    const message = complaint(how(email))(email)
    expect(await changes(async () => expect(await deliver(port, { to: `fbl@${BOUNCES}`, message })).toMatch(/^250 /))).toBe(false)
  })
})

describe('a report about an email', () => {
  /** The email as if it had been sent that long ago: the time is in its id. */
  async function sentDaysAgo(days: number) {
    const project = await newProject()
    const email = await project.send()
    const id = `${lowestId(new Date(Date.now() - days * 24 * 60 * 60_000)).slice(0, 13)}${email.id.slice(13)}`
    await sql`update emails set id = ${id} where id = ${email.id}`.execute(sterna.db)
    return { ...email, id, returnPath: returnPathOf(sterna.secrets, { projectId: project.id, emailId: id }, BOUNCES) }
  }

  test.each([
    ['complaint', complaint()],
    ['bounce', postfix],
  ])('counts for 60 days, and no longer: a %s', async (_, shape) => {
    const old = await sentDaysAgo(61)
    expect(await changes(async () => expect(await bounceTo(old, shape(old))).toMatch(/^250 /))).toBe(false)
    const recent = await sentDaysAgo(59)
    expect(await changes(async () => expect(await bounceTo(recent, shape(recent))).toMatch(/^250 /))).toBe(true)
  })
})

// Received email ------------------------------------------------------------------------------------------------------------

const LETTER = `From: =?utf-8?q?Gr=C3=A4ce?= <grace@example.com>
To: help@shop.example
Reply-To: reply@example.com
Subject: =?utf-8?b?${Buffer.from('Frage 🐦').toString('base64')}?=
Message-ID: <letter-1@example.com>
In-Reply-To: <before@shop.example>
X-Twice: first
X-Twice: second
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="m"

--m
Content-Type: multipart/alternative; boundary="a"

--a
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Gr=FC=DFe
.with a dot
--a
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: 8bit

<p>Grüße</p>
--a--
--m
Content-Type: application/pdf
Content-Disposition: attachment; filename*=utf-8''r%C3%A9sum%C3%A9.pdf
Content-Transfer-Encoding: base64

JVBERi0xLjQK
--m--
`

describe('another message to a verified domain', () => {
  test('is recorded as an event with its content, and as a received email', async () => {
    const project = await newProject()
    await sterna.call('POST', '/contacts', { key: project.sk, body: { email: 'grace@example.com' } })
    expect(await deliver(port, { from: 'grace@example.com', to: `Help@${project.domain}`, message: LETTER })).toMatch(/^250 /)
    const [event, ...more] = await project.received()
    expect(more).toEqual([])
    expect(event).toMatchObject({
      messageId: 'letter-1@example.com',
      from: 'grace@example.com',
      fromName: 'Gräce',
      to: `help@${project.domain}`,
      replyTo: 'reply@example.com',
      subject: 'Frage 🐦',
      text: 'Grüße\n.with a dot\n',
      textTruncated: false,
      html: '<p>Grüße</p>\n',
      htmlTruncated: false,
      attachments: [{ filename: 'résumé.pdf', contentType: 'application/pdf', size: 9 }],
      automatic: false,
      sourceType: 'INBOUND',
      templateId: null,
      campaignId: null,
      workflowExecutionId: null,
    })
    expect(event!.headers).toMatchObject({ 'in-reply-to': '<before@shop.example>', 'x-twice': 'first', subject: 'Frage 🐦' })
    const email = await project.get(`/emails/${event!.emailId}`)
    expect(email).toMatchObject({
      sourceType: 'INBOUND',
      status: 'DELIVERED',
      from: 'grace@example.com',
      to: `help@${project.domain}`,
      sentAt: null,
    })
    expect(email.contactId).toBe(event!.contactId)
    expect(email.contactId).not.toBeNull()
    expect(email.timeline.map(({ what }: { what: string }) => what)).toEqual(['email.received'])
    expect((await project.get('/emails?limit=10')).data).toHaveLength(1)
  })

  test('creates no contact', async () => {
    const project = await newProject()
    await deliver(port, { from: 'x@example.com', to: `help@${project.domain}`, message: LETTER })
    expect((await project.received())[0]).toMatchObject({ contactId: null, from: 'grace@example.com' })
    expect((await project.get('/contacts')).total).toBe(0)
  })

  test('that is sent again, because our answer was lost, is one', async () => {
    const project = await newProject()
    const nameless = LETTER.replace(/^Message-ID.*\n/m, '')
    for (const message of [LETTER, nameless]) {
      await Promise.all(Array.from({ length: 3 }, () => deliver(port, { from: 'x@example.com', to: `help@${project.domain}`, message })))
    }
    await deliver(port, { from: 'x@example.com', to: `other@${project.domain}`, message: LETTER })
    expect((await project.received()).map(({ to }) => to)).toEqual([
      `help@${project.domain}`,
      `help@${project.domain}`,
      `other@${project.domain}`,
    ])
  })

  test('that differs from another one under the same Message-ID is kept as well, once', async () => {
    const project = await newProject()
    const to = `help@${project.domain}`
    const other = LETTER.replace('Subject: ', 'Subject: Another: ')
    for (const message of [LETTER, other, LETTER, other])
      expect(await deliver(port, { from: 'x@example.com', to, message })).toMatch(/^250 /)
    const received = await project.received()
    expect(received.map(({ subject }) => /^Another/.test(subject as string))).toEqual([false, true])
    const [first, second] = received.map(({ messageId }) => messageId)
    expect(first).toBe('letter-1@example.com')
    expect(second).toMatch(/^[0-9a-f]{64}@unnamed\.invalid$/)
    expect(received[1]!.headers).toMatchObject({ 'message-id': '<letter-1@example.com>' })
    const listed = (await project.get('/emails?limit=10')).data.map(({ messageId }: { messageId: string }) => messageId)
    expect(listed.toSorted()).toEqual([first, second].toSorted())
  })

  test('that comes many times at once beside another one under its Message-ID is kept once', async () => {
    const project = await newProject()
    const messages = Array.from({ length: 8 }, (_, index) => LETTER.replace('Subject: ', `Subject: ${index % 2} `))
    const answers = await Promise.all(
      messages.map((message) => deliver(port, { from: 'x@example.com', to: `help@${project.domain}`, message })),
    )
    expect(answers.filter((answer) => !answer.startsWith('250'))).toEqual([])
    expect((await project.received()).map(({ subject }) => (subject as string).slice(0, 1)).toSorted()).toEqual(['0', '1'])
  })

  test('in windows-1252, or of no charset at all, keeps its euro sign', async () => {
    const project = await newProject()
    const head = 'From: a@example.com\nSubject: =?windows-1252?Q?5_=80?=\nMIME-Version: 1.0\nContent-Transfer-Encoding: 8bit\n'
    for (const type of ['text/plain; charset=windows-1252', 'text/plain']) {
      const message = Buffer.from(`${head}Content-Type: ${type}\n\n5 \x80 \x93ok\x94\n`, 'latin1')
      expect(await deliver(port, { from: 'a@example.com', to: `help@${project.domain}`, message })).toMatch(/^250 /)
    }
    expect((await project.received()).map(({ subject, text }) => [subject, (text as string).trim()])).toEqual([
      ['5 €', '5 € “ok”'],
      ['5 €', '5 € “ok”'],
    ])
  })

  test('for a disabled project is refused for now, while reports about its emails count', async () => {
    const project = await newProject()
    const email = await project.send()
    const disable = (disabled: boolean) => sql`update projects set disabled = ${disabled} where id = ${project.id}`.execute(sterna.db)
    await disable(true)
    const letter = { from: 'x@example.com', to: `help@${project.domain}`, message: LETTER }
    expect(await deliver(port, letter)).toMatch(/^451 /)
    await bounceTo(email, postfix(email))
    expect(await project.bouncesOf(email.id)).toHaveLength(1)
    await disable(false)
    expect(await deliver(port, letter)).toMatch(/^250 /)
    expect(await project.received()).toHaveLength(1)
  })

  test('for a project that is disabled while it comes in is refused for now', async () => {
    const project = await newProject()
    const client = await connectSmtp(port)
    await client.say('EHLO x')
    for (const line of ['MAIL FROM:<>', `RCPT TO:<help@${project.domain}>`, 'DATA']) expect(await client.say(line)).toMatch(/^[23]/)
    await sql`update projects set disabled = true where id = ${project.id}`.execute(sterna.db)
    expect(await client.sendBody(LETTER)).toMatch(/^451 /)
    client.end()
    expect(await project.received()).toEqual([])
  })

  test('goes to each of those it is for, in whatever project', async () => {
    const [a, b] = [await newProject(), await newProject()]
    const to = [`one@${a.domain}`, `two@${a.domain}`, `one@${b.domain}`]
    expect(await deliver(port, { from: 'x@example.com', to, message: LETTER })).toMatch(/^250 /)
    expect([(await a.received()).length, (await b.received()).length]).toEqual([2, 1])
  })

  test.each([
    ['an answering machine', 'x@example.com', 'Auto-Submitted: auto-replied\n'],
    ['a list', 'x@example.com', 'List-Id: <list.example.com>\n'],
    ['ourselves', 'x@example.com', 'X-Sterna-Id: 1\n'],
    ['nobody', '', ''],
  ])('from %s is marked as automatic, so that workflows need not answer it', async (_, from, header) => {
    const project = await newProject()
    await deliver(port, { from, to: `help@${project.domain}`, message: header + LETTER })
    expect((await project.received())[0]).toMatchObject({ automatic: true })
  })

  test('is cut where it is too long, and holds nothing that cannot be stored', async () => {
    const project = await newProject()
    const many = Array.from({ length: 300 }, (_, index) => `X-Header-${index}: ${'v'.repeat(200)}`).join('\n')
    const message = Buffer.from(
      `From: a@example.com\nSubject: zero\0 and =?utf-16be?b?2D0=?=\n${many}\nContent-Type: text/plain; charset=utf-8\n\n${'ü'.repeat(100_000)}\0`,
    )
    expect(await deliver(port, { from: 'a@example.com', to: `help@${project.domain}`, message })).toMatch(/^250 /)
    const [event] = await project.received()
    expect(event).toMatchObject({ textTruncated: true, html: null })
    expect((event!.text as string).length).toBe(65_536)
    expect(Object.keys(event!.headers as object).length).toBeLessThanOrEqual(100)
    expect(event!.subject).toMatch(/^zero and/)
  })
})

// The listener -------------------------------------------------------------------------------------------------------------

describe('the listener', () => {
  const stops: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const stop of stops.splice(0).toReversed()) await stop()
  })

  type More = Pick<Parameters<typeof startListener>[0], 'limits'> & { url?: string; inbound?: { keyFile: string; certFile: string } }
  async function listen({ limits = {}, inbound }: More = {}) {
    const own = await freePort()
    const db = connect({ url: database.url, max: 4, log })
    const place = { port: own, host: '127.0.0.1', keyFile: undefined, certFile: undefined, ...inbound }
    const base = { db, secrets: sterna.secrets, log, bounceDomain: BOUNCES, name: BOUNCES, inbound: place }
    const listener = await startListener({ ...base, limits: { closingMs: 300, ...limits } })
    stops.push(async () => db.destroy(), listener.stop)
    return { port: own, db, listener }
  }
  async function greeted(at = port) {
    const client = await connectSmtp(at)
    stops.push(async () => client.end())
    const extensions = await client.say('EHLO mx.example')
    return Object.assign(client, { extensions })
  }

  test('relays nothing, offers no login, and no encryption without a certificate', async () => {
    const project = await newProject()
    const client = await greeted()
    expect(client.greeting).toMatch(/^220 bounces\.example /)
    expect(client.extensions).not.toMatch(/AUTH|STARTTLS/)
    expect(await client.say('AUTH PLAIN AGEAYg==')).toMatch(/^500 /)
    expect(await client.say('STARTTLS')).toMatch(/^500 /)
    await client.say(`MAIL FROM:<news@${project.domain}>`)
    await sql`insert into domains (project_id, id, domain, dkim_selector, dkim_public_key, dkim_private_key_sealed)
      values (${project.id}, ${newId()}, 'pending.example', '', '', '')`.execute(sterna.db)
    for (const to of [
      'a@elsewhere.example',
      'a@pending.example',
      `a@sub.${project.domain}`,
      `nobody@${BOUNCES}`,
      'a%elsewhere.example@elsewhere.example',
    ])
      expect(await client.say(`RCPT TO:<${to}>`)).toMatch(/^550 5\.1\.1 /)
    expect(await client.say('DATA')).toMatch(/^503 /)
  })

  test('hangs up on those who try out addresses', async () => {
    const client = await greeted()
    await client.say('MAIL FROM:<>')
    const answers = []
    for (let round = 0; round < 25; round++) answers.push((await client.say(`RCPT TO:<a${round}@nowhere.example>`)).slice(0, 3))
    expect(answers.filter((code) => code === '550')).toHaveLength(20)
    expect(answers[20]).toBe('421')
    await client.closed()
  })

  test('refuses what is too large, when it is announced and when it comes', async () => {
    const project = await newProject()
    const own = await listen({ limits: { messageBytes: 100_000 } })
    const client = await greeted(own.port)
    expect(await client.say('MAIL FROM:<> SIZE=100001')).toMatch(/^552 5\.3\.4 /)
    const large = `${LETTER}${'x'.repeat(99)}\n`.repeat(2_000)
    expect(await client.deliver({ to: `help@${project.domain}`, message: large })).toMatch(/^552 5\.3\.4 /)
    expect(await client.deliver({ to: `help@${project.domain}`, message: LETTER })).toMatch(/^250 /)
    expect(await project.received()).toHaveLength(1)
  })

  test('has limits of recipients, of connections, and of all that comes in at once', async () => {
    const project = await newProject()
    const own = await listen({ limits: { recipients: 2, connectionsOfOne: 2, heldBytes: 1_000 } })
    const client = await greeted(own.port)
    const to = ['a', 'b', 'c'].map((local) => `${local}@${project.domain}`)
    expect(await client.deliver({ to, message: LETTER })).toMatch(/^452 4\.5\.3 /)
    await client.say('RSET')
    expect(await client.deliver({ to: to[0]!, message: LETTER + 'x'.repeat(2_000) })).toMatch(/^452 /)
    for (let round = 0; round < 3; round++) {
      const message = `From: a@example.com\nSubject: ${round}\n\n${'short '.repeat(100)}`
      expect(await client.deliver({ to: to[0]!, message })).toMatch(/^250 /)
    }
    await greeted(own.port)
    expect((await connectSmtp(own.port)).greeting).toMatch(/^421 /)
    client.end()
    await soon(async () => {
      const next = await connectSmtp(own.port)
      next.end()
      expect(next.greeting).toMatch(/^220 /)
    })
  })

  test('accepts a bounded number of messages for a project per minute, and any number of reports', async () => {
    const project = await newProject()
    const email = await project.send()
    const own = await listen({ limits: { messagesPerMinute: 2 } })
    const client = await greeted(own.port)
    const answers = []
    for (let round = 0; round < 3; round++) {
      answers.push(await client.deliver({ to: `help@${project.domain}`, message: LETTER.replace('letter-1', `letter-${round}`) }))
    }
    expect(answers.map((answer) => answer.slice(0, 3))).toEqual(['250', '250', '451'])
    await client.say('RSET')
    expect(await client.deliver({ to: email.returnPath, message: postfix(email) })).toMatch(/^250 /)
  })

  test('counts messages, not recipients that are only named', async () => {
    const project = await newProject()
    const own = await listen({ limits: { messagesPerMinute: 2 } })
    const idle = await greeted(own.port)
    for (let round = 0; round < 10; round++) {
      await idle.say('MAIL FROM:<a@example.com>')
      expect(await idle.say(`RCPT TO:<help@${project.domain}>`)).toMatch(/^250 /)
      await idle.say('RSET')
    }
    const client = await greeted(own.port)
    expect(await client.deliver({ to: `help@${project.domain}`, message: LETTER })).toMatch(/^250 /)
    expect(await project.received()).toHaveLength(1)
  })

  test('counts each message when it begins, also those that were let in before the limit was reached', async () => {
    const project = await newProject()
    const own = await listen({ limits: { messagesPerMinute: 2 } })
    const clients = await Promise.all(Array.from({ length: 4 }, () => greeted(own.port)))
    for (const client of clients) {
      await client.say('MAIL FROM:<a@example.com>')
      expect(await client.say(`RCPT TO:<help@${project.domain}>`)).toMatch(/^250 /)
    }
    const answers = []
    for (const [index, client] of clients.entries()) {
      await client.say('DATA')
      answers.push((await client.sendBody(LETTER.replace('letter-1', `letter-${index}`))).slice(0, 3))
    }
    expect(answers).toEqual(['250', '250', '451', '451'])
    expect(await project.received()).toHaveLength(2)
  })

  test('accepts messages for the postmaster without a domain', async () => {
    const client = await greeted()
    await client.say('MAIL FROM:<>')
    expect(await client.say('RCPT TO:<Postmaster>')).toMatch(/^250 /)
  })

  test('refuses parameters of extensions that it does not offer', async () => {
    const project = await newProject()
    const client = await greeted()
    expect(await client.say('MAIL FROM:<a@example.com> X-UNKNOWN=1')).toMatch(/^555 /)
    expect(await client.say('MAIL FROM:<a@example.com> SIZE=100 BODY=8BITMIME')).toMatch(/^250 /)
    expect(await client.say(`RCPT TO:<help@${project.domain}> NOTIFY=SUCCESS`)).toMatch(/^555 /)
    expect(await client.say(`RCPT TO:<help@${project.domain}>`)).toMatch(/^250 /)
  })

  test('hangs up on those who are silent, and on those who are never quite', async () => {
    const own = await listen({ limits: { idleMs: 200, connectionMs: 1_000 } })
    const silent = await connectSmtp(own.port)
    expect(await silent.reply()).toMatch(/^421 .*Timeout/)
    const slow = await greeted(own.port)
    const dripping = setInterval(() => slow.socket.write('N'), 50)
    await slow.closed()
    clearInterval(dripping)
  })

  test.each([
    ['is all zeros', Buffer.alloc(100_000)],
    ['is random', Buffer.from(Array.from({ length: 50_000 }, (_, index) => (index * 7919) % 256))],
    ['has no end', 'Content-Type: multipart/mixed; boundary="x"\n\n--x\nContent-Type: multipart/mixed; boundary="x"\n\n--x\n'],
    ['has headers only', 'Subject: x\nFrom: <<<>>>,,;:@\nDate: never\nMessage-ID: <\n'],
    ['is a report of nothing', 'Content-Type: multipart/report; boundary=x\n\n--x\nContent-Type: message/delivery-status\n\n\n\n\n--x--\n'],
    [
      'has a thousand attachments',
      `Content-Type: multipart/mixed; boundary=x\n\n${'--x\nContent-Type: image/png; name="a"\n\nx\n'.repeat(1_000)}--x--\n`,
    ],
  ])('takes a message that %s for what it is', async (_, message) => {
    const project = await newProject()
    expect(await deliver(port, { from: 'a@example.com', to: `help@${project.domain}`, message })).toMatch(/^250 /)
    const reports = message.includes('multipart/report')
    expect(await project.received()).toHaveLength(reports ? 0 : 1)
  })

  test.each([
    [
      'is nested a thousand times',
      Array.from({ length: 1_000 }, (_, index) => `Content-Type: multipart/mixed; boundary="b${index}"\n\n--b${index}\n`).join(''),
    ],
    ['has a header of megabytes', `X: ${'a '.repeat(600_000)}\n\nx`],
    ['has a million lines', '\n'.repeat(1_100_000)],
  ])('refuses one that %s, and is there for the next', async (_, message) => {
    const project = await newProject()
    const to = `help@${project.domain}`
    expect(await deliver(port, { to, message })).toMatch(/^554 /)
    expect(await deliver(port, { to, message: LETTER })).toMatch(/^250 /)
  })

  test('replies 451 while nothing can be committed, and the same message counts once when it is sent again', async () => {
    const project = await newProject()
    const email = await project.send()
    const { port } = await listen()
    const [client, other] = [await greeted(port), await greeted(port)]
    const letters = [
      { to: email.returnPath, message: postfix(email) },
      { to: `help@${project.domain}`, message: LETTER },
    ] as const
    await sterna.db.transaction().execute(async (tx) => {
      await sql`lock table events in access exclusive mode`.execute(tx)
      const replies = await Promise.all([client.deliver(letters[0]), other.deliver(letters[1])])
      expect(replies).toEqual([expect.stringMatching(/^451 /), expect.stringMatching(/^451 /)])
    })
    expect([await project.bouncesOf(email.id), await project.received()]).toEqual([[], []])
    for (const letter of [...letters, ...letters]) expect(await client.deliver(letter)).toMatch(/^250 /)
    expect([(await project.bouncesOf(email.id)).length, (await project.received()).length]).toEqual([1, 1])
  })

  test('replies 451 while the database is down', async () => {
    const project = await newProject()
    const own = await listen()
    const client = await greeted(own.port)
    await client.say('MAIL FROM:<>')
    expect(await client.say(`RCPT TO:<help@${project.domain}>`)).toMatch(/^250 /)
    await client.say('DATA')
    await own.db.destroy()
    expect(await client.sendBody(LETTER)).toMatch(/^451 /)
    await client.say('MAIL FROM:<>')
    expect(await client.say(`RCPT TO:<help@${project.domain}>`)).toMatch(/^451 /)
  })

  test('finishes what has begun to arrive when it stops', async () => {
    const project = await newProject()
    const own = await listen({ limits: { closingMs: 5_000 } })
    const [busy, idle] = [await greeted(own.port), await greeted(own.port)]
    await busy.say('MAIL FROM:<>')
    await busy.say(`RCPT TO:<help@${project.domain}>`)
    await busy.say('DATA')
    const stopped = own.listener.stop()
    expect(await idle.say('NOOP')).toMatch(/^421 /)
    expect(await busy.sendBody(LETTER)).toMatch(/^250 /)
    busy.end()
    await stopped
    expect(await project.received()).toHaveLength(1)
  })

  test('encrypts with a certificate of the operator', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sterna-'))
    stops.push(async () => rmSync(folder, { recursive: true }))
    // The library's own is good enough to see that it is used.
    const { default: tlsOptions } = await import('smtp-server/lib/tls-options.js')
    const { key, cert } = tlsOptions({}) as { key: string; cert: string }
    const files = { keyFile: join(folder, 'key.pem'), certFile: join(folder, 'cert.pem') }
    writeFileSync(files.keyFile, key)
    writeFileSync(files.certFile, cert)
    const own = await listen({ inbound: files })
    const client = await greeted(own.port)
    expect(client.extensions).toMatch(/STARTTLS/)
    expect(await client.say('STARTTLS')).toMatch(/^220 /)
    client.socket.removeAllListeners('data')
    const secure = connectTls({ socket: client.socket, rejectUnauthorized: false })
    await new Promise((resolve) => secure.once('secureConnect', resolve))
    secure.write('EHLO mx.example\r\n')
    const answer = await new Promise<Buffer>((resolve) => secure.once('data', resolve))
    expect(answer.toString()).toMatch(/^250-/)
    expect(answer.toString()).not.toMatch(/AUTH/)
  })

  test('is in what a user starts', async () => {
    const project = await newProject()
    const own = await freePort()
    const inbound = { BOUNCE_DOMAIN: BOUNCES, INBOUND_SMTP_PORT: String(own), INBOUND_SMTP_HOST: '127.0.0.1' }
    const node = await startNode({
      DATABASE_URL: database.url,
      SMTP_URL: sink.url,
      MAIL_FROM: 'post@office.example',
      ROLE: 'worker',
      LOG_LEVEL: 'warn',
      ...inbound,
    })
    stops.push(() => node.stop())
    expect(await deliver(own, { from: 'x@example.com', to: `help@${project.domain}`, message: LETTER })).toMatch(/^250 /)
    expect(await project.received()).toHaveLength(1)
    const hungUp = await greeted(own)
    await hungUp.say('MAIL FROM:<>')
    await hungUp.say(`RCPT TO:<help@${project.domain}>`)
    await hungUp.say('DATA')
    hungUp.end()
    expect(await node.stop()).toBe(0)
    expect(node.output()).toBe('')
  })

  test('does not start where it cannot listen, with the reason', async () => {
    const config = { host: '127.0.0.1', keyFile: undefined, certFile: undefined }
    const base = { db: sterna.db, secrets: sterna.secrets, log, bounceDomain: BOUNCES, name: BOUNCES }
    await expect(startListener({ ...base, inbound: { ...config, port } })).rejects.toThrow(/Port \d+ is in use/)
    const files = { keyFile: '/nowhere/key', certFile: '/nowhere/cert' }
    await expect(startListener({ ...base, inbound: { ...config, port: await freePort(), ...files } })).rejects.toThrow(
      /Cannot read the key/,
    )
  })

  test.each([
    [{ BOUNCE_DOMAIN: 'no domain' }, /BOUNCE_DOMAIN: must be a domain/],
    [{ INBOUND_SMTP_PORT: '0' }, /INBOUND_SMTP_PORT/],
    [{ INBOUND_SMTP_TLS_KEY: 'key.pem' }, /both INBOUND_SMTP_TLS_KEY/],
  ])('refuses %o', (env, problem) => {
    expect(() => loadConfig({ SECRET_KEY, ...env })).toThrow(problem)
  })
})
