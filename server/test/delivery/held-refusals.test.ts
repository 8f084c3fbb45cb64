import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { many, one, transact } from '../../src/db/index.ts'
import { settleByEvidence } from '../../src/delivery/outbox/outcomes/evidence.ts'
import type { RefusalTiming } from '../../src/delivery/outbox/refusals/hold.ts'
import { newId } from '../../src/lib/id.ts'
import { startApp } from '../support/app.ts'
import { cloneDatabase } from '../support/database.ts'
import { GENUINE_REPLIES, REFUSALS_OF_US } from '../support/delivery/replies.ts'
import { eventually } from '../support/eventually.ts'
import { startLocalNode } from '../support/local-node.ts'
import { startNode } from '../support/process.ts'
import { verifyDomains } from '../support/project.ts'
import { startSmtpServer } from '../support/servers/smtp-server.ts'

// Refusals of recipients that may be about us: nothing is written until other emails show what they are about.

const DISABLED = '550 Your account has been disabled, please contact support'
const NO_SUCH_USER = '550 5.1.1 No such user'

const REFUSALS: RefusalTiming = { holdMs: 300, pauseMs: 200, maxPauseMs: 800, probeMs: 30_000 }

let sink: Awaited<ReturnType<typeof startSmtpServer>>
let started: Awaited<ReturnType<typeof startApp>>
let sterna: (typeof started)['sterna']
let database: Awaited<ReturnType<typeof cloneDatabase>>

beforeAll(async () => {
  sink = await startSmtpServer({ extensions: ['8BITMIME'] })
  database = await cloneDatabase()
  started = await startApp(database.url, {
    env: { SMTP_URL: sink.url, RATE_LIMIT_PER_MINUTE: '0' },
    intervals: { campaigns: { startMs: 50, countMs: 100 }, notificationsMs: 50 },
    timing: { refusals: REFUSALS },
  })
  sterna = started.sterna
})
afterAll(async () => {
  await started.close()
  await database.drop()
  await sink.stop()
})
afterEach(async () => {
  for (const command of Object.keys(sink.script)) delete sink.script[command as 'MAIL']
  await sql`update emails set state = 'cancelled' where state in ('queued', 'deferred')`.execute(sterna.db)
  await sql`delete from held_refusals`.execute(sterna.db)
  await sql`delete from refusal_streaks`.execute(sterna.db)
  await sql`delete from sending_pauses`.execute(sterna.db)
})

type Person = Awaited<ReturnType<(typeof started)['sterna']['newPerson']>>
type Row = { state: string; code: string | null; error: string | null; attempts: number; failures: number }

