import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KB, MB, SECOND } from '../../src/lib/text/units.ts'
import { until } from '../support/eventually.ts'
import { plainToken, TO, useSubmission } from './use-submission.ts'

/** Long waits, because the machine may be busy; a body counts as slow soon. */
const bodyLimits = { waitMs: 60 * SECOND, graceMs: 100, watchMs: 10 }
const { sterna, listen, newProject, connect, submit } = useSubmission(async () => ({ REQUEST_BODY_BUDGET_MB: '1' }), { bodyLimits })
type Project = Awaited<ReturnType<typeof newProject>>

const BUDGET = MB

/** The library's own certificate is good enough. */
const folder = mkdtempSync(join(tmpdir(), 'sterna-'))
const certificate = { SMTP_SUBMISSION_TLS_KEY: join(folder, 'key.pem'), SMTP_SUBMISSION_TLS_CERT: join(folder, 'cert.pem') }
beforeAll(async () => {
  const { default: tlsOptions } = await import('smtp-server/lib/tls-options.js')
  const { key, cert } = tlsOptions({}) as { key: string; cert: string }
  writeFileSync(certificate.SMTP_SUBMISSION_TLS_KEY, key)
  writeFileSync(certificate.SMTP_SUBMISSION_TLS_CERT, cert)
})
afterAll(() => rmSync(folder, { recursive: true }))

const LINE = `${'x'.repeat(98)}\r\n`
const largeBody = { to: TO, subject: 'Hi', body: 'x'.repeat(300_000) }

describe('a message that does not end', () => {
  async function begin({ sk }: Project) {
    const client = await connect({ key: sk })
    for (const command of ['MAIL FROM:<x@x.example>', `RCPT TO:<${TO}>`, 'DATA']) await client.say(command)
    return client
  }

  /** Takes nothing from a message, unlike a request that is answered. */
  function isRoomFor(owner: string, bytes: number) {
    const probe = sterna.app.holdBody(owner, { bytes: () => 0, isReading: () => false, cutOff() {} })
    const fits = probe.grow(bytes)
    probe.release()
    return fits === true
  }

  /** Sends part of a message, and waits until its bytes are held: the owner has no room for another one. */
  async function hold(project: Project, lines: number) {
    const client = await begin(project)
    client.socket.write(project.letter({}, LINE.repeat(lines)))
    const more = BUDGET / 2 - lines * LINE.length + 16 * KB
    await until('its bytes have arrived', () => !isRoomFor(project.owner.id, more))
    return client
  }

  test('takes room from other projects of its owner, and not from other owners', async () => {
    const owner = await sterna.newPerson()
    const [project, sibling, other] = [await newProject(owner), await newProject(owner), await newProject(await sterna.newPerson())]
    const held = await hold(project, 4_000)
    expect(await submit(sibling.sk, sibling.letter({}, LINE.repeat(4_000)))).toMatch(/^452 4\.3\.1 /)
    expect(await submit(other.sk, other.letter({}, LINE.repeat(4_000)))).toMatch(/^250 2\.0\.0 /)
    held.socket.write('.\r\n')
    expect(await held.reply()).toMatch(/^250 2\.0\.0 /)
  })

  test('is cut off when other owners wait for room, for messages and requests', async () => {
    const [first, second, third] = [
      await newProject(await sterna.newPerson()),
      await newProject(await sterna.newPerson()),
      await newProject(await sterna.newPerson()),
    ]
    const ways = [
      async () => (await submit(third.sk, third.letter({}, LINE.repeat(2_500)))).slice(0, 9),
      async () => String((await third.call('POST', '/v1/send', { ...largeBody, from: third.from })).status),
    ]
    const outcomes: string[] = []
    for (const send of ways) {
      const held = [await hold(first, 5_000), await hold(second, 5_000)]
      // Nothing more arrives: a body that grows while others wait is refused at once, if it does not count as slow yet.
      const [outcome, cutOff] = await Promise.all([send(), Promise.race(held.map((each) => each.reply()))])
      for (const each of held) each.end()
      outcomes.push(outcome)
      await until('everything is free', () => isRoomFor('another', BUDGET))
      expect(cutOff).toMatch(/^421 4\.4\.2 /)
    }
    expect(outcomes).toEqual(['250 2.0.0', '200'])
    expect((await third.emails()).length).toBe(2)
    expect(await first.emails()).toEqual([])
  })
})

