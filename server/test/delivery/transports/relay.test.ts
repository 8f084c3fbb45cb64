import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { many, one } from '../../../src/db/index.ts'
import { wipePauses } from '../../../src/delivery/emails/wipe.ts'
import { REFUSAL_TIMING } from '../../../src/delivery/outbox/refusals/hold.ts'
import { expireQueued } from '../../../src/delivery/sender/expire.ts'
import { createPauseStore } from '../../../src/delivery/sender/limits/pauses.ts'
import { createSlots } from '../../../src/delivery/sender/limits/slots.ts'
import { dropOldPauses } from '../../../src/delivery/sender/limits/stored-pauses.ts'
import { diagnose } from '../../../src/doctor/doctor.ts'
import { newId } from '../../../src/lib/id.ts'
import { createLog } from '../../../src/lib/process/log.ts'
import { startApp } from '../../support/app.ts'
import { cloneDatabase } from '../../support/database.ts'
import { until } from '../../support/eventually.ts'
import { verifyDomains } from '../../support/project.ts'
import { SECRET_KEY } from '../../support/secret-key.ts'
import { startSmtpServer } from '../../support/servers/smtp-server.ts'

// What a relay may answer, and whom it concerns: us, a sender domain, a recipient.

/** Emails on the wire at once. */
const SLOTS = createSlots().most

let sink: Awaited<ReturnType<typeof startSmtpServer>>
let started: Awaited<ReturnType<typeof startApp>>
let sterna: (typeof started)['sterna']
let drop: () => Promise<void>
let url: string

beforeAll(async () => {
  // Without pipelining a test can answer each command in its own time.
  sink = await startSmtpServer({ extensions: ['8BITMIME'] })
  const database = await cloneDatabase()
  started = await startApp(database.url, {
    env: { SMTP_URL: sink.url },
    timing: { refusals: { ...REFUSAL_TIMING, holdMs: 200, pauseMs: 200 } },
  })
  sterna = started.sterna
  drop = database.drop
  url = database.url
})
afterAll(async () => {
  await started.close()
  await drop()
  await sink.stop()
})
afterEach(async () => {
  for (const command of Object.keys(sink.script)) delete sink.script[command as 'MAIL']
  await sql`update emails set state = 'cancelled' where state in ('queued', 'deferred')`.execute(sterna.db)
  await sql`update sending_pauses set until = now(), probe_until = null`.execute(sterna.db)
  // A relay that works ends every pause that is left.
  if ((await pauses()).length) await recover()
})

const pauses = () =>
  many(
    sterna.db,
    sql<{ domain: string; reason: string; projectId: string }>`select domain, reason, project_id as "projectId" from sending_pauses`,
  )

/** As if every pause and every wait were over. */
async function letTimePass() {
  await sql`update sending_pauses set until = now() where until > now()`.execute(sterna.db)
  await sql`update emails set due_at = now() where state = 'deferred' and due_at > now()`.execute(sterna.db)
}

async function recover() {
  for (const { domain, projectId } of await pauses()) {
    if (domain) await sql`delete from sending_pauses where domain = ${domain} and project_id = ${projectId}`.execute(sterna.db)
  }
  const project = await newProject()
  const [id] = await project.send([`ok@example.com`])
  await project.reach([id!], 'sent')
  await until('no pause is left', async () => !(await pauses()).length)
}

async function newProject() {
  const { id, sk } = await sterna.newProject()
  const domain = `d${newId()}.example`
  await sterna.call('POST', '/domains', { key: sk, body: { domain } })
  await verifyDomains(sterna.db, id)

  type Row = { state: string; code: string | null; error: string | null; failures: number; attempts: number }
  const rows = (ids: string[]) =>
    many(
      sterna.db,
      sql<Row>`select state, error_code as code, error, failures, attempts from emails where id = any(${ids}::uuid[]) order by id`,
    )
  return {
    id,
    sk,
    domain,
    rows,
    async send(to: string[], extra: object = {}): Promise<string[]> {
      const body = { to, from: `hi@${domain}`, subject: 'Hi', body: '<p>Hello</p>', subscribed: true, ...extra }
      const answer = await sterna.call('POST', '/v1/send', { key: sk, body })
      expect(answer.status).toBe(200)
      return answer.body.data.emails.map(({ email }: { email: string }) => email)
    },
    reach: (ids: string[], state: string) => until(`all are ${state}`, async () => (await rows(ids)).every((row) => row.state === state)),
    /** What must never follow from a refusal that is not about the recipient. */
    async expectUnharmed() {
      const { harmed } = await one(
        sterna.db,
        sql<{ harmed: number }>`
          select (select count(*) from contacts where project_id = ${id} and not subscribed)
            + (select count(*) from suppressions where project_id = ${id})
            + (select count(*) from emails where project_id = ${id} and (state = 'failed' or bounced_at is not null)) as harmed
        `,
      )
      expect(Number(harmed)).toBe(0)
    },
  }
}

