import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { one, transact } from '../../../src/db/index.ts'
import { settleByEvidence } from '../../../src/delivery/outbox/outcomes/evidence.ts'
import { classify } from '../../../src/delivery/transport/classify.ts'
import { createSesTransport } from '../../../src/delivery/transport/ses.ts'
import type { OutgoingMessage, SendOutcome, Transport } from '../../../src/delivery/transport/transport.ts'
import { checkDueDomains } from '../../../src/domains/sender-domains/check-due.ts'
import { loadConfig } from '../../../src/lib/config.ts'
import { newId } from '../../../src/lib/id.ts'
import { createLog } from '../../../src/lib/process/log.ts'
import { type Answer, startApp, useApp } from '../../support/app.ts'
import { cloneDatabase } from '../../support/database.ts'
import { eventually } from '../../support/eventually.ts'
import { SECRET_KEY } from '../../support/secret-key.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { startSesServer } from '../../support/servers/ses-server.ts'

// Found the way the SDK finds them; nothing else of the machine's may be.
const AWS = {
  AWS_ACCESS_KEY_ID: 'AKIDTEST',
  AWS_SECRET_ACCESS_KEY: 'secret',
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
}
for (const [name, value] of Object.entries(AWS)) vi.stubEnv(name, value)

let ses: Awaited<ReturnType<typeof startSesServer>>
let dns: Awaited<ReturnType<typeof startDnsServer>>
const env: Record<string, string> = { SES_REGION: 'eu-central-1', SES_CONFIGURATION_SET: 'sterna', RATE_LIMIT_PER_MINUTE: '0' }
beforeAll(async () => {
  ses = await startSesServer()
  dns = await startDnsServer()
  env.SES_ENDPOINT = ses.url
  env.DNS_SERVERS = dns.address
})
afterAll(async () => {
  ses.stop()
  await dns.stop()
  vi.unstubAllEnvs()
})

// The transport alone ---------------------------------------------------------------------------------------------------

