import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { sql } from 'kysely'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../src/db/index.ts'
import { startListener } from '../../src/inbound/listener.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { BYTE_BUDGET_LIMITS } from '../../src/lib/fair/byte-budget.ts'
import { newId } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { eventually } from '../support/eventually.ts'
import { postfix } from '../support/files/reports.ts'
import { freePort, startNode } from '../support/process.ts'
import { SECRET_KEY } from '../support/secret-key.ts'
import { connectSmtp, deliver } from '../support/servers/smtp-client.ts'
import { BOUNCES, LETTER, useInbound } from './use-inbound.ts'

const { database, sink, sterna, newProject, place } = useInbound()
const log = createLog('silent')
let port: number
beforeAll(() => {
  port = place.port
})

describe('the listener', () => {
  const stops: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const stop of stops.splice(0).toReversed()) await stop()
  })

  type More = Pick<Parameters<typeof startListener>[0], 'limits'> & { url?: string; certificate?: { keyFile: string; certFile: string } }
  async function listen({ limits = {}, certificate }: More = {}) {
    const own = await freePort()
    const db = connect({ url: database.url, max: 4, log })
    const place = { port: own, host: '127.0.0.1', certificate }
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
    await eventually(async () => {
      const next = await connectSmtp(own.port)
      next.end()
      expect(next.greeting).toMatch(/^220 /)
    })
  })

  test('when all connections are taken, an idle one of the network with most makes room for a new sender', async () => {
    const project = await newProject()
    const own = await listen({ limits: { connections: 4, connectionsOfOne: 2 } })
    const held = []
    for (const from of ['127.0.0.2', '127.0.0.2', '127.0.0.3', '127.0.0.3']) {
      const client = await connectSmtp(own.port, '127.0.0.1', from)
      stops.push(async () => client.end())
      expect(await client.say('EHLO mx.example')).toMatch(/^250/)
      held.push(client)
    }
    const [busy, idle, ...others] = held
    await busy!.say('MAIL FROM:<a@example.com>')
    await busy!.say(`RCPT TO:<help@${project.domain}>`)
    await busy!.say('DATA')
    expect(await deliver(own.port, { to: `help@${project.domain}`, message: LETTER })).toMatch(/^250 /)
    expect(await idle!.reply()).toMatch(/^421 4\.3\.2 /)
    for (const each of others) expect(await each.say('NOOP')).toMatch(/^250 /)
    expect(await busy!.sendBody(LETTER)).toMatch(/^250 /)
  })

  test('messages that do not end leave room for those of other networks', async () => {
    const project = await newProject()
    const to = `help@${project.domain}`
    const budget = { ...BYTE_BUDGET_LIMITS, graceMs: 100, watchMs: 10, waitMs: 60_000 }
    const own = await listen({ limits: { heldBytes: 200_000, budget } })
    const held: Awaited<ReturnType<typeof connectSmtp>>[] = []
    for (const from of ['127.0.0.2', '127.0.0.3']) {
      const client = await connectSmtp(own.port, '127.0.0.1', from)
      stops.push(async () => client.end())
      for (const command of ['EHLO mx.example', 'MAIL FROM:<a@example.com>', `RCPT TO:<${to}>`, 'DATA']) await client.say(command)
      client.socket.write(`Subject: x\r\n\r\n${`${'x'.repeat(98)}\r\n`.repeat(950)}`)
      held.push(client)
    }
    const drip = setInterval(() => {
      for (const { socket } of held) socket.write('x\r\n')
    }, 10)
    // Whichever arrives first: with all three, one that drips is cut off.
    expect(await deliver(own.port, { to, message: `${LETTER}${`${'x'.repeat(98)}\n`.repeat(500)}` })).toMatch(/^250 /)
    clearInterval(drip)
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
    const own = await listen({ certificate: files })
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
    const config = { host: '127.0.0.1', certificate: undefined }
    const base = { db: sterna.db, secrets: sterna.secrets, log, bounceDomain: BOUNCES, name: BOUNCES }
    await expect(startListener({ ...base, inbound: { ...config, port } })).rejects.toThrow(/Port \d+ is in use/)
    const files = { keyFile: '/nowhere/key', certFile: '/nowhere/cert' }
    await expect(startListener({ ...base, inbound: { ...config, port: await freePort(), certificate: files } })).rejects.toThrow(
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