const addresses = (count: number, domain = 'example.com') => Array.from({ length: count }, (_, index) => `${index}.${newId()}@${domain}`)

describe('a relay that refuses us', () => {
  test.each<[string, string, string]>([
    ['the greeting', 'greeting', '554 5.7.1 Service unavailable; Client host [192.0.2.7] blocked'],
    ['EHLO', 'EHLO HELO', '550 5.1.1 Unknown user'],
    ['MAIL FROM, as for a suspended account', 'MAIL', '550 Your account has been disabled, please contact support'],
    ['MAIL FROM, for now', 'MAIL', '451 4.3.0 Try again later'],
  ])('at %s harms no recipient, and everything leaves once it works again', async (_, command, answer) => {
    const project = await newProject()
    sink.reset()
    const before = sink.commands.length
    for (const each of command.split(' ')) sink.script[each as 'MAIL'] = () => answer
    const ids = await project.send(addresses(150))
    await until('the refusal is known', async () => (await pauses()).length)
    const asked = sink.commands.length - before
    await project.expectUnharmed()
    // Paused means that the relay is not asked for every email: fewer commands than emails, with EHLO, MAIL and RSET for each of a few.
    expect(asked).toBeLessThan(150)
    for (const each of command.split(' ')) delete sink.script[each as 'MAIL']
    await until('all are sent', async () => {
      await letTimePass()
      return (await project.rows(ids)).every(({ state }) => state === 'sent')
    })
    await project.expectUnharmed()
    const rows = await project.rows(ids)
    expect(rows.every(({ failures, code, error }) => failures === 0 && code === null && error === null)).toBe(true)
    await until('the pause is over', async () => !(await pauses()).length)
  })

  test('counts no failure against an email while it is away', async () => {
    const project = await newProject()
    sink.reset()
    sink.script.greeting = () => '421 4.3.2 Shutting down'
    const ids = await project.send(addresses(3))
    await until('the refusal is known', async () => (await pauses()).length)
    expect((await project.rows(ids)).every(({ failures, state }) => failures === 0 && state !== 'failed')).toBe(true)
    delete sink.script.greeting
    await project.reach(ids, 'sent')
  })

  test('is tried with one email at a time', async () => {
    const project = await newProject()
    sink.reset()
    sink.script.greeting = () => '554 5.7.1 blocked'
    const ids = await project.send(addresses(40))
    const probes = async () =>
      (await many(sterna.db, sql<{ n: number }>`select failed_probes as n from sending_pauses where domain = ''`))[0]?.n ?? 0
    const probed = (count: number) => async () => {
      await letTimePass()
      return (await probes()) >= count
    }
    await until('it was probed', probed(1))
    const underWay = async () => (await project.rows(ids)).filter(({ state }) => state === 'sending').length
    await until('everything under way has ended but a probe', async () => {
      await letTimePass()
      return (await underWay()) <= 1
    })
    const [known, before] = [await probes(), sink.connections()]
    await until('it was probed twice more', probed(known + 2))
    // One more may be under way at either end.
    expect(sink.connections() - before).toBeLessThanOrEqual((await probes()) - known + 2)
  })
})