describe('the SES transport', () => {
  const open: Transport[] = []
  /** Longer than a busy machine takes to answer. */
  const PATIENT = { connectMs: 20_000, replyMs: 20_000 }
  const IMPATIENT = { connectMs: 500, replyMs: 1_500 }
  const createTransport = (endpoint = ses.url, patience = PATIENT) => {
    const transport = createSesTransport({ region: 'eu-central-1', endpoint, configurationSet: 'sterna' }, patience)
    open.push(transport)
    return transport
  }
  afterEach(async () => {
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
    await Promise.all(open.splice(0).map((transport) => transport.close()))
  })

  const mailTo = (recipient: string): OutgoingMessage => {
    const id = newId()
    const message = Buffer.from(`X-Sterna-Id: ${id}\r\nSubject: =?utf-8?q?=C3=A4?=\r\n\r\nHello ä €\r\n.\r\n`)
    return { projectId: newId(), id, from: 'news@shop.example', recipient, subject: '', message }
  }
  const allowed = () => true
  const yes = async () => allowed

  // Begun before the other tests, which run while Amazon takes its time.
  let slowly: Promise<SendOutcome>
  beforeAll(async () => {
    const patient = createSesTransport({ region: 'eu-central-1', endpoint: ses.url, configurationSet: 'sterna' })
    await patient.send(mailTo('ada@example.com'), yes)
    slowly = patient.send(mailTo('slow@example.com'), yes).finally(() => patient.close())
    await eventually(async () => expect(ses.requests).toHaveLength(2))
  })

  test('hands a message over unchanged, to one recipient, with our ids as tags', async () => {
    const email = mailTo('ada@example.com')
    const outcome = await createTransport().send(email, yes)
    const taken = ses.messages.at(-1)!
    expect(outcome).toEqual({ is: 'accepted', response: `accepted as ${taken.id}`, providerId: taken.id })
    expect(taken).toMatchObject({
      from: 'news@shop.example',
      to: ['ada@example.com'],
      source: email.message.toString(),
      tags: { emailId: email.id, projectId: email.projectId },
      set: 'sterna',
    })
  })

  test('an account email has no tags: it has no timeline', async () => {
    await createTransport().send({ ...mailTo('ada@example.com'), projectId: null }, yes)
    expect(ses.messages.at(-1)!.tags).toEqual({})
  })

  test.each([
    ['throttle', { action: 'retry', about: 'provider', throttled: true }],
    ['throttling', { action: 'retry', about: 'provider', throttled: true }],
    ['quota', { action: 'retry', about: 'provider', quotaUsedUp: true }],
    ['quota2', { action: 'retry', about: 'provider', quotaUsedUp: true }],
    ['suspended', { action: 'retry', about: 'provider' }],
    ['paused', { action: 'retry', about: 'provider' }],
    ['denied', { action: 'retry', about: 'provider' }],
    ['signature', { action: 'retry', about: 'provider' }],
    ['sandboxed', { action: 'retry', about: 'recipient', repeatable: true, plain: false }],
    ['domain', { action: 'retry', about: 'sender-domain' }],
    ['mail-from', { action: 'retry', about: 'sender-domain' }],
    ['rejected', { action: 'fail', about: 'recipient', repeatable: true, plain: false }],
    ['bad', { action: 'fail', about: 'recipient', repeatable: true, plain: false }],
  ])('a refusal as %s is not retried, and is classified by its code', async (how, meaning) => {
    const before = ses.requests.length
    const outcome = await createTransport().send(mailTo(`${how}@example.com`), yes)
    expect(ses.requests.length - before).toBe(1)
    expect(outcome.is).toBe('refused')
    const { fingerprint, ...said } = classify(outcome, `${how}@example.com`)
    expect(said).toEqual({ ...meaning, reason: expect.stringMatching(/^\d{3} \w+: ./) })
    expect(fingerprint !== undefined).toBe('repeatable' in meaning)
  })

  test.each(['hang', 'reset', 'garbage', 's500', 's502', 's503', 's504'])(
    'after %s the outcome is unknown, and the client does not retry',
    async (how) => {
      const before = ses.requests.length
      const transport = createTransport(ses.url, how === 'hang' ? IMPATIENT : PATIENT)
      const outcome = await transport.send(mailTo(`${how}@example.com`), yes)
      expect(outcome).toMatchObject({ is: 'unknown' })
      expect(classify(outcome, `${how}@example.com`)).toEqual({ action: 'unknown', about: 'provider', reason: expect.any(String) })
      expect(ses.requests.length - before).toBe(1)
    },
  )

  test.each([
    ['may not leave', async () => undefined],
    ['may no longer leave when it is to be sent', async () => () => false],
    ['cannot be put on record', () => Promise.reject(new Error('no database'))],
  ])('what %s does not leave', async (_, handOver) => {
    const before = ses.requests.length
    expect(await createTransport().send(mailTo('ada@example.com'), handOver)).toEqual({ is: 'withheld' })
    expect(ses.requests.length).toBe(before)
  })

  test('an email is not sent when nothing listens', async () => {
    for (const endpoint of ['http://127.0.0.1:1', 'http://ses.invalid'])
      expect(await createTransport(endpoint).send(mailTo('ada@example.com'), yes)).toMatchObject({ is: 'not-sent' })
  })

  test('without credentials nothing is put on record, and nothing leaves', async () => {
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', undefined)
    const handOver = vi.fn(yes)
    expect(await createTransport().send(mailTo('ada@example.com'), handOver)).toMatchObject({ is: 'not-sent' })
    expect(handOver).not.toHaveBeenCalled()
  })

  test('the hand-over is asked for once, before the request', async () => {
    const before = ses.requests.length
    const handOver = vi.fn(async () => (ses.requests.length === before ? allowed : undefined))
    expect(await createTransport().send(mailTo('ada@example.com'), handOver)).toMatchObject({ is: 'accepted' })
    expect(handOver).toHaveBeenCalledTimes(1)
  })

  test('the quota of the account is read, and a used-up daily quota stops sending', async () => {
    const { quota } = createTransport()
    expect(await quota!()).toEqual({ perSecond: 1_000, stopped: null, isUsedUp: false })
    ses.account.SendQuota.SentLast24Hours = 50_000
    expect(await quota!()).toMatchObject({ stopped: expect.stringContaining('50000'), isUsedUp: true })
    ses.account.SendQuota.SentLast24Hours = 0
    ses.account.SendingEnabled = false
    expect(await quota!()).toMatchObject({ stopped: expect.stringContaining('paused'), isUsedUp: false })
    ses.account.SendingEnabled = true
  })

  test('who takes a while to answer is waited for', async () => {
    expect(await slowly).toMatchObject({ is: 'accepted' })
  })
})

// The product -----------------------------------------------------------------------------------------------------------