async function newProject(owner?: Person) {
  const project = await sterna.newProject(owner)
  const { id, sk, call } = project
  const domain = `d${newId()}.example`
  await call('POST', '/domains', { domain })
  await verifyDomains(sterna.db, id)
  const rows = (ids: string[]) =>
    many(
      sterna.db,
      sql<Row>`select state, error_code as code, error, attempts, failures from emails where id = any(${ids}::uuid[]) order by id`,
    )
  async function send(to: string[], more: { sendAt?: string } = {}): Promise<string[]> {
    const body = { to, from: `hi@${domain}`, subject: 'Hi', body: '<p>Hello</p>', subscribed: true, ...more }
    const answer = await sterna.call('POST', '/v1/send', { key: sk, body })
    expect(answer.status).toBe(200)
    return answer.body.data.emails.map(({ email }: { email: string }) => email)
  }
  return {
    id,
    sk,
    domain,
    call,
    rows,
    owner: project.owner,
    send,
    /** Emails that wait for the sender domain, as if a pause had kept them back: it is not probed with a held email alone. */
    async keepBack(to: string[]) {
      const ids = await send(to, { sendAt: new Date(Date.now() + 86_400_000).toISOString() })
      await sql`update emails set error_code = 'domain_paused' where id = any(${ids}::uuid[])`.execute(sterna.db)
      return ids
    },
    reach: (ids: string[], state: string) =>
      eventually(async () => {
        await letTimePass(30)
        expect((await rows(ids)).map((row) => row.state)).toEqual(ids.map(() => state))
      }),
    held: async (ids: string[]) => (await rows(ids)).filter(({ code }) => code === 'verifying_refusal').length,
    email: async (emailId: string) => (await call('GET', `/emails/${emailId}`)).body,
    events: async () =>
      (
        await many(sterna.db, sql<{ name: string }>`select name from events where project_id = ${id} and name like 'email.%' order by name`)
      ).map(({ name }) => name),
    /** Recipients that a refusal has cost something. */
    async harm() {
      return one(
        sterna.db,
        sql<{ unsubscribed: number; suppressed: number; failed: number; bounced: number }>`
          select (select count(*)::int from contacts where project_id = ${id} and not subscribed) as unsubscribed,
            (select count(*)::int from suppressions where project_id = ${id}) as suppressed,
            (select count(*)::int from emails where project_id = ${id} and state = 'failed') as failed,
            (select count(*)::int from emails where project_id = ${id} and bounced_at is not null) as bounced
        `,
      )
    },
    pause: () =>
      many(
        sterna.db,
        sql<{ probes: number; reason: string }>`
          select failed_probes as probes, reason from sending_pauses where project_id = ${id} and verifies
        `,
      ),
    /** A campaign to this many new contacts. */
    async campaign(count: number) {
      await Promise.all(addresses(count).map((email) => call('POST', '/contacts', { email, subscribed: true })))
      const body = { name: 'News', subject: 'Hello', body: '<p>Hello</p>', from: `news@${domain}`, audienceType: 'ALL' }
      const { id: campaignId } = (await call('POST', '/campaigns', body)).body.data
      expect((await call('POST', `/campaigns/${campaignId}/send`)).status).toBe(200)
      return { id: campaignId as string, get: async () => (await call('GET', `/campaigns/${campaignId}`)).body }
    },
  }
}

/** As if everything that waits had waited longer. */
const letTimePass = async (seconds: number) => {
  const time = sql`make_interval(secs => ${seconds})`
  await sql`update held_refusals set held_at = held_at - ${time}`.execute(sterna.db)
  await sql`update refusal_streaks set last_at = last_at - ${time}`.execute(sterna.db)
  await sql`update sending_pauses set until = until - ${time}, since = since - ${time} where verifies`.execute(sterna.db)
  await sql`update emails set due_at = due_at - ${time} where state = 'deferred' and due_at > now()`.execute(sterna.db)
}

const UNHARMED = { unsubscribed: 0, suppressed: 0, failed: 0, bounced: 0 }

const addresses = (count: number, name = 'reader') => Array.from({ length: count }, (_, index) => `${name}${index}.${newId()}@example.com`)

const isProviderPaused = async () => (await sql`select from sending_pauses where domain = ''`.execute(sterna.db)).rows.length > 0

describe('a relay that refuses us', () => {
  test.each([
    ['RCPT TO', 'RCPT', DISABLED],
    ['RCPT TO with the code of an unknown mailbox', 'RCPT', '550 5.1.1 Your account has been disabled'],
    ['RCPT TO as if no recipient existed', 'RCPT', NO_SUCH_USER],
    ['the end of the message', 'dot', '554 Message rejected: account 4711 is inactive'],
  ] as const)('at %s costs no recipient anything, and everything leaves once it works again', async (_, command, reply) => {
    const project = await newProject()
    sink.script[command] = () => reply
    const campaign = await project.campaign(8)
    const ids = await project.send(addresses(12))
    await eventually(async () =>
      expect((await project.pause())[0]).toMatchObject({ reason: reply, probes: expect.toSatisfy((n) => n > 0) }),
    )
    expect(await project.harm()).toEqual(UNHARMED)
    expect(await project.events()).toEqual([])
    const held = (await project.call('GET', '/emails?status=PENDING&limit=100')).body.data.find(
      ({ errorCode }: { errorCode: string }) => errorCode === 'verifying_refusal',
    )
    const { timeline, ...email } = await project.email(held.id)
    expect(email).toMatchObject({ status: 'PENDING', error: 'verifying_refusal', bouncedAt: null })
    expect(timeline.at(-1)).toMatchObject({ what: 'deferred', details: { reason: 'verifying_refusal', reply } })
    expect(await campaign.get()).toMatchObject({ status: 'SENDING', failedCount: 0, sentCount: 0 })
    delete sink.script[command]
    await project.reach(ids, 'sent')
    await eventually(async () => {
      await letTimePass(2)
      expect(await campaign.get()).toMatchObject({ status: 'SENT', sentCount: 8, failedCount: 0 })
    })
    expect(await project.harm()).toEqual(UNHARMED)
    expect((await project.rows(ids)).filter(({ error, code, failures }) => error || code || failures)).toEqual([])
    expect(new Set(await project.events())).toEqual(new Set(['email.sent']))
    await eventually(async () => expect(await project.pause()).toEqual([]))
  })

  test('again, for one sender domain, and others send on', async () => {
    const [refused, other] = [await newProject(), await newProject()]
    let sender = ''
    sink.script.MAIL = (address) => {
      sender = address
      return undefined
    }
    sink.script.RCPT = () => (sender.endsWith(refused.domain) ? DISABLED : undefined)
    await refused.send(addresses(6))
    await eventually(async () => expect(await refused.pause()).toHaveLength(1))
    await other.reach(await other.send(addresses(6)), 'sent')
    expect(await isProviderPaused()).toBe(false)
  })
})