describe('MAIL FROM refused', () => {
  test('for one project pauses its domain, and other projects send on', async () => {
    const [bad, good] = [await newProject(), await newProject()]
    await good.reach(await good.send(addresses(1)), 'sent')
    sink.script.MAIL = (address) => (address.endsWith(bad.domain) ? '550 5.7.1 Sender rejected' : undefined)
    const refused = await bad.send(addresses(100))
    await bad.reach(refused, 'deferred')
    await good.reach(await good.send(addresses(30)), 'sent')
    expect((await pauses()).map(({ domain }) => domain)).toEqual([bad.domain])
    expect((await bad.rows(refused)).every(({ code, failures }) => code === 'domain_paused' && failures === 0)).toBe(true)
    const asked = sink.commands.filter((line) => line.startsWith('MAIL') && line.includes(bad.domain)).length
    expect(asked).toBeLessThanOrEqual(SLOTS)
    await bad.expectUnharmed()
  })

  test('for the domains of two projects pauses the provider', async () => {
    const [a, b] = [await newProject(), await newProject()]
    sink.script.MAIL = () => '550 5.7.1 Sender rejected'
    await a.send(addresses(1))
    await b.send(addresses(1))
    await until('the provider is paused', async () => (await pauses()).some(({ domain }) => domain === ''))
  })

  test('for size or syntax ends that one email', async () => {
    const project = await newProject()
    sink.script.MAIL = () => '501 5.1.7 Bad sender address syntax'
    const ids = await project.send(addresses(3))
    await project.reach(ids, 'failed')
    expect(await pauses()).toEqual([])
    expect((await project.rows(ids)).map(({ code }) => code)).toEqual(['rejected', 'rejected', 'rejected'])
    expect((await sql`select from suppressions where project_id = ${project.id}`.execute(sterna.db)).rows).toEqual([])
  })
})

describe('a refused recipient', () => {
  test('that the relay does not relay to stops no other email, and its attempts count', async () => {
    const [a, b] = [await newProject(), await newProject()]
    sink.script.RCPT = (address) => (address.startsWith('relay') ? `554 5.7.1 <${address}>: Relay access denied` : undefined)
    const [stuck] = await a.send(['relay@elsewhere.example'])
    await a.reach([stuck!], 'deferred')
    expect((await a.rows([stuck!]))[0]).toMatchObject({ failures: 1, code: 'transient' })
    expect(await pauses()).toEqual([])
    await b.reach(await b.send(addresses(20)), 'sent')
    await a.reach(await a.send(addresses(20)), 'sent')
  })

  test('that was tried for three days fails, however the relay puts it', async () => {
    const project = await newProject()
    sink.script.RCPT = () => '550 5.7.26 Unauthenticated email is not accepted'
    const [id] = await project.send(addresses(1))
    await project.reach([id!], 'deferred')
    await sql`update emails set failures = 20, due_at = now() where id = ${id}`.execute(sterna.db)
    await project.reach([id!], 'failed')
    expect((await project.rows([id!]))[0]).toMatchObject({ code: 'transient' })
  })

  test('with an unknown address bounces: that address is suppressed and no other', async () => {
    const project = await newProject()
    sink.script.RCPT = (address) => (address.startsWith('gone') ? '550 5.1.1 No such user' : undefined)
    const ids = await project.send(['gone@example.com', 'here@example.com'])
    const email = (id: string) => sterna.call('GET', `/emails/${id}`, { key: project.sk })
    await until('it has bounced', async () => (await email(ids[0]!)).body.status === 'BOUNCED')
    expect((await email(ids[0]!)).body).toMatchObject({ errorCode: 'bounced', error: '550 5.1.1 No such user' })
    const suppressed = () => many(sterna.db, sql<{ address: string }>`select address from suppressions where project_id = ${project.id}`)
    await until('it is suppressed', async () => (await suppressed()).length)
    expect(await suppressed()).toEqual([{ address: 'gone@example.com' }])
  })

  test('five times with the same words pauses the sender domain before any email fails', async () => {
    const [bad, good] = [await newProject(), await newProject()]
    sink.script.dot = (address) => (address.endsWith('@strict.example') ? '554 5.7.1 Message rejected as spam' : undefined)
    const ids = await bad.send(addresses(300, 'strict.example'))
    await until('the domain is paused', async () => (await pauses()).length)
    await until('every email waits', async () => (await bad.rows(ids)).every(({ state }) => state === 'deferred'))
    const held = (await bad.rows(ids)).filter(({ code }) => code === 'verifying_refusal')
    expect(held.length).toBeGreaterThanOrEqual(5)
    // The five, those on the wire meanwhile, and probes.
    expect(held.length).toBeLessThanOrEqual(3 * SLOTS)
    await bad.expectUnharmed()
    await good.reach(await good.send(addresses(20)), 'sent')
    expect((await pauses()).map(({ domain }) => domain)).toEqual([bad.domain])
  })

  test('and tried again twenty times with the same words in projects of two owners pauses the provider', async () => {
    const projects = [await newProject(), await newProject()]
    sink.script.dot = () => '554 5.7.0 Sending paused for this account'
    for (const project of projects) await project.send(addresses(40))
    await until('the provider is paused', async () => (await pauses()).some(({ domain }) => domain === ''))
    for (const project of projects) await project.expectUnharmed()
  })

  test('of a mailbox that throttles slows the emails of that project to that domain, and no others', async () => {
    const [a, b] = [await newProject(), await newProject()]
    sink.script.RCPT = (address) => (address.startsWith('busy') ? '450 4.7.1 Too many messages to this mailbox' : undefined)
    const [stuck] = await a.send(['busy@slow.example'])
    await a.reach([stuck!], 'deferred')
    expect((await a.rows([stuck!]))[0]).toMatchObject({ failures: 1 })
    const own = await a.send(addresses(40, 'slow.example'))
    await until('some of them wait', async () => (await a.rows(own)).some(({ code }) => code === 'throttled'))
    await b.reach(await b.send(addresses(40, 'slow.example')), 'sent')
    await a.reach(await a.send(addresses(20, 'other.example')), 'sent')
  })
})