describe('with SES', () => {
  const sterna = useApp({ env })
  type Project = Awaited<ReturnType<typeof sterna.newProject>>

  let names = 0
  const newName = () => `ses${++names}.example`
  const post = (project: Project, domain: string): Promise<Answer> => sterna.call('POST', '/domains', { key: project.sk, body: { domain } })
  async function add(project: Project, domain = newName()): Promise<Answer['body']> {
    const { status, body } = await post(project, domain)
    expect([status, body.domain]).toEqual([201, domain])
    await sql`update domains set next_check_at = 'infinity' where project_id = ${project.id}`.execute(sterna.db)
    return body
  }
  async function check(project: Project, id: string): Promise<Answer['body']> {
    await sql`update domains set check_began_at = null where project_id = ${project.id} and id = ${id}`.execute(sterna.db)
    return (await sterna.call('GET', `/domains/${id}/verify`, { key: project.sk })).body
  }
  const approve = (domain: string) => Object.assign(ses.identities.get(domain)!, { Status: 'SUCCESS', Verified: true })
  async function addVerified(project: Project, name = newName()) {
    const domain = await add(project, name)
    approve(name)
    expect(await check(project, domain.id)).toMatchObject({ status: 'verified', verifiedBy: 'ses' })
    return domain
  }
  afterEach(() => {
    ses.outage.refusal = undefined
    ses.state.tokens = undefined
  })

  test('a domain is made known there, for its project, and its three names are to be published', async () => {
    const project = await sterna.newProject()
    const domain = await add(project)
    const { Tokens, Tags } = ses.identities.get(domain.domain)!
    expect(Tags).toEqual([{ Key: 'sterna-project', Value: project.id }])
    expect(domain.dkimTokens).toEqual(Tokens)
    expect(domain.records.map(({ type, name, value, required }: Answer['body']) => [type, name, value, required])).toEqual([
      ...Tokens.map((token) => ['CNAME', `${token}._domainkey.${domain.domain}`, `${token}.dkim.amazonses.com`, true]),
      ['TXT', `_dmarc.${domain.domain}`, 'v=DMARC1; p=none', false],
    ])
  })

  test('a domain is verified when Amazon has verified it, whatever DNS contains', async () => {
    const project = await sterna.newProject()
    const domain = await add(project)
    const [first, second, third] = domain.records
    expect(await check(project, domain.id)).toMatchObject({ status: 'pending', lastError: `CNAME ${first.name} was not found.` })
    for (const record of [first, second, third]) dns.set(record.name, { CNAME: [record.value] })
    expect(await check(project, domain.id)).toMatchObject({ status: 'pending', lastError: expect.stringContaining('has not seen them') })
    approve(domain.domain)
    const checked = await check(project, domain.id)
    expect(checked).toMatchObject({ status: 'verified', verifiedBy: 'ses', lastError: null })
    expect(checked.records.map(({ status }: Answer['body']) => status)).toEqual(['found', 'found', 'found', 'missing'])
    Object.assign(ses.identities.get(domain.domain)!, { Status: 'PENDING' })
    for (const status of ['verified', 'verified', 'pending']) expect(await check(project, domain.id)).toMatchObject({ status })
  })

  test('as long as Amazon cannot say, nothing changes', async () => {
    const project = await sterna.newProject()
    const domain = await addVerified(project)
    ses.outage.refusal = [503, 'ServiceUnavailable', 'Later']
    for (let times = 0; times < 4; times++)
      expect(await check(project, domain.id)).toMatchObject({
        status: 'verified',
        lastError: expect.stringContaining('could not be reached'),
      })
    ses.outage.refusal = undefined
    Object.assign(ses.identities.get(domain.domain)!, { Status: 'TEMPORARY_FAILURE' })
    for (let times = 0; times < 4; times++) expect(await check(project, domain.id)).toMatchObject({ status: 'verified' })
  })

  test.each([
    ['refuses', [503, 'ServiceUnavailable', 'Later']],
    ['throttles', [429, 'TooManyRequestsException', 'Slower']],
    ['denies', [403, 'AccessDeniedException', 'No']],
  ] as const)('when Amazon %s, adding is a 503 with a time to try again, and then works', async (_, refusal) => {
    const project = await sterna.newProject()
    const name = newName()
    ses.outage.refusal = [...refusal]
    const refused = await post(project, name)
    expect([refused.status, refused.body.error.code, refused.headers['retry-after']]).toEqual([503, 'SERVICE_UNAVAILABLE', '30'])
    expect((await sterna.call('GET', '/domains/project/current', { key: project.sk })).body).toEqual([])
    ses.outage.refusal = undefined
    expect((await post(project, name)).status).toBe(201)
  })

  test('removing a domain removes its identity at Amazon, as soon as Amazon can be reached', async () => {
    const project = await sterna.newProject()
    const domain = await addVerified(project)
    expect((await sterna.call('DELETE', `/domains/${domain.id}`, { key: project.sk })).status).toBe(204)
    await eventually(async () => expect(ses.identities.has(domain.domain)).toBe(false))
  })

  test('the domains of a deleted project are forgotten there too', async () => {
    const project = await sterna.newProject()
    const domain = await addVerified(project)
    expect((await project.owner.call('DELETE', `/users/@me/projects/${project.id}`)).status).toBeLessThan(300)
    await eventually(async () => expect(ses.identities.has(domain.domain)).toBe(false))
  })

  test('what the operator has there is no project’s to take, and stays', async () => {
    const project = await sterna.newProject()
    const name = newName()
    ses.identities.set(name, { Tags: [], Tokens: ['a', 'b', 'c'], Status: 'SUCCESS', Verified: true })
    const refused = await post(project, name)
    expect([refused.status, refused.body.error.code]).toEqual([403, 'FORBIDDEN'])
    expect((await sterna.call('GET', '/domains/project/current', { key: project.sk })).body).toEqual([])
    await eventually(async () => {
      const { count } = await one(sterna.db, sql<{ count: number }>`select count(*)::int as count from graphile_worker.jobs`)
      expect(count).toBe(0)
    })
    expect(ses.identities.has(name)).toBe(true)
  })

  test('what was left there by another project is made anew for this one', async () => {
    const project = await sterna.newProject()
    const name = newName()
    ses.identities.set(name, { Tags: [{ Key: 'sterna-project', Value: newId() }], Tokens: ['a'], Status: 'SUCCESS', Verified: true })
    const domain = await add(project, name)
    expect(domain).toMatchObject({ status: 'pending' })
    expect(domain.dkimTokens).not.toContain('a')
    expect(ses.identities.get(name)).toMatchObject({ Tags: [{ Value: project.id }], Verified: false })
  })

  test('DNS records that were published earlier do not verify the domain for the project that adds it now', async () => {
    const project = await sterna.newProject()
    const name = newName()
    ses.state.tokens = ['t1', 't2', 't3']
    for (const token of ses.state.tokens) dns.set(`${token}._domainkey.${name}`, { CNAME: [`${token}.dkim.amazonses.com`] })
    const refused = await post(project, name)
    expect([refused.status, refused.body.error.code]).toEqual([403, 'FORBIDDEN'])
    const { record } = refused.body.error.details
    dns.set(record.name, { TXT: [record.value] })
    expect((await post(project, name)).status).toBe(201)
  })

  test('a domain that was proven to a relay is pending here until Amazon has seen it', async () => {
    const project = await sterna.newProject()
    const domain = await add(project)
    await sql`update domains set status = 'verified', verified_by = 'dns', verified_at = now() where id = ${domain.id}`.execute(sterna.db)
    const config = loadConfig({ SECRET_KEY, DATABASE_URL: sterna.url, ...env })
    await checkDueDomains({ db: sterna.db, config, log: createLog('silent') })
    const list = await sterna.call('GET', '/domains/project/current', { key: project.sk })
    expect(list.body[0]).toMatchObject({ status: 'pending', verifiedBy: null, lastCheckedAt: expect.any(String) })
  })

  async function newProject() {
    const project = await sterna.newProject()
    const { domain } = await addVerified(project)
    const send = async (to: string, more: object = {}) => {
      const body = { to, from: `news@${domain}`, subject: 'Hi', body: '<p>Hi</p>', ...more }
      return (await sterna.call('POST', '/v1/send', { key: project.sk, body })).body.data.emails[0].email as string
    }
    const email = async (id: string) => (await sterna.call('GET', `/emails/${id}`, { key: project.sk })).body
    return { project, domain, send, email }
  }

  test('an email is sent once, unsigned by us, with its ids as tags, and the id of the provider is kept', async () => {
    const { project, domain, send, email } = await newProject()
    const id = await send('ada@example.com')
    await eventually(async () => expect(await email(id)).toMatchObject({ status: 'SENT', attempts: 1 }))
    const sent = ses.messages.filter(({ tags }) => tags.emailId === id)
    expect(sent).toHaveLength(1)
    expect(sent[0]).toMatchObject({ from: `news@${domain}`, to: ['ada@example.com'], tags: { projectId: project.id }, set: 'sterna' })
    expect(sent[0]!.source).toContain(`\r\nX-Sterna-Id: ${id}\r\n`)
    expect(sent[0]!.source).not.toMatch(/^DKIM-Signature/im)
    const { providerId } = await one(
      sterna.db,
      sql<{ providerId: string }>`select provider_id as "providerId" from emails where id = ${id}`,
    )
    expect(providerId).toBe(sent[0]!.id)
  })

  test('what never was answered is unknown, what was refused for good has failed, what may pass waits', async () => {
    const { send, email } = await newProject()
    const [reset, bad, later] = [await send('reset@example.com'), await send('bad@example.com'), await send('throttle@example.com')]
    await eventually(async () => expect(await email(bad)).toMatchObject({ status: 'PENDING', error: 'verifying_refusal' }))
    // As after a minute: another recipient is accepted, and it is asked once more.
    await sql`update held_refusals set held_at = now() - interval '2 minutes' where email_id = ${bad}`.execute(sterna.db)
    await send('ada@example.com')
    await eventually(async () => {
      expect(await email(reset)).toMatchObject({ status: 'SENDING', outcomeUnknownSince: expect.any(String) })
      expect(await email(bad)).toMatchObject({ status: 'FAILED', error: expect.stringContaining('BadRequestException') })
      expect(await email(later)).toMatchObject({ status: 'PENDING', error: expect.stringContaining('TooManyRequests') })
    })
    expect(ses.messages.filter(({ tags }) => tags.emailId === reset)).toHaveLength(1)
  })

  test('an email that was accepted with an error response is not sent again: its outcome is unknown until Amazon reports it', async () => {
    const { project, send, email } = await newProject()
    // Three unknown outcomes in a row would pause all sending.
    const accepted = await send('ada@example.com')
    await eventually(async () => expect(await email(accepted)).toMatchObject({ status: 'SENT' }))
    const [told, untold] = [await send('broken@example.com'), await send('broken@example.com')]
    const copies = (id: string) => ses.messages.filter(({ tags }) => tags.emailId === id).length
    for (const id of [told, untold])
      await eventually(async () =>
        expect(await email(id)).toMatchObject({
          status: 'SENDING',
          outcomeUnknownSince: expect.any(String),
          error: expect.stringContaining('500 InternalFailure'),
        }),
      )
    await transact(sterna.db, (tx) => settleByEvidence(tx, [{ projectId: project.id, id: told, providerId: 'ses-1' }]))
    expect(await email(told)).toMatchObject({ status: 'SENT', attempts: 1, error: null })
    // As after the 15 minutes in which evidence is awaited: a transactional email is sent once more.
    await sql`update emails set unknown_since = now() - interval '1 hour' where project_id = ${project.id} and state = 'unknown'`.execute(
      sterna.db,
    )
    await eventually(async () => expect(copies(untold)).toBe(2))
    expect(copies(told)).toBe(1)
  })

  test('no more emails leave per second than Amazon allows', async () => {
    ses.account.SendQuota.MaxSendRate = 5
    const database = await cloneDatabase()
    const slow = await startApp(database.url, { env })
    const project = await slow.sterna.newProject()
    const domain = newName()
    await slow.sterna.call('POST', '/domains', { key: project.sk, body: { domain } })
    await sql`update domains set status = 'verified', verified_by = 'ses', verified_at = now(), next_check_at = 'infinity'`.execute(
      slow.sterna.db,
    )
    const to = Array.from({ length: 11 }, (_, index) => `rate${index}@example.com`)
    const body = { to, from: `news@${domain}`, subject: 'Hi', body: 'Hi' }
    expect((await slow.sterna.call('POST', '/v1/send', { key: project.sk, body })).status).toBe(200)
    const sent = () => ses.messages.filter((email) => email.to[0]!.startsWith('rate'))
    await eventually(async () => expect(sent()).toHaveLength(11))
    const times = sent().map(({ at }) => at)
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(1_500)
    ses.account.SendQuota.MaxSendRate = 1_000
    await slow.close()
    await database.drop()
  })

  test('a header that would set tags is refused', async () => {
    const { project, domain } = await newProject()
    const body = {
      to: 'ada@example.com',
      from: `news@${domain}`,
      subject: 'Hi',
      body: 'Hi',
      headers: { 'x-ses-message-tags': 'emailId=1' },
    }
    expect((await sterna.call('POST', '/v1/send', { key: project.sk, body })).status).toBe(422)
  })
})