describe('when all connections are taken', () => {
  const limits = { connections: 4, connectionsOfOne: 3, freshMs: 60 * SECOND }

  test('one of the network with most of those without a login makes room, the oldest', async () => {
    const project = await newProject()
    const port = await listen({ limits })
    const [first, second, ...others] = [
      await connect({ key: null, port, from: '127.0.0.2' }),
      await connect({ key: null, port, from: '127.0.0.2' }),
      await connect({ key: null, port, from: '127.0.0.3' }),
      await connect({ key: project.sk, port, from: '127.0.0.4' }),
    ]
    expect(await submit(project.sk, project.letter(), TO, port)).toMatch(/^250 2\.0\.0 /)
    expect(await first!.reply()).toMatch(/^421 4\.3\.2 /)
    for (const each of [second!, ...others]) expect(await each.say('NOOP')).toMatch(/^250 /)
  })

  test('an idle one of the owner with most makes room if all have logged in, whatever the project', async () => {
    const owner = await sterna.newPerson()
    const [project, sibling, other] = [await newProject(owner), await newProject(owner), await newProject(await sterna.newPerson())]
    const port = await listen({ limits })
    const others = await connect({ key: other.sk, port })
    const busy = await connect({ key: project.sk, port, from: '127.0.0.2' })
    for (const command of ['MAIL FROM:<x@x.example>', `RCPT TO:<${TO}>`, 'DATA']) await busy.say(command)
    const idle = await connect({ key: sibling.sk, port, from: '127.0.0.3' })
    const youngest = await connect({ key: project.sk, port, from: '127.0.0.4' })
    for (const each of [idle, youngest]) expect(await each.say('NOOP')).toMatch(/^250 /)
    expect(await submit(other.sk, other.letter(), TO, port)).toMatch(/^250 2\.0\.0 /)
    expect(await idle.reply()).toMatch(/^421 4\.3\.2 /)
    for (const each of [others, youngest]) expect(await each.say('NOOP')).toMatch(/^250 /)
    expect(await busy.sendBody(project.letter())).toMatch(/^250 2\.0\.0 /)
  })

  test('two new clients in a row get in', async () => {
    const [project, other] = [await newProject(), await newProject(await sterna.newPerson())]
    const port = await listen({ limits })
    for (const from of ['127.0.0.2', '127.0.0.2', '127.0.0.3', '127.0.0.3']) await connect({ key: project.sk, port, from })
    const first = await connect({ key: null, port, from: '127.0.0.4' })
    const second = await connect({ key: null, port, from: '127.0.0.5' })
    for (const each of [first, second]) expect(await each.say(`AUTH PLAIN ${plainToken(other.sk)}`)).toMatch(/^235 /)
  })

  test('a network beyond its own limit gets no place of others', async () => {
    const project = await newProject()
    const port = await listen({ limits })
    const held = [await connect({ key: project.sk, port, from: '127.0.0.3' })]
    for (let n = 0; n < 3; n++) held.push(await connect({ key: null, port, from: '127.0.0.2' }))
    expect((await connect({ key: null, port, from: '127.0.0.2' })).greeting).toMatch(/^421 4\.3\.2 /)
    for (const each of held) expect(await each.say('NOOP')).toMatch(/^250 /)
  })

  test('handshakes that do not begin make room, where TLS comes first', async () => {
    const project = await newProject()
    const port = await listen({ limits, env: { ...certificate, SMTP_SUBMISSION_TLS: 'implicit' } })
    const silent = Array.from({ length: 6 }, (_, n) => connectSocket({ port, host: '127.0.0.1', localAddress: `127.0.0.${2 + (n % 3)}` }))
    for (const socket of silent) socket.on('error', () => {})
    await Promise.all(silent.map((socket) => once(socket, 'connect')))
    const client = createTransport({
      host: '127.0.0.1',
      port,
      secure: true,
      tls: { rejectUnauthorized: false },
      auth: { user: 'x', pass: project.sk },
    })
    const { response } = await client.sendMail({ from: project.from, to: TO, subject: 'Hi', text: 'Hi' })
    client.close()
    for (const socket of silent) socket.destroy()
    expect(response).toMatch(/^250 2\.0\.0 queued /)
  })
})

test('a connection that used STARTTLS counts until it ends, and no longer', async () => {
  const port = await listen({ limits: { connectionsOfOne: 2 }, env: certificate })
  for (let round = 0; round < 4; round++) {
    const client = await connect({ key: null, port })
    expect(await client.say('STARTTLS')).toMatch(/^220 /)
    client.socket.removeAllListeners('data')
    const secure = connectTls({ socket: client.socket, rejectUnauthorized: false })
    await once(secure, 'secureConnect')
    secure.destroy()
    await once(client.socket, 'close')
  }
  await until('the last one has ended', async () => (await connect({ key: null, port })).greeting.startsWith('220'))
})
