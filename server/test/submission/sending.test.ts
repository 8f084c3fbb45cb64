import { execFile, execFileSync } from 'node:child_process'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { createTransport } from 'nodemailer'
import PostalMime from 'postal-mime'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../support/eventually.ts'
import { startSmtpServer } from '../support/servers/smtp-server.ts'
import { idsIn, plainToken, TO, useSubmission } from './use-submission.ts'

const ALL = ['PIPELINING', '8BITMIME', 'SMTPUTF8']
const extensions = [...ALL]
const sink = await startSmtpServer({ extensions })
afterAll(() => sink.stop())
const { sterna, place, newProject, connect, submit } = useSubmission(async () => ({ SMTP_URL: sink.url, BOUNCE_DOMAIN: 'bounces.example' }))

/** From now on the relay has these extensions. */
function relayWith(...given: string[]) {
  extensions.splice(0, extensions.length, ...given)
  sink.reset()
}
beforeEach(() => relayWith(...ALL))

const unstuffed = (text: string) => Buffer.from(text.replace(/^\.\./gm, '.'), 'latin1')

/** The message of an email as the relay got it. */
async function relayed(id: string | undefined) {
  const text = await until('the relay has the message', () => sink.bodies.get(id!))
  return unstuffed(text)
}

async function expectSigned(message: Buffer, { sk, domain }: { sk: string; domain: string }) {
  const { body } = await sterna.call('GET', '/domains/project/current', { key: sk })
  const { records } = body.find((each: { domain: string }) => each.domain === domain)
  const dkim = records.find(({ name }: { name: string }) => name.includes('_domainkey'))
  const resolver = async (name: string) => {
    if (!name.endsWith(`._domainkey.${domain}`)) throw Object.assign(new Error(name), { code: 'ENOTFOUND' })
    return [[dkim.value.replace(/^"|"$/g, '').replace(/"\s*"/g, '')]]
  }
  const { results } = await dkimVerify(message, { resolver })
  expect(results.map(({ status }) => status)).toMatchObject([{ result: 'pass', aligned: domain }])
}