describe('an unknown recipient', () => {
  test('waits shortly, without a trace, and then bounces once', async () => {
    const project = await newProject()
    sink.script.RCPT = () => NO_SUCH_USER
    const [id] = await project.send(['gone@example.com'])
    await eventually(async () => expect(await project.held([id!])).toBe(1))
    await eventually(async () => expect(await project.email(id!)).toMatchObject({ status: 'BOUNCED', error: NO_SUCH_USER }))
    await eventually(async () => expect(await project.harm()).toEqual({ unsubscribed: 1, suppressed: 1, failed: 1, bounced: 1 }))
    expect(await project.events()).toEqual(['email.bounce'])
    expect(await project.pause()).toEqual([])
    expect((await sql`select from held_refusals`.execute(sterna.db)).rows).toEqual([])
  })

  test('of a campaign is counted once, and the campaign ends after it', async () => {
    const project = await newProject()
    sink.script.RCPT = (address) => (address.startsWith('reader0') ? NO_SUCH_USER : undefined)
    const campaign = await project.campaign(6)
    await eventually(async () => expect(await campaign.get()).toMatchObject({ status: 'SENT', sentCount: 5, failedCount: 1 }))
    await eventually(async () => expect(await campaign.get()).toMatchObject({ bouncedCount: 1 }))
    expect(await project.harm()).toEqual({ unsubscribed: 1, suppressed: 1, failed: 1, bounced: 1 })
  })

  test('and a recipient that is refused otherwise are asked again once another is accepted; refused alike, the email fails, and is not suppressed', async () => {
    const project = await newProject()
    sink.script.dot = (address) => (address.startsWith('spam') ? '554 5.7.1 This looks like spam' : undefined)
    const [id] = await project.send(['spam@example.com'])
    await eventually(async () => expect(await project.held([id!])).toBe(1))
    await letTimePass(20)
    await project.reach(await project.send(addresses(1)), 'sent')
    await eventually(async () =>
      expect(await project.email(id!)).toMatchObject({ status: 'FAILED', errorCode: 'rejected', error: '554 5.7.1 This looks like spam' }),
    )
    expect((await project.rows([id!]))[0]!.attempts).toBeGreaterThanOrEqual(2)
    expect(await project.harm()).toEqual({ ...UNHARMED, failed: 1 })
    expect((await project.events()).toSorted()).toEqual(['email.failed', 'email.sent'])
  })

  test('whose message a report proves to be accepted meanwhile does not bounce', async () => {
    const project = await newProject()
    sink.script.dot = () => NO_SUCH_USER
    const ids = await project.send(addresses(6))
    await eventually(async () => expect(await project.held(ids)).toBeGreaterThanOrEqual(5))
    await transact(sterna.db, (tx) =>
      settleByEvidence(
        tx,
        ids.map((id) => ({ projectId: project.id, id })),
      ),
    )
    await project.reach(ids, 'sent')
    await eventually(async () => expect(await project.pause()).toEqual([]))
    expect(await project.harm()).toEqual(UNHARMED)
  })
})