test('an email that has not left a week after it was accepted ends as expired', async () => {
  const project = await newProject()
  sink.script.RCPT = () => '451 4.3.0 Later'
  const [deferred, queued] = await project.send(addresses(2))
  await project.reach([deferred!, queued!], 'deferred')
  await sql`update emails set created_at = now() - interval '8 days', due_at = now() where id = ${deferred}`.execute(sterna.db)
  await project.reach([deferred!], 'failed')
  expect((await project.rows([deferred!]))[0]).toMatchObject({ error: 'expired', code: 'expired' })
  const { body } = await sterna.call('GET', `/emails/${deferred}`, { key: project.sk })
  expect(body).toMatchObject({ status: 'FAILED', errorCode: 'expired' })
})

test('an email that waits for a paused provider expires too', async () => {
  const project = await newProject()
  sink.reset()
  sink.script.greeting = () => '554 5.7.1 blocked'
  const ids = await project.send(addresses(3))
  await until('the provider is paused', async () => (await pauses()).some(({ domain }) => domain === ''))
  await until('they are back in the queue', async () => (await project.rows(ids)).every(({ state }) => state === 'queued'))
  const young = await project.send(addresses(2))
  await sql`update emails set created_at = now() - interval '8 days' where id = any(${ids}::uuid[])`.execute(sterna.db)
  await until('they have ended', async () => {
    await expireQueued(sterna.db, 2)
    return (await project.rows(ids)).every(({ state, code }) => state === 'failed' && code === 'expired')
  })
  expect((await project.rows(young)).filter(({ state }) => state === 'failed')).toEqual([])
})

test('a refusal that ends in the middle of a character pauses its domain like any other, and the pause ends', async () => {
  const project = await newProject()
  const other = createPauseStore({ db: sterna.db, log: createLog('silent') })
  const paused = { projectId: project.id, domain: project.domain }
  other.pause(paused, `550 ${'x'.repeat(995)}🎉`, { fingerprint: '550 🎉'.slice(0, 5) })
  await other.sync()
  expect((await pauses()).map(({ domain }) => domain)).toEqual([project.domain])
  await sql`update sending_pauses set until = now()`.execute(sterna.db)
  await other.sync()
  expect(await other.takeProbe(paused)).toBe(true)
  other.probed(paused, 'works')
  await other.sync()
  expect(await pauses()).toEqual([])
})

