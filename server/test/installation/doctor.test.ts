import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo, LookupFunction } from 'node:net'
import { createServer } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { many } from '../../src/db/index.ts'
import { checkDatabaseSettings, describeSettings } from '../../src/doctor/database-checks.ts'
import { describeDisk, diagnose } from '../../src/doctor/doctor.ts'
import { checkCertificate, checkHost } from '../../src/doctor/host-checks.ts'
import { checkReturnPath, sendRoundTrip } from '../../src/doctor/return-path.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { DAY, HOUR } from '../../src/lib/text/units.ts'
import { useApp } from '../support/app.ts'
import { CERTIFICATE, CERTIFIED_HOST, KEY } from '../support/files/certificate.ts'
import { verifyDomains } from '../support/project.ts'
import { SECRET_KEY } from '../support/secret-key.ts'
import { startDnsServer } from '../support/servers/dns-server.ts'

/** Without a worker: nothing is sent. */
const sterna = useApp({ withWorker: false })
const configWith = (env: Record<string, string>) => loadConfig({ SECRET_KEY, DATABASE_URL: sterna.url, ...env })

describe('the host of PUBLIC_URL', () => {
  const ADDRESS = '192.0.2.10'
  const PTR = '10.2.0.192.in-addr.arpa'
  const LISTED = '10.2.0.192.zen.spamhaus.org'
  let dns: Awaited<ReturnType<typeof startDnsServer>>
  beforeAll(async () => {
    dns = await startDnsServer()
  })
  afterAll(() => dns.stop())

  type Answers = Parameters<typeof dns.set>[1]
  const verdictsWith = async (names: Record<string, Answers>) => {
    for (const name of ['mail.example', PTR, LISTED]) dns.forget(name)
    for (const [name, answers] of Object.entries(names)) dns.set(name, answers)
    const env = { SMTP_URL: 'smtp://relay.example', PUBLIC_URL: 'http://mail.example', DNS_SERVERS: dns.address }
    return (await checkHost(configWith(env))).map(({ name, verdict, note }) => `${verdict} ${name}: ${note}`)
  }
  const HOST = { 'mail.example': { A: [ADDRESS] } }
  const NAMED = { ...HOST, [PTR]: { PTR: ['mail.example'] } }

  test('is well when its address has its name and is on no blocklist', async () => {
    expect(await verdictsWith(NAMED)).toEqual([
      'ok host name: mail.example is 192.0.2.10, and 192.0.2.10 is mail.example',
      expect.stringMatching(/^ok blocklists: 192\.0\.2\.10 is on none of zen\.spamhaus\.org, /),
    ])
  })

  test.each<[string, Record<string, Answers>, RegExp]>([
    ['no address', {}, /^warn host name: mail\.example, which Sterna says in EHLO, has no address; add an A record$/],
    ['a DNS server that fails', { 'mail.example': 'servfail' }, /^warn host name: mail\.example could not be looked up: /],
    ['an address without a name', HOST, /^warn host name: the PTR record of 192\.0\.2\.10 is no name, not mail\.example; /],
    ['an address with another name', { ...HOST, [PTR]: { PTR: ['a.isp.example'] } }, /^warn host name: .* is a\.isp\.example, not mail/],
    [
      'an address on a blocklist',
      { ...NAMED, [LISTED]: { A: ['127.0.0.2'] } },
      /^warn blocklists: 192\.0\.2\.10 is on zen\.spamhaus\.org; /,
    ],
  ])('has a warning for %s', async (_, names, line) => {
    expect(await verdictsWith(names)).toContainEqual(expect.stringMatching(line))
  })

  test('is not listed by a blocklist that refuses to answer', async () => {
    expect(await verdictsWith({ ...NAMED, [LISTED]: { A: ['127.255.255.254'] } })).toContainEqual(expect.stringMatching(/^ok blocklists/))
  })
})