describe('five equal refusals pause the sender domain, and one email at a time shows what they are about', () => {
  const gone = (address: string) => (address.startsWith('gone') ? NO_SUCH_USER : undefined)

  test('another one is accepted: each is asked again, refused alike, and stands', async () => {
    const project = await newProject()
    sink.script.RCPT = gone
    const alive = await project.keepBack(addresses(4).map((address) => `${address}.net`))
    const dead = await project.send(addresses(6, 'gone'))
    await project.reach(alive, 'sent')
    await project.reach(dead, 'failed')
    await eventually(async () => expect(await project.harm()).toEqual({ unsubscribed: 6, suppressed: 6, failed: 6, bounced: 6 }))
    expect((await project.events()).filter((name) => name === 'email.bounce')).toHaveLength(6)
    for (const { attempts } of await project.rows(dead)) expect(attempts).toBeGreaterThanOrEqual(2)
  })

  test('all are refused alike: the pause doubles, until one is accepted and all are sent again', async () => {
    const project = await newProject()
    sink.script.RCPT = () => NO_SUCH_USER
    const ids = [...(await project.keepBack(addresses(30))), ...(await project.send(addresses(30)))]
    await eventually(async () => expect((await project.pause())[0]?.probes).toBeGreaterThanOrEqual(2))
    expect(await project.harm()).toEqual(UNHARMED)
    delete sink.script.RCPT
    await project.reach(ids, 'sent')
    expect(await project.harm()).toEqual(UNHARMED)
  })

  test('no other is queued: nothing stands, however long it takes, until another recipient is accepted', async () => {
    const project = await newProject()
    sink.script.RCPT = gone
    const dead = await project.send(addresses(6, 'gone'))
    // As long as they are fewer than five they stand by time.
    await eventually(async () => expect(await project.pause()).toHaveLength(1))
    await eventually(async () => {
      await letTimePass(7_200)
      expect((await project.pause())[0]?.probes).toBeGreaterThanOrEqual(4)
    })
    expect(await project.harm()).toEqual(UNHARMED)
    // One that begins within a second of a probe's refusal says nothing about that refusal.
    await eventually(async () => {
      await letTimePass(60)
      await project.reach(await project.send(addresses(1)), 'sent')
      expect((await project.rows(dead)).map(({ state }) => state)).toEqual(dead.map(() => 'failed'))
    })
    await eventually(async () => expect(await project.harm()).toEqual({ unsubscribed: 6, suppressed: 6, failed: 6, bounced: 6 }))
    expect((await project.events()).filter((name) => name === 'email.bounce')).toHaveLength(6)
  })

  test('a campaign that a person paused keeps its held emails, and its domain sends the others', async () => {
    const project = await newProject()
    sink.script.RCPT = () => DISABLED
    const campaign = await project.campaign(8)
    await eventually(async () => expect(await project.pause()).toHaveLength(1))
    expect((await project.call('POST', `/campaigns/${campaign.id}/pause`)).status).toBe(200)
    delete sink.script.RCPT
    await project.reach(await project.send(addresses(2)), 'sent')
    expect(await project.harm()).toEqual(UNHARMED)
    expect((await project.call('POST', `/campaigns/${campaign.id}/resume`)).status).toBe(200)
    await eventually(async () => {
      await letTimePass(2)
      expect(await campaign.get()).toMatchObject({ status: 'SENT', sentCount: 8, failedCount: 0 })
    })
    expect(await project.harm()).toEqual(UNHARMED)
  })

  test('a cancelled campaign gives up its held emails, and its domain sends again', async () => {
    const project = await newProject()
    sink.script.RCPT = () => DISABLED
    const campaign = await project.campaign(8)
    await eventually(async () => expect(await project.pause()).toHaveLength(1))
    await project.call('POST', `/campaigns/${campaign.id}/cancel`)
    await eventually(async () => expect(await campaign.get()).toMatchObject({ status: 'CANCELLED', skippedCount: 8 }))
    delete sink.script.RCPT
    await project.reach(await project.send(addresses(1)), 'sent')
    expect(await project.harm()).toEqual(UNHARMED)
  })
})

