import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import { sql } from 'kysely'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { transact } from '../../src/db/index.ts'
import { dropOldMessages } from '../../src/delivery/outbox/retention.ts'
import { checkSubmission } from '../../src/doctor/submission.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { startTracing } from '../../src/lib/process/tracing.ts'
import { until } from '../support/eventually.ts'
import { freePort, startNode } from '../support/process.ts'
import { SECRET_KEY } from '../support/secret-key.ts'
import { connectSmtp } from '../support/servers/smtp-client.ts'
import { idsIn, plainToken, TO, useSubmission } from './use-submission.ts'

/** The sandbox, with small limits. */
const { sterna, place, listen, newProject, connect, submit } = useSubmission(async () => ({
  RATE_LIMIT_PER_MINUTE: '60',
  REQUEST_BODY_BUDGET_MB: '1',
}))

describe('limits that the API of the node has too', () => {
  test('the rate limit is one per message, refused at MAIL', async () => {
    const project = await newProject()
    const client = await connect({ key: project.sk })
    for (let n = 0; n < 70; n++) {
      expect(await client.say('MAIL FROM:<x@x.example>')).toMatch(/^250 /)
      await client.say('RSET')
    }
    for (let n = 0; n < 40; n++) await project.call('GET', '/emails?limit=1')
    const replies: string[] = []
    while (replies.at(-1) !== '450 4.7.1') replies.push((await client.deliver({ to: TO, message: project.letter() })).slice(0, 9))
    expect(replies.slice(0, -1).every((reply) => reply === '250 2.0.0')).toBe(true)
    expect(await project.emails()).toHaveLength(replies.length - 1)
  })

  test('bytes in flight are those of request bodies', async () => {
    const [project, other] = [await newProject(), await newProject(await sterna.newPerson())]
    const [first, second, third] = [
      await connect({ key: project.sk }),
      await connect({ key: project.sk }),
      await connect({ key: other.sk }),
    ]
    for (const client of [first, second, third])
      for (const command of ['MAIL FROM:<x@x.example>', `RCPT TO:<${TO}>`, 'DATA']) await client.say(command)
    const line = `${'x'.repeat(98)}\r\n`
    first.socket.write(project.letter({}, line.repeat(4_000)))
    // A request of the project with a large body has no room now.
    const large = { to: TO, from: project.from, subject: 'Hi', body: 'x'.repeat(300_000) }
    await until('its bytes have arrived', async () => (await project.call('POST', '/v1/send', large)).status === 503)
    second.socket.write(`${project.letter({}, line.repeat(4_000))}.\r\n`)
    expect(await second.reply()).toMatch(/^452 4\.3\.1 /)
    // Another owner has.
    third.socket.write(`${other.letter({}, line.repeat(4_000))}.\r\n`)
    expect(await third.reply()).toMatch(/^250 2\.0\.0 /)
    first.socket.write('.\r\n')
    expect(await first.reply()).toMatch(/^250 2\.0\.0 /)
    expect(await submit(project.sk, project.letter({}, line.repeat(4_000)))).toMatch(/^250 2\.0\.0 /)
  })
})