test('pauses of domains that are gone are dropped, and a reset takes those of its project along', async () => {
  const [gone, wiped] = [await newProject(), await newProject()]
  const row = (projectId: string, domain: string) => sql`(${projectId}::uuid, ${domain}, '550 no', now() + interval '1 hour')`
  await sql`
    insert into sending_pauses (project_id, domain, reason, until)
    values ${sql.join([row(gone.id, 'gone.example'), row(gone.id, gone.domain), row(wiped.id, wiped.domain)])}
  `.execute(sterna.db)
  await sterna.db.transaction().execute((tx) => dropOldPauses(tx))
  expect((await pauses()).map(({ domain }) => domain).sort()).toEqual([gone.domain, wiped.domain].sort())
  await sterna.db.transaction().execute((tx) => wipePauses(tx, { projectId: wiped.id, before: new Date().toISOString(), limit: 10 }))
  expect((await pauses()).map(({ domain }) => domain)).toEqual([gone.domain])
})

test('doctor lists what is paused and why', async () => {
  await sql`
    insert into sending_pauses (project_id, domain, reason, until) values (${newId()}, 'paused.example', '550 5.7.1 Sender rejected', 'infinity')
  `.execute(sterna.db)
  const checks = await diagnose({ DATABASE_URL: url, SECRET_KEY })
  expect(checks).toContainEqual({
    name: 'sending',
    verdict: 'warn',
    note: expect.stringMatching(/^paused\.example .* is paused since .*550 5\.7\.1 Sender rejected$/),
  })
})

test.each([
  ['', 'signed with the key of the sender domain'],
  ['&dkim=off', 'not signed, because of dkim=off: the relay must sign it'],
])('doctor says who signs for a relay with %j', async (option, signer) => {
  const checks = await diagnose({ DATABASE_URL: url, SECRET_KEY, SMTP_URL: sink.url + option })
  expect(checks.filter(({ name }) => name === 'relay')).toEqual([
    { name: 'relay', verdict: 'ok', note: `email leaves by ${new URL(sink.url).host}, ${signer}, over a connection that is not encrypted` },
  ])
})

test('doctor says that a relay refuses the password, and does not show it', async () => {
  const checks = await diagnose({ DATABASE_URL: url, SECRET_KEY, SMTP_URL: sink.url.replace('//', '//user:a-password@') })
  const [relay] = checks.filter(({ name }) => name === 'relay')
  expect(relay).toMatchObject({ verdict: 'FAIL', note: expect.stringContaining('does not let Sterna in (Invalid login: 535') })
  expect(JSON.stringify(checks)).not.toContain('a-password')
})

test('an unsubscribe that is answered while the relay hesitates is respected', async () => {
  const project = await newProject()
  const template = await sterna.call('POST', '/templates', {
    key: project.sk,
    body: { name: 'News', subject: 'News for {{email}}', body: '<p>News</p>', from: `hi@${project.domain}`, type: 'MARKETING' },
  })
  let answer: (text: string) => void = () => {}
  let asked = false
  sink.script.RCPT = (address) => {
    if (!address.startsWith('reader')) return undefined
    asked = true
    return new Promise<string>((resolve) => (answer = resolve))
  }
  const [id] = await project.send(['reader@example.com'], {
    template: template.body.id,
    subject: undefined,
    body: undefined,
    from: undefined,
  })
  await until('the relay is asked', () => asked)
  const contact = await one(sterna.db, sql<{ id: string }>`select id from contacts where project_id = ${project.id}`)
  const changed = await sterna.call('PATCH', `/contacts/${contact.id}`, { key: project.sk, body: { subscribed: false } })
  expect(changed.status).toBe(200)
  answer('250 2.1.5 Ok')
  await project.reach([id!], 'skipped')
  expect((await project.rows([id!]))[0]).toMatchObject({ code: 'unsubscribed' })
  expect(sink.messages.filter((email) => email.id === id)).toEqual([])
})

test('records and events have the subject as it was rendered', async () => {
  const project = await newProject()
  const [id] = await project.send(['ada@example.com'], { subject: 'Order {{number}}', data: { number: 'A-17' } })
  await project.reach([id!], 'sent')
  const { body } = await sterna.call('GET', `/emails/${id}`, { key: project.sk })
  expect(body.subject).toBe('Order A-17')
  const events = await many(
    sterna.db,
    sql<{ subject: string }>`select data ->> 'subject' as subject from events where project_id = ${project.id} and email_id = ${id}`,
  )
  expect(events).toEqual([{ subject: 'Order A-17' }])
})
