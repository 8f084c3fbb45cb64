import fc from 'fast-check'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { findReturnPath, returnPathOf } from '../../src/delivery/message/return-path.ts'
import { sendRoundTrip } from '../../src/doctor/return-path.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { lowestId, newId } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { outgoingEmail } from '../../src/worker.ts'
import { eventually } from '../support/eventually.ts'
import { complaint, exchange, exim, gmail, outOfOffice, postfix, qmail, type Reported, report } from '../support/files/reports.ts'
import { SECRET_KEY } from '../support/secret-key.ts'
import { connectSmtp, deliver } from '../support/servers/smtp-client.ts'
import { BOUNCES, useInbound } from './use-inbound.ts'

const { database, sink, sterna, newProject, bounceTo, changes, place } = useInbound()
const log = createLog('silent')
let port: number
beforeAll(() => {
  port = place.port
})

// The return path --------------------------------------------------------------------------------------------------------

describe('the return path of an email', () => {
  test('names the email, signed, in the envelope and in the message, and fits into an address', async () => {
    const project = await newProject()
    const email = await project.send()
    expect(email.returnPath).toMatch(/^bounce\+[0-9a-v]{57}@bounces\.example$/)
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
    ['there is nobody, by a code that says less', failed('5.5.0', 'smtp; 550 5.5.0 Requested action not taken: mailbox not found')],
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

// The doctor -------------------------------------------------------------------------------------------------------------

describe('a message of the doctor', () => {
  const check = (from: string, timing: { leaveMs?: number; backMs?: number } = {}) => {
    const env = { SECRET_KEY, DATABASE_URL: database.url, SMTP_URL: sink.url, BOUNCE_DOMAIN: BOUNCES }
    const deps = { config: loadConfig(env), db: sterna.db, url: database.url, secrets: sterna.secrets }
    return sendRoundTrip(deps, from, { leaveMs: 60_000, backMs: 60_000, pollMs: 10, ...timing })
  }
  const messageFrom = (domain: string) =>
    eventually(async () => {
      const found = sink.messages.find(({ messageId }) => messageId.endsWith(`@${domain}>`))
      expect(found).toBeDefined()
      return { ...found!, recipient: found!.recipients[0]!, returnPath: found!.sender, messageId: found!.messageId.replace(/[<>]/g, '') }
    })

  test('is refused by our own listener, and its bounce comes back by the return path', async () => {
    const project = await newProject()
    const checking = check(`ops@${project.domain}`)
    const email = await messageFrom(project.domain)
    expect(email.recipient).toMatch(/^doctor-[0-9a-f]{16}@bounces\.example$/)
    expect(await check(`ops@${project.domain}`)).toMatchObject({ verdict: 'warn', note: 'not checked: another check is running' })

    // As the relay does.
    expect(await deliver(port, { from: email.returnPath, to: email.recipient, message: 'Subject: Hi\n\nHi' })).toMatch(/^550 /)
    await bounceTo(email, postfix(email))
    expect(await checking).toEqual({
      name: 'return path',
      verdict: 'ok',
      note: expect.stringMatching(/^a message left after [\d.]+ s, and its bounce was back after [\d.]+ s$/),
    })
    expect(await project.get(`/emails/${email.id}`)).toMatchObject({ status: 'BOUNCED', test: true })
    expect(await project.isSuppressed(email.recipient)).toBe(false)
  })

  test('that does not come back, or does not leave, says which way failed', async () => {
    const [lost, refused] = [await newProject(), await newProject()]
    expect(await check(`ops@${lost.domain}`, { backMs: 50 })).toMatchObject({
      verdict: 'FAIL',
      note: expect.stringMatching(/^a message left after .* bounce was not back 0\.1 s later; check the MX record of bounces\.example/),
    })
    sink.script.RCPT = () => '550 5.1.1 No such user'
    expect(await check(`ops@${refused.domain}`)).toMatchObject({
      verdict: 'warn',
      note: expect.stringMatching(/was refused at once \(.*550/),
    })
    delete sink.script.RCPT
  })
})