test('refusals of RCPT TO beside recipients that are accepted do not pause the domain', async () => {
  const project = await newProject()
  sink.script.RCPT = (address) => (address.startsWith('gone') ? NO_SUCH_USER : undefined)
  // The replies to the messages come after those to the recipients that are refused.
  const to = Array.from({ length: 40 }, (_, index) => `${index % 10 < 3 ? 'gone' : 'd300'}+${index}@d${index % 5}.example`)
  const ids = await project.send(to)
  const pauses: unknown[] = []
  await eventually(async () => {
    pauses.push(...(await project.pause()), ...(await project.rows(ids)).filter(({ code }) => code === 'domain_paused'))
    const states = (await project.rows(ids)).map(({ state }) => state)
    expect(states.toSorted()).toEqual([...Array(12).fill('failed'), ...Array(28).fill('sent')])
  })
  expect(pauses).toEqual([])
  await eventually(async () => expect(await project.harm()).toMatchObject({ suppressed: 12, bounced: 12 }))
})

test('while the last reply of a domain was such a refusal, at most five of its emails are on connections', async () => {
  const project = await newProject()
  const answers: (() => void)[] = []
  let isFirst = true
  sink.script.RCPT = () => {
    if (isFirst) {
      isFirst = false
      return DISABLED
    }
    return new Promise((resolve) => answers.push(() => resolve(undefined)))
  }
  const first = await project.send(addresses(1))
  await eventually(async () => expect(await project.held(first)).toBe(1))
  const ids = await project.send(addresses(20))
  await eventually(() => expect(answers.length).toBe(5))
  // All have been claimed, and none but these five has begun.
  await eventually(async () => expect((await project.rows(ids)).filter(({ state }) => state === 'sending')).toHaveLength(20))
  expect(answers.length).toBe(5)
  sink.script.RCPT = () => undefined
  for (const answer of answers) answer()
  await project.reach(ids, 'sent')
})

describe('forty refusals of us in words of their own', () => {
  const SIZES = [1, 2, 4, 5, 8, 13, 34, 60]
  /** Until the relay works again. */
  const OUTAGES = [30, 600, 7_200]

  test.each(OUTAGES)('cost nobody anything when the relay mends after %i s, and all leave then', async (seconds) => {
    const owner = await sterna.newPerson()
    const texts = REFUSALS_OF_US.filter((_, index) => index % OUTAGES.length === OUTAGES.indexOf(seconds))
    const refuse = (step: number) => (address: string) => {
      const row = Number(/^w(\d+)\./.exec(address)?.[1])
      return row % 2 === step ? texts[row]?.replaceAll('bob@example.com', address) : undefined
    }
    Object.assign(sink.script, { RCPT: refuse(0), dot: refuse(1) })
    const rows = await Promise.all(
      texts.map(async (_, row) => {
        const project = await newProject(owner)
        const domains = row % 3 ? 9 : 1
        const size = SIZES[row % SIZES.length]!
        return {
          project,
          ids: await project.send(Array.from({ length: size }, (_, index) => `w${row}.${index}@r${index % domains}.example.org`)),
        }
      }),
    )
    const expectUnharmed = async () => {
      for (const [row, { project }] of rows.entries()) expect([await project.harm(), texts[row]]).toEqual([UNHARMED, texts[row]])
    }
    await eventually(async () => {
      for (const { project, ids } of rows) expect(await project.held(ids)).toBeGreaterThanOrEqual(Math.min(5, ids.length))
    })
    // Some probes are sent meanwhile.
    for (let passed = 0; passed < seconds; passed += seconds / 5) {
      await letTimePass(seconds / 5)
      await eventually(async () =>
        expect((await sql`select from sending_pauses where verifies and probe_until > now()`.execute(sterna.db)).rows).toEqual([]),
      )
      await expectUnharmed()
    }
    for (const command of ['RCPT', 'dot'] as const) delete sink.script[command]
    for (const { project, ids } of rows) await project.reach(ids, 'sent')
    await expectUnharmed()
  })
})