describe('clients of others', () => {
  const run = promisify(execFile)
  const hasProgram = (name: string, ...args: string[]) => {
    try {
      execFileSync(name, args, { stdio: 'ignore', timeout: 10_000 })
      return true
    } catch {
      return false
    }
  }
  const report = (name: string, isThere: boolean) => {
    process.stdout.write(`SMTP submission with ${name}: ${isThere ? 'RUN' : 'SKIPPED, it is not on this machine'}\n`)
    return isThere
  }

  test('nodemailer: text, HTML, an image and a file, signed', async () => {
    report('nodemailer', true)
    const project = await newProject()
    const client = createTransport({ host: '127.0.0.1', port: place.port, auth: { user: 'sterna', pass: project.sk } })
    const { response } = await client.sendMail({
      from: { name: 'Gräce', address: project.from },
      to: [TO, 'bob@example.com'],
      bcc: 'hidden@example.com',
      subject: 'Grüße 🦜',
      text: 'Hallo\n.\n',
      html: '<p>Hallo <img src="cid:logo"></p>',
      attachments: [
        { filename: 'logo.png', content: Buffer.from([1, 2, 3]), cid: 'logo' },
        { filename: 'Übersicht.pdf', content: Buffer.alloc(5_000, 7) },
      ],
    })
    client.close()
    const ids = idsIn(response)
    expect(ids).toHaveLength(3)
    for (const id of ids) {
      const message = await relayed(id)
      await expectSigned(message, project)
      const { subject, from, text, attachments, bcc, headers } = await PostalMime.parse(message)
      expect([subject, from, text?.trim(), bcc]).toEqual(['Grüße 🦜', { name: 'Gräce', address: project.from }, 'Hallo\n.', undefined])
      expect(attachments.map(({ filename }) => filename).toSorted()).toEqual(['logo.png', 'Übersicht.pdf'])
      expect(headers.find(({ key }) => key === 'x-sterna-id')?.value).toBe(id)
    }
    expect(
      sink.messages
        .filter(({ id }) => ids.includes(id))
        .map(({ recipients }) => recipients[0])
        .toSorted(),
    ).toEqual([TO, 'bob@example.com', 'hidden@example.com'])
    expect(sink.messages.find(({ id }) => id === ids[0])!.sender).toMatch(/^bounce\+.*@bounces\.example$/)
  })

  test('a socket that sends everything at once: two messages, and a third in the next transaction', async () => {
    report('a raw socket', true)
    const project = await newProject()
    const client = await connect({ key: null })
    const letter = (n: number) =>
      `MAIL FROM:<x@x.example>\r\nRCPT TO:<r${n}@x.example>\r\nDATA\r\n${project.letter({ Subject: `n${n}` })}.\r\n`
    client.socket.write(`AUTH PLAIN ${plainToken(project.sk)}\r\n${letter(1)}${letter(2)}RSET\r\n${letter(3)}QUIT\r\n`)
    const replies: string[] = []
    for (let reply = await client.reply(); reply; reply = await client.reply()) replies.push(reply.slice(0, 9))
    const taken = ['250 2.1.0', '250 2.1.5', '354 End d', '250 2.0.0']
    expect(replies).toEqual(['235 2.7.0', ...taken, ...taken, '250 2.0.0', ...taken, '221 2.0.0'])
    expect((await project.emails()).map(({ to }) => to)).toEqual(['r1@x.example', 'r2@x.example', 'r3@x.example'])
  })

  const hasPython = report("Python's smtplib", hasProgram('python3', '-c', 'import smtplib'))
  test.runIf(hasPython)("Python's smtplib", async () => {
    const project = await newProject()
    const script = `
import smtplib, sys
from email.message import EmailMessage
message = EmailMessage()
message['From'], message['To'], message['Subject'] = sys.argv[3], 'ada@example.com', 'Grüße'
message.set_content('Hallo Zoë')
message.add_attachment(b'1234', maintype='application', subtype='pdf', filename='ü.pdf')
with smtplib.SMTP('127.0.0.1', int(sys.argv[1])) as server:
    server.login('sterna', sys.argv[2])
    print(server.send_message(message))
`
    const { stdout } = await run('python3', ['-c', script, String(place.port), project.sk, project.from])
    expect(stdout.trim()).toBe('{}')
    const [email] = await project.emails()
    const message = await relayed(email!.id)
    await expectSigned(message, project)
    expect(await PostalMime.parse(message)).toMatchObject({ subject: 'Grüße', text: expect.stringMatching(/^Hallo Zoë\s*$/) })
  })

  const hasSwaks = report('swaks', hasProgram('swaks', '--version'))
  test.runIf(hasSwaks)('swaks', async () => {
    const project = await newProject()
    const args = ['--server', `127.0.0.1:${place.port}`, '--auth', 'PLAIN', '--auth-user', 'x', '--auth-password', project.sk]
    const { stdout } = await run('swaks', [...args, '--from', project.from, '--to', TO, '--header', 'Subject: swaks'])
    const [id] = idsIn(/250 2\.0\.0 queued .*/.exec(stdout)?.[0] ?? '')
    await expectSigned(await relayed(id), project)
  })
})