describe('a certificate', () => {
  const lookup: LookupFunction = (_name, _options, found) => found(null, [{ address: '127.0.0.1', family: 4 }])
  const END = new Date(new X509Certificate(CERTIFICATE).validTo).getTime()

  /** What the doctor says of a server, so many days before the end of its certificate. */
  async function verdictFor(days: number, { isTrusted = true } = {}) {
    const server = createServer({ key: KEY, cert: CERTIFICATE }).listen(0, '127.0.0.1')
    server.on('tlsClientError', () => {})
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const trusted = isTrusted ? { ca: CERTIFICATE } : {}
    const { verdict, note } = await checkCertificate(CERTIFIED_HOST, port, { lookup, ...trusted }, END - days * DAY)
    server.close()
    return `${verdict}: ${note}`
  }

  test('is well for months, and to be renewed in its last two weeks', async () => {
    expect(await verdictFor(90)).toBe('ok: the certificate of hook.example is valid until 2126-10-23')
    expect(await verdictFor(10)).toBe('warn: the certificate of hook.example is valid until 2126-10-23, for 10 days; renew it')
  })

  test('that nobody trusts, and a port without one, are warnings', async () => {
    expect(await verdictFor(90, { isTrusted: false })).toMatch(/^warn: hook\.example:\d+ does not answer with a valid certificate \(self/)
    expect(await checkCertificate('mail.example', 1, { lookup })).toMatchObject({
      verdict: 'warn',
      note: expect.stringContaining('REFUSED'),
    })
  })
})

describe('the database', () => {
  test('has too few connections for the pools of its nodes, or enough', async () => {
    const verdict = async (size: string) =>
      (await checkDatabaseSettings(configWith({ DATABASE_POOL_SIZE: size }), sterna.db)).find(({ name }) => name === 'connections')
    expect(await verdict('20')).toMatchObject({ verdict: 'ok', note: expect.stringMatching(/^at most 35 of \d+$/) })
    expect(await verdict('400')).toMatchObject({
      verdict: 'warn',
      note: expect.stringMatching(/^1 node × 415 connections = 415, and the database server allows \d+; lower DATABASE_POOL_SIZE/),
    })
  })

  test('has settings that lose emails, or none', () => {
    const good = { fsync: 'on', full_page_writes: 'on', autovacuum: 'on', synchronous_commit: 'on' }
    expect(describeSettings(good).verdict).toBe('ok')
    expect(describeSettings({ ...good, synchronous_commit: 'remote_apply' }).verdict).toBe('ok')
    for (const name of Object.keys(good))
      expect(describeSettings({ ...good, [name]: 'off' })).toMatchObject({
        verdict: 'warn',
        note: expect.stringContaining(`${name} is off`),
      })
  })

  test('has another time than this node, or the same', async () => {
    const line = async () => (await diagnose({ SECRET_KEY, DATABASE_URL: sterna.url })).find(({ name }) => name === 'database')
    expect(await line()).toMatchObject({ verdict: 'ok', note: expect.stringMatching(/^PostgreSQL \d.*same time as this node$/) })
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + HOUR })
    try {
      expect(await line()).toMatchObject({
        verdict: 'warn',
        note: expect.stringMatching(/differ by 3(599|6\d\d) s; synchronise them with NTP/),
      })
    } finally {
      vi.useRealTimers()
    }
  })
})

test('a disk with less than a gigabyte is a warning', () => {
  expect(describeDisk(5 * 1024 ** 3, '/data')).toEqual({ name: 'disk', verdict: 'ok', note: '5.0 GB free in /data' })
  expect(describeDisk(0.9 * 1024 ** 3, '/data')).toMatchObject({
    verdict: 'warn',
    note: expect.stringMatching(/^0\.9 GB free in \/data; free some/),
  })
})

test('the version is that of package.json, with the newest migration', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
  const [line] = await diagnose({ SECRET_KEY, ROLE: 'nobody' })
  expect(line).toMatchObject({ name: 'version', verdict: 'ok' })
  expect(line!.note).toMatch(
    new RegExp(`^Sterna ${version.replaceAll('.', '\\.')}( \\(commit [0-9a-f]+\\))?, whose newest migration is \\d{4}_\\w+$`),
  )
})

describe('the return path', () => {
  const SMTP = { SMTP_URL: 'smtp://relay.example' }
  const SES = { SES_REGION: 'eu-central-1' }
  const TOPIC = { SNS_TOPIC_ARNS: 'arn:aws:sns:eu-central-1:123456789012:sterna' }
  const AT_ONCE = { leaveMs: 0, backMs: 0, pollMs: 1 }
  const send = (env: Record<string, string>, from: string) =>
    sendRoundTrip({ config: configWith(env), db: sterna.db, url: sterna.url, secrets: sterna.secrets }, from, AT_ONCE)

  test.each<[Record<string, string>, string[]]>([
    [{}, []],
    [SMTP, ['not checked: BOUNCE_DOMAIN is not set, so bounces go to the sender address and Sterna does not read them']],
    [SES, ['not checked: SNS_TOPIC_ARNS is not set, so Amazon reports no bounces']],
    [{ ...SMTP, BOUNCE_DOMAIN: 'bounces.example' }, [expect.stringMatching(/^not checked; to send a message out and back run: /)]],
    [{ ...SES, ...TOPIC }, [expect.stringMatching(/^not checked; /)]],
  ])('with %j is named', (env, notes) => {
    expect(checkReturnPath(configWith(env)).map(({ note }) => note)).toEqual(notes)
  })

  test('is not tried where no bounce can come back, or from an address that may not send', async () => {
    expect(await send({}, 'ops@shop.example')).toMatchObject({ verdict: 'warn', note: 'not checked: the sandbox sends nothing' })
    expect(await send(SMTP, 'ops@shop.example')).toMatchObject({ verdict: 'warn', note: expect.stringContaining('BOUNCE_DOMAIN') })
    for (const from of ['ops@unknown.example', 'nonsense'])
      expect(await send({ ...SES, ...TOPIC }, from)).toMatchObject({ verdict: 'FAIL', note: expect.stringContaining('verified domain') })
  })

  test('is tried with the mailbox simulator of Amazon, and says that no worker runs', async () => {
    const project = await sterna.newProject()
    await sterna.call('POST', '/domains', { key: project.sk, body: { domain: 'shop.example' } })
    await verifyDomains(sterna.db, project.id)
    const found = await send({ ...SES, ...TOPIC }, 'ops@shop.example')
    expect(found).toMatchObject({ verdict: 'FAIL', note: expect.stringMatching(/^no worker has taken the message/) })
    const emails = await many<{ to: string; test: boolean }>(sterna.db)`select to_address as to, test from emails`
    expect(emails).toEqual([{ to: expect.stringMatching(/^bounce\+[0-9a-f]{16}@simulator\.amazonses\.com$/), test: true }])
  })
})