test('the replies of real servers for unknown recipients stand by themselves', async () => {
  const owner = await sterna.newPerson()
  const recipientOf = (reply: string, index: number) => `g${index}@${reply.includes('bob@yahoo.com') ? 'yahoo.com' : 'example.com'}`
  sink.script.RCPT = (address) => {
    const index = Number(/^g(\d+)@/.exec(address)?.[1])
    return GENUINE_REPLIES[index]?.replaceAll(/\bbob\b/g, `g${index}`).replaceAll('\n', '\r\n')
  }
  // A few in each project: of equal ones there are less than five.
  const projects = await Promise.all(Array.from({ length: 13 }, () => newProject(owner)))
  const sent = await Promise.all(
    projects.map((project, index) =>
      project.send(GENUINE_REPLIES.flatMap((text, reply) => (reply % projects.length === index ? [recipientOf(text, reply)] : []))),
    ),
  )
  await eventually(async () => {
    for (const [index, project] of projects.entries())
      expect((await project.rows(sent[index]!)).map(({ state, code }) => [state, code])).toEqual(
        sent[index]!.map(() => ['failed', expect.stringMatching(/^(bounced|rejected)$/)]),
      )
  })
  for (const project of projects) expect(await project.pause()).toEqual([])
})

test('equal refusals of two owners within a minute pause the provider; those of one owner do not', async () => {
  const [first, second] = [await newProject(), await newProject()]
  const same = await newProject(first.owner)
  sink.script.RCPT = () => DISABLED
  for (const project of [first, same, second]) await project.keepBack(addresses(30))
  for (const project of [first, same]) await project.send(addresses(30))
  await eventually(async () => expect([await first.pause(), await same.pause()].flat()).toHaveLength(2))
  // Both are known by the time they are probed.
  await eventually(async () => expect((await same.pause())[0]?.probes).toBeGreaterThanOrEqual(1))
  expect(await isProviderPaused()).toBe(false)
  await second.send(addresses(30))
  await eventually(async () => expect(await isProviderPaused()).toBe(true))
  delete sink.script.RCPT
  await eventually(async () => expect(await isProviderPaused()).toBe(false))
  for (const project of [first, same, second]) expect(await project.harm()).toEqual(UNHARMED)
})

test('a reset takes held refusals along', async () => {
  const project = await newProject()
  sink.script.RCPT = () => DISABLED
  await project.send(addresses(6))
  await eventually(async () => expect(await project.pause()).toHaveLength(1))
  expect((await project.owner.call('POST', `/users/@me/projects/${project.id}/reset`)).status).toBe(200)
  const left = () =>
    many(
      sterna.db,
      sql`
        select 1 from held_refusals where project_id = ${project.id} union all select 1 from refusal_streaks where project_id = ${project.id}
        union all select 1 from sending_pauses where project_id = ${project.id}
      `,
    )
  await eventually(async () => expect(await left()).toEqual([]))
})

test('a held refusal outlives its worker, and its consequences are written once', async () => {
  const other = await cloneDatabase()
  const env = { DATABASE_URL: other.url, SMTP_URL: sink.url, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'warn' }
  const api = await startLocalNode({ ...env, ROLE: 'api' })
  try {
    const { id, sk, call } = await api.newProject()
    await call('POST', '/domains', { domain: 'shop.example' })
    await sql`update domains set status = 'verified', verified_by = 'dns', verified_at = now(), next_check_at = 'infinity'`.execute(api.db)
    sink.script.RCPT = () => NO_SUCH_USER
    const worker = await startNode({ ...env, ROLE: 'worker' })
    const body = { to: 'gone@example.com', from: 'hi@shop.example', subject: 'Hi', body: '<p>Hi</p>', subscribed: true }
    const { email } = (await api.call('POST', '/v1/send', { key: sk, body })).body.data.emails[0]
    const read = async () => (await call('GET', `/emails/${email}`)).body
    await eventually(async () => expect(await read()).toMatchObject({ status: 'PENDING', error: 'verifying_refusal' }))
    await worker.stop('SIGKILL')
    expect(await read()).toMatchObject({ status: 'PENDING', error: 'verifying_refusal' })
    const next = await startLocalNode({ ...env, ROLE: 'worker' }, { refusals: REFUSALS })
    await eventually(async () => expect((await read()).status).toBe('BOUNCED'))
    const events = () => many(api.db, sql<{ name: string }>`select name from events where project_id = ${id} and name like 'email.%'`)
    await eventually(async () => expect(await events()).toEqual([{ name: 'email.bounce' }]))
    await next.stop()
    expect(await events()).toHaveLength(1)
  } finally {
    await api.stop()
    await other.drop()
  }
})