describe('TLS', () => {
  let folder: string
  const files = () => ({ SMTP_SUBMISSION_TLS_KEY: join(folder, 'key.pem'), SMTP_SUBMISSION_TLS_CERT: join(folder, 'cert.pem') })

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sterna-'))
    // The library's own is good enough to see that it is used.
    const { default: tlsOptions } = await import('smtp-server/lib/tls-options.js')
    const { key, cert } = tlsOptions({}) as { key: string; cert: string }
    writeFileSync(files().SMTP_SUBMISSION_TLS_KEY, key)
    writeFileSync(files().SMTP_SUBMISSION_TLS_CERT, cert)
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test.each([
    ['starttls', false],
    ['implicit', true],
  ])('%s', async (tls, secure) => {
    const project = await newProject()
    const port = await listen({ env: { ...files(), SMTP_SUBMISSION_TLS: tls } })
    const client = createTransport({
      host: '127.0.0.1',
      port,
      secure,
      requireTLS: true,
      tls: { rejectUnauthorized: false },
      auth: { user: 'x', pass: project.sk },
    })
    const { response } = await client.sendMail({ from: project.from, to: TO, subject: 'Hi', text: 'Hi' })
    client.close()
    expect(response).toMatch(/^250 2\.0\.0 queued /)
  })

  test('commands that were sent before the handshake are not run after it', async () => {
    const project = await newProject()
    const client = await connectSmtp(await listen({ env: files() }))
    await client.say('EHLO client.example')
    client.socket.write(`STARTTLS\r\nEHLO injected\r\nAUTH PLAIN ${plainToken(project.sk)}\r\nMAIL FROM:<x@x.example>\r\n`)
    expect(await client.reply()).toMatch(/^220 /)
    client.socket.removeAllListeners('data')
    const secure = connectTls({ socket: client.socket, rejectUnauthorized: false })
    await new Promise((resolve) => secure.once('secureConnect', resolve))
    let received = ''
    secure.on('data', (chunk: Buffer) => {
      received += chunk.toString()
    })
    secure.write('EHLO client.example\r\nMAIL FROM:<x@x.example>\r\nQUIT\r\n')
    await until('it says goodbye', () => received.includes('221 '))
    expect(received.match(/^\d{3} .*/gm)!.map((line) => line.slice(0, 9))).toEqual([
      expect.stringMatching(/^250 /),
      '530 5.7.0',
      '221 2.0.0',
    ])
    secure.destroy()
  })

  /** The address of this machine that is not loopback, if there is one. */
  test('without it a key is taken from this machine only', async () => {
    const { networkInterfaces } = await import('node:os')
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((each) => each && !each.internal && each.family === 'IPv4')?.address
    if (!outside) return void process.stdout.write('SKIPPED: this machine has no other address\n')
    const project = await newProject()
    const say = async (port: number, line: string) => {
      const client = await connectSmtp(port, outside)
      const extensions = await client.say('EHLO client.example')
      const answer = await client.say(line)
      client.end()
      return [/AUTH/.test(extensions), answer.slice(0, 9)]
    }
    const auth = `AUTH PLAIN ${plainToken(project.sk)}`
    const closed = await listen({ env: { ...files(), SMTP_SUBMISSION_HOST: '0.0.0.0' } })
    expect(await say(closed, auth)).toEqual([false, '500 5.5.2'])
    expect(await say(closed, 'MAIL FROM:<x@x.example>')).toEqual([false, '530 5.7.0'])
    const open = await listen({ env: { SMTP_SUBMISSION_HOST: '0.0.0.0', SMTP_SUBMISSION_ALLOW_PLAINTEXT: 'true' } })
    expect(await say(open, auth)).toEqual([true, '235 2.7.0'])
  })
})

describe('the doctor', () => {
  const verdicts = async (env: Record<string, string>) =>
    (await checkSubmission(loadConfig({ SECRET_KEY, SMTP_SUBMISSION_HOST: '127.0.0.1', ...env }))).map(
      ({ name, verdict }) => `${name} ${verdict}`,
    )

  test('looks at the certificate, the port, and where clients connect', async () => {
    const free = String(await freePort())
    expect(await verdicts({})).toEqual([])
    expect(await verdicts({ SMTP_SUBMISSION_PORT: free })).toEqual(['smtp certificate warn', 'smtp submission ok'])
    const missing = { SMTP_SUBMISSION_TLS_KEY: '/nowhere/key', SMTP_SUBMISSION_TLS_CERT: '/nowhere/cert' }
    expect(await verdicts({ SMTP_SUBMISSION_PORT: free, ...missing })).toEqual(['smtp certificate FAIL', 'smtp submission ok'])
    const running = { SMTP_SUBMISSION_PORT: String(place.port) }
    expect(await verdicts({ ...running, SMTP_SUBMISSION_PUBLIC: `127.0.0.1:${place.port}` })).toContain('smtp submission ok')
    expect(await verdicts({ ...running, SMTP_SUBMISSION_PUBLIC: `smtp.invalid:${free}` })).toContain('smtp submission warn')
    const other = createServer((socket) => socket.end('220-\r\nHTTP?\r\n')).listen(0, '127.0.0.1')
    await once(other, 'listening')
    expect(await verdicts({ SMTP_SUBMISSION_PORT: String((other.address() as AddressInfo).port) })).toContain('smtp submission FAIL')
    other.close()
  })
})