describe('on its way', () => {
  const EIGHT_BIT = { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Transfer-Encoding': '8bit' }

  test('a relay with 8BITMIME and SMTPUTF8 gets the same bytes, and is told', async () => {
    const project = await newProject()
    const letter = project.letter({ ...EIGHT_BIT, Subject: 'Grüße' }, 'Grüße\r\n..two dots\r\n.\r\nend\r\n')
    const [id] = idsIn(await submit(project.sk, letter, 'utf8@x.example'))
    const message = await relayed(id)
    expect(message.toString()).toContain(letter)
    await expectSigned(message, project)
    expect(sink.commands.findLast((line) => line.startsWith('MAIL'))).toMatch(/ SMTPUTF8 BODY=8BITMIME/)
  })

  test('a relay without 8BITMIME gets the text encoded, signed like that', async () => {
    relayWith('PIPELINING')
    const project = await newProject()
    const [id] = idsIn(await submit(project.sk, project.letter(EIGHT_BIT, 'Grüße\r\n'), '7bit@x.example'))
    const message = await relayed(id)
    expect(message.every((byte) => byte < 0x80)).toBe(true)
    expect(message.toString()).toContain('Content-Transfer-Encoding: quoted-printable')
    expect((await PostalMime.parse(message)).text?.trim()).toBe('Grüße')
    await expectSigned(message, project)
  })

  test('headers that need SMTPUTF8 fail as rejected without it', async () => {
    relayWith('PIPELINING', '8BITMIME')
    const project = await newProject()
    const [id] = idsIn(await submit(project.sk, project.letter({ ...EIGHT_BIT, Subject: 'Grüße' })))
    await project.ended(id!)
    expect(await project.emails()).toMatchObject([{ state: 'failed', errorCode: 'rejected', error: expect.stringMatching(/SMTPUTF8/) }])
    const { body: suppressions } = await project.call('GET', '/suppressions')
    expect(suppressions.data).toEqual([])
  })

  test('a second attempt has the same bytes', async () => {
    const project = await newProject()
    const to = `rst-dotonce+${project.id}@x.example`
    const [id] = idsIn(
      await submit(
        project.sk,
        project.letter({ 'X-Sterna-Track': 'true', 'Content-Type': 'text/html' }, '<a href="https://x.example">x</a>\r\n'),
        to,
      ),
    )
    await until('its outcome is unknown', async () => (await project.emails())[0]!.state === 'unknown')
    await sql`update emails set unknown_since = now() - interval '1 hour' where id = ${id}`.execute(sterna.db)
    await until('it was sent twice', () => sink.messages.filter((each) => each.id === id).length === 2)
    expect(new Set(sink.messages.filter((each) => each.id === id).map(({ hash }) => hash)).size).toBe(1)
  })

  test('links are tracked with X-Sterna-Track, unless the project tracks nothing', async () => {
    const project = await newProject()
    const letter = project.letter({ 'X-Sterna-Track': 'true', 'Content-Type': 'text/html' }, '<a href="https://x.example/">x</a>\r\n')
    const [tracked] = idsIn(await submit(project.sk, letter))
    const message = (await relayed(tracked)).toString()
    expect(message.replace(/=\r\n/g, '')).toMatch(/\/t\/c\//)
    expect(message).not.toMatch(/x-sterna-track/i)
    await project.owner.call('PATCH', `/users/@me/projects/${project.id}`, { body: { tracking: 'DISABLED' } })
    const [plain] = idsIn(await submit(project.sk, letter))
    expect((await relayed(plain)).toString()).toContain('<a href="https://x.example/">x</a>')
  })

  test('a suppressed recipient is skipped', async () => {
    const project = await newProject()
    await project.call('POST', '/suppressions', { address: TO })
    const [id] = idsIn(await submit(project.sk, project.letter()))
    await project.ended(id!)
    expect(await project.emails()).toMatchObject([{ state: 'skipped', errorCode: 'suppressed' }])
  })
})

describe('usage', () => {
  test('a limit of the project is 452 4.2.2, for all recipients of a message', async () => {
    const project = await newProject()
    await sql`update projects set billing_limit_transactional = 2 where id = ${project.id}`.execute(sterna.db)
    expect(await submit(project.sk, project.letter(), ['a@x.example', 'b@x.example', 'c@x.example'])).toMatch(/^452 4\.2\.2 /)
    expect(await project.emails()).toEqual([])
    expect(await submit(project.sk, project.letter(), ['a@x.example', 'b@x.example'])).toMatch(/^250 /)
    expect(await submit(project.sk, project.letter())).toMatch(/^452 4\.2\.2 /)
  })
})

describe('afterwards', () => {
  test('an email is previewed as it was sent, until its message is deleted', async () => {
    const project = await newProject()
    const [id] = idsIn(await submit(project.sk, project.letter({ 'Content-Type': 'text/html' }, '<p>{{ not a template }}</p>\r\n')))
    await project.ended(id!)
    const { timeline } = (await project.call('GET', `/emails/${id}`)).body
    expect(timeline.map(({ what }: { what: string }) => what)).toEqual(['queued', 'email.sent'])
    const { body } = await project.call('GET', `/emails/${id}/preview`)
    expect(body).toMatchObject({
      subject: 'Hi',
      html: expect.stringMatching(/^<p>{{ not a template }}<\/p>\s*$/),
      requestDataCleared: false,
    })
    expect(body.headers.map(({ name }: { name: string }) => name)).toEqual([
      'From',
      'To',
      'Subject',
      'Content-Type',
      'Date',
      'Message-ID',
      'X-Sterna-Id',
    ])
    expect((await sterna.call('GET', body.frameUrl)).body).toContain('not a template')
    await sql`update contents set raw = null where project_id = ${project.id}`.execute(sterna.db)
    expect((await project.call('GET', `/emails/${id}/preview`)).body).toMatchObject({ requestDataCleared: true })
  })

  test('a failed email is resent with the same message', async () => {
    const project = await newProject()
    sink.script.dot = () => '552 5.3.4 Too large'
    const [id] = idsIn(await submit(project.sk, project.letter({ 'Message-ID': '<own@client.example>' })))
    await project.ended(id!)
    sink.script.dot = () => undefined
    const { status, body } = await project.call('POST', `/emails/${id}/resend`)
    expect([status, body.messageId]).toEqual([201, 'own@client.example'])
    const message = await relayed(body.id)
    expect(message.toString()).toContain('Message-ID: <own@client.example>')
    await expectSigned(message, project)
  })
})