describe('an installation', () => {
  test('accepts messages with what a user starts, finishes them when it stops, and says where', async () => {
    const project = await newProject()
    const port = await freePort()
    const node = await startNode({
      DATABASE_URL: place.url,
      ROLE: 'api',
      LOG_LEVEL: 'warn',
      SMTP_SUBMISSION_PORT: String(port),
      SMTP_SUBMISSION_HOST: '127.0.0.1',
      SMTP_SUBMISSION_PUBLIC: 'smtp.shop.example:587',
      SMTP_SUBMISSION_ALLOW_PLAINTEXT: 'true',
    })
    const config = (await (await fetch(`${node.url}/config`)).json()) as { features: { smtp: object } }
    expect(config.features.smtp).toEqual({
      enabled: true,
      host: 'smtp.shop.example',
      port: 587,
      tls: 'none',
      plaintext: true,
    })
    const client = await connect({ key: project.sk, port })
    for (const command of ['MAIL FROM:<x@x.example>', `RCPT TO:<${TO}>`, 'DATA']) await client.say(command)
    client.socket.write(project.letter())
    const stopped = node.stop()
    client.socket.write('.\r\n')
    expect(await client.reply()).toMatch(/^250 2\.0\.0 /)
    client.end()
    expect(await stopped).toBe(0)
    expect(node.output()).toBe('')
  })

  test('traces an email from its acceptance on', async () => {
    const spans: { name: string; traceId: string }[] = []
    const collector = createHttpServer(async (req, res) => {
      const { resourceSpans } = (await json(req)) as { resourceSpans: { scopeSpans: { spans: typeof spans }[] }[] }
      for (const { scopeSpans } of resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans)
      res.end('{}')
    }).listen(0, '127.0.0.1')
    await once(collector, 'listening')
    const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
    const stopTracing = startTracing({ endpoint, headers: {}, ratio: 1 }, { service: {}, log: createLog('silent') })
    const project = await newProject()
    const [id] = idsIn(await submit(project.sk, project.letter()))
    await project.ended(id!)
    await stopTracing()
    collector.close()
    const ofEmail = spans.filter(({ traceId }) => traceId === id!.replaceAll('-', ''))
    expect(ofEmail.map(({ name }) => name)).toContain('email accepted')
  })

  test('without the setting says that there is none', async () => {
    const { body } = await sterna.call('GET', '/config')
    expect(body.features.smtp).toEqual({ enabled: false, host: null, port: null, tls: null, plaintext: false })
  })

  test('whose database is away answers 451 4.3.2', async () => {
    const project = await newProject()
    const client = await connect({ key: project.sk, port: await listen({ hasDatabase: false }) })
    expect(await client.deliver({ to: TO, message: project.letter() })).toMatch(/^451 4\.3\.2 /)
  })

  test('keeps messages in the sandbox, where they are read like others', async () => {
    const project = await newProject()
    const boundary = 'b'
    const headers = { 'Content-Type': `multipart/mixed; boundary=${boundary}`, 'X-Sterna-Track': 'true' }
    const body = `--b\r\nContent-Type: text/html; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<a href=3D"https://x.example/">Gr=FC=DFe</a>\r\n--b\r\nContent-Type: text/plain; name=a.txt\r\nContent-Disposition: attachment\r\n\r\nfile\r\n--b--\r\n`
    const [id] = idsIn(await submit(project.sk, project.letter(headers, body)))
    await project.ended(id!)
    const { body: list } = await project.call('GET', '/sandbox/messages')
    const { body: preview } = await project.call('GET', `/sandbox/messages/${list.data[0].id}/preview`)
    expect(preview).toMatchObject({
      html: '<a href="https://x.example/">Grüße</a>',
      attachments: [{ filename: 'a.txt', contentType: 'text/plain', bytes: 4, inline: false }],
    })
  })

  test('keeps messages as long as attachments', async () => {
    const project = await newProject()
    const [old, recent] = [idsIn(await submit(project.sk, project.letter()))[0]!, idsIn(await submit(project.sk, project.letter()))[0]!]
    await project.ended(old)
    await project.ended(recent)
    const rawOf = async (id: string) =>
      (
        await sql<{ has: boolean }>`
        select c.raw is not null as has from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id where e.id = ${id}
      `.execute(sterna.db)
      ).rows[0]!.has
    await sql`update contents set created_at = now() - interval '8 days' where project_id = ${project.id}`.execute(sterna.db)
    await sql`update emails set updated_at = now() - interval '8 days' where id = ${old}`.execute(sterna.db)
    await transact(sterna.db, (tx) => dropOldMessages(tx, 20))
    expect([await rawOf(old), await rawOf(recent)]).toEqual([false, true])
    expect((await project.call('GET', `/emails/${old}`)).body.subject).toBe('Hi')
  })

  test.each([
    [{ SMTP_SUBMISSION_PORT: '0' }, /SMTP_SUBMISSION_PORT/],
    [{ SMTP_SUBMISSION_TLS: 'maybe' }, /SMTP_SUBMISSION_TLS/],
    [{ SMTP_SUBMISSION_TLS_KEY: 'key.pem' }, /both SMTP_SUBMISSION_TLS_KEY/],
    [{ SMTP_SUBMISSION_PORT: '465', SMTP_SUBMISSION_TLS: 'implicit' }, /implicit also needs/],
    [{ SMTP_SUBMISSION_PUBLIC: 'smtp.example.com' }, /host and port/],
  ])('refuses %o', (env, problem) => {
    expect(() => loadConfig({ SECRET_KEY, ...env })).toThrow(problem)
  })
})
