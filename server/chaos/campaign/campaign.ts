import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { connect, many, one, type Pool } from '../../src/db/index.ts'
import { every } from '../../src/lib/concurrency/every.ts'
import { createLog } from '../../src/lib/process/log.ts'
import type { ReceivedMessage } from '../../test/support/servers/smtp-server.ts'
import { mailFaults } from '../mail/mail-faults.ts'
import type { Faults } from '../nodes/inject-faults.ts'
import { startCluster } from '../nodes/nodes.ts'
import { feedEvidence, startSinkProcess } from '../nodes/sink-process.ts'
import type { Answer, Call, Sent, Verdict } from '../support/load.ts'
import { newProject, verifyDomain } from '../support/project.ts'
import { createRandom, type Random } from '../support/random.ts'
import { type Plan, runUnderFaults } from '../support/suite.ts'
import { until } from '../support/until.ts'
import { campaignChecks, LOST, TWICE } from './campaign-check.ts'
import { type CampaignClient, campaignClient } from './campaign-client.ts'
import { type Halt, haltCampaigns } from './campaign-halts.ts'
import { type Group, inGroup, seedContacts } from './campaign-seed.ts'

/** Unsubscribes a contact, or creates one that matches the audience. */
export type ChangeCall = Call & { body: { email: string; event: string; subscribed: boolean; data?: object } }
export type ChangeAck = { at: number }

type CampaignPlan = Plan & {
  contacts: number
  /** Time that the campaign is spread over. If the faults take longer, its rate is lowered until they catch up. */
  lastsSeconds: number
  /** Two workers, and only the kinds of faults in `FEW`. */
  few?: boolean
  /** Campaigns that are paused, resumed and cancelled at random moments. */
  halted: number
  /** Small campaigns that start by schedule during the faults. */
  scheduled: number
  /** With evidence, every message that arrived is reported once, as providers do. */
  evidence?: boolean
}

const PUBLIC_URL = 'http://mail.chaos.example'
const WORKERS = ['worker1', 'worker2', 'worker3']
const DOMAIN = 'chaos.example'
/** Three pages of a freeze at least, however few contacts match. */
const OTHER_CONTACTS = 11_000
const HALTED = { contacts: 300, lastsSeconds: 6 }
const SCHEDULED_CONTACTS = 40
/** Makes a page of a freeze slow enough to be interrupted; far from the time limit of a page. */
const FREEZE_PAGE_SECONDS = 0.3
const PER_SECOND = 30
const FLOW = 10
/** Of the calls, as long as most recipients are left. */
const UNSUBSCRIBING_SHARE = 0.6
const MOST_UNSUBSCRIBED_SHARE = 0.3
const EDIT_MS = 700
const DUE_MS = 250
const STARTS_MS = 150_000
const SETTLE_MS = 400_000
/** Emails that got no reply end by evidence, but their connections wait for ten minutes, and a worker has about a hundred. */
const FREE_MS = 20_000
export const SUBJECT = 'As it was'

const PACE_MS = 500
/** Share of the emails that are sent before the last fault. */
const UNDER_FAULTS = 0.75
/** For a short run. */
const FEW: Record<string, number> = {
  'kill -9 of a worker': 1,
  'kill -9 of a worker, and again at a crash point': 1,
  'freeze of a worker': 1,
  'kill -9 of an API node, and again at a crash point': 1,
  'kill -9 of a busy PostgreSQL backend': 1,
  'kill -9 of the postmaster': 1,
}

type Db = ReturnType<typeof connect>
export type Started = { id: string; group: Group }

/** One large campaign under faults, and smaller ones beside it that start by schedule, or are paused and cancelled. */
export async function campaignUnderFaults({
  contacts,
  lastsSeconds,
  halted,
  scheduled,
  few = false,
  evidence = true,
  ...plan
}: CampaignPlan) {
  const sink = await startSinkProcess()
  const received: ReceivedMessage[] = []
  const started: Started[] = []
  const halts: Halt[] = []
  const edits = { done: 0, wrong: [] as string[] }
  const progress = { faults: 0 }
  let unsubscribed = 0
  let largest = { total: 0, sent: 0, failed: 0, skipped: 0, excluded: 0 }
  let isOver = false
  let awake: () => Promise<unknown> = async () => {}
  let deaths = () => [] as string[]
  try {
    const { broken, ...run } = await runUnderFaults<ChangeCall, ChangeAck>(plan, {
      perSecond: PER_SECOND,
      flow: FLOW,
      start: () => startCluster({ env: { SMTP_URL: sink.url, PUBLIC_URL }, workers: WORKERS.slice(0, few ? 2 : undefined) }),
      faults(cluster, random) {
        const nemesis = mailFaults(cluster, random, sink.reset)
        awake = nemesis.awake
        deaths = () => [...cluster.workers, cluster.api].flatMap((node) => node.deaths)
        return countFaults(few ? onlyFew(nemesis.faults) : nemesis.faults, () => progress.faults++)
      },
      async prepare({ main, api, databaseUrl }, random) {
        const project = await newProject(main.url)
        const db = connect({ url: databaseUrl, max: 4, log: createLog('silent') })
        await verifyDomain(db, main.url, { ...project, domain: DOMAIN })
        const sizes = { main: contacts, halted: HALTED.contacts, scheduled: SCHEDULED_CONTACTS, others: OTHER_CONTACTS }
        const readers = await seedContacts(db, { projectId: project.id, sizes, evidence, random })
        await slowFreezes(db)
        const last = readers[0]!
        await deferEmailTo(db, last)
        // Separate sequences: the speed of one must not change the others.
        const randomOf = (offset: number) => createRandom(plan.seed + offset)
        const client = campaignClient({ urls: [main.url, api.url], secret: project.secret, random: randomOf(10) })
        const ratePerMinute = Math.ceil((readers.length / lastsSeconds) * 60)
        const campaign = await startMain({ client, ratePerMinute })
        started.push({ id: campaign.id, group: 'main' })
        await scheduleCampaigns({ client, random: randomOf(11), count: scheduled, lastsSeconds, started })
        await until('the campaign has started', STARTS_MS, async () => (await statusOf(db, campaign.id)) === 'SENDING')
        const feed = evidence ? feedEvidence(db, project.id, sink.tail) : undefined
        const editing = every(EDIT_MS, 'edit what was frozen', () => edit(client, campaign, edits), createLog('silent'))
        const waking = every(
          DUE_MS,
          'make deferred emails due',
          () => makeDue(db, project.id, { except: isOver ? '' : last }),
          createLog('silent'),
        )
        const isAhead = async () =>
          !isOver && (await shareSent(db, campaign.id)) > UNDER_FAULTS * Math.min(1, (progress.faults + 1) / plan.faults)
        const pacing = every(
          PACE_MS,
          'keep pace with the faults',
          keepPace({ client, id: campaign.id, ratePerMinute, isAhead }),
          createLog('silent'),
        )
        const halting = haltCampaigns(halts, {
          client,
          db,
          random: randomOf(12),
          count: halted,
          isOver: () => isOver,
          start: () => startHalted(client, started),
        }).catch((err: Error) => void edits.wrong.push(err.message))
        return {
          next: changeCalls({ publicKey: project.public, random, readers }),
          judge: judgeChange,
          async enough() {
            const status = await until('the database is back', STARTS_MS, () => statusOf(db, campaign.id))
            isOver = true
            if (status !== 'SENDING') throw new Error(`the campaign was ${status} before the last fault`)
          },
          async settle() {
            isOver = true
            const freeing = every(FREE_MS, 'reset connections that wait for a reply', async () => sink.reset(), createLog('silent'))
            await Promise.all([awake(), halting, pacing.stop()])
            await client.request('PUT', `/campaigns/${campaign.id}/rate`, { ratePerMinute: null })
            await untilSettled(db, client, project.id)
            largest = await readCounts(db, campaign.id)
            await Promise.all([feed?.stop(), editing.stop(), waking.stop(), freeing.stop()])
            await db.destroy()
          },
          checks(sent: Map<string, Sent<ChangeCall, ChangeAck>>) {
            received.push(...sink.read())
            unsubscribed = [...sent.values()].filter(({ call, ack }) => ack && !call.body.subscribed).length
            return campaignChecks({ projectId: project.id, started, halts, sent, received, evidence })
          },
        }
      },
    })
    const casesOf = (wanted: string) => broken.find(({ rule }) => rule === wanted)?.cases.length ?? 0
    return {
      ...run,
      problems: [...run.problems, ...edits.wrong, ...(edits.done ? [] : ['nothing was edited during the send'])],
      lost: casesOf(LOST),
      duplicates: casesOf(TWICE),
      largest,
      campaigns: started.length,
      pauses: halts.filter(({ to }) => Number.isFinite(to)).length,
      cancellations: halts.filter(({ to }) => !Number.isFinite(to)).length,
      unsubscribed,
      edits: edits.done,
      copies: received.length,
      deaths: deaths(),
    }
  } finally {
    await sink.stop()
  }
}

const onlyFew = (faults: Faults): Faults =>
  Object.fromEntries(Object.entries(FEW).map(([kind, weight]) => [kind, { ...faults[kind]!, weight }]))

/** There are few calls beside the campaign: an outage may fall between two of them, and nobody notices. */
const countFaults = (faults: Faults, count: () => void): Faults =>
  Object.fromEntries(
    Object.entries(faults).map(([kind, fault]) => [kind, { ...fault, unnoticed: true, inject: () => fault.inject().finally(count) }]),
  )

type Pace = { client: CampaignClient; id: string; ratePerMinute: number; isAhead: () => Promise<boolean> }

/** A campaign that ends before the last fault proves less, and the speed of the machine varies. */
function keepPace({ client, id, ratePerMinute, isAhead }: Pace) {
  let wasAhead = false
  return async () => {
    const ahead = await isAhead()
    if (ahead !== wasAhead) await client.expectOk('PUT', `/campaigns/${id}/rate`, { ratePerMinute: ahead ? 1 : ratePerMinute })
    wasAhead = ahead
  }
}

/** The email to this address waits until it is made due: the campaign cannot end before the last fault, however slowly its pace is changed. */
async function deferEmailTo(db: Db, address: string) {
  await sql`
    create function defer_email() returns trigger language plpgsql as
    ${sql.lit(`begin new.state := 'deferred'; new.due_at := now() + interval '1 day'; return new; end`)}
  `.execute(db)
  await sql`create trigger defer_email before insert on emails for each row when (new.to_address = ${sql.lit(address)}) execute function defer_email()`.execute(
    db,
  )
}

/** A kill between two pages, or within one, needs a page that takes some time. */
async function slowFreezes(db: Db) {
  await sql`
    create function slow_freeze() returns trigger language plpgsql as
    ${sql.lit(`begin perform pg_sleep(${FREEZE_PAGE_SECONDS}); return null; end`)}
  `.execute(db)
  await sql`create trigger slow_freeze after insert on campaign_excluded for each statement execute function slow_freeze()`.execute(db)
}

const content = (name: string) => ({
  name,
  subject: SUBJECT,
  body: `<p>Hello {{ email }}, this is ${name} for {{ group }}.</p>`,
  from: `news@${DOMAIN}`,
})

async function create(client: CampaignClient, body: object): Promise<string> {
  const { data } = await client.expectOk('POST', '/campaigns', body)
  return data.id
}

/** An earlier attempt may have started it, and its answer may have been lost. */
async function send(client: CampaignClient, id: string, when: object = {}) {
  const { status, body } = await client.request('POST', `/campaigns/${id}/send`, when)
  if (status !== 200 && status !== 409) throw new Error(`a campaign cannot be sent: ${status} ${JSON.stringify(body)}`)
}

type Main = { id: string; segmentId: string; templateId: string }

/** To a segment, with the content of a template, by schedule. */
async function startMain({ client, ratePerMinute }: { client: CampaignClient; ratePerMinute: number }): Promise<Main> {
  const { name, ...mail } = content('main')
  const { id: segmentId } = await client.expectOk('POST', '/segments', { name, condition: inGroup('main') })
  const { id: templateId } = await client.expectOk('POST', '/templates', { name, type: 'MARKETING', ...mail })
  const id = await create(client, { name, ...mail, audienceType: 'SEGMENT', segmentId, templateId, ratePerMinute })
  await send(client, id, { delaySeconds: 1 })
  return { id, segmentId, templateId }
}

async function startHalted(client: CampaignClient, started: Started[]) {
  const ratePerMinute = Math.ceil((HALTED.contacts / HALTED.lastsSeconds) * 60)
  const audience = { audienceType: 'FILTERED', audienceCondition: inGroup('halted') }
  const id = await create(client, { ...content('halted'), ...audience, ratePerMinute })
  await send(client, id)
  started.push({ id, group: 'halted' })
  return id
}

type Schedules = { client: CampaignClient; random: Random; count: number; lastsSeconds: number; started: Started[] }

async function scheduleCampaigns({ client, random, count, lastsSeconds, started }: Schedules) {
  for (let number = 0; number < count; number++) {
    const id = await create(client, { ...content('scheduled'), audienceType: 'FILTERED', audienceCondition: inGroup('scheduled') })
    const scheduledFor = new Date(Date.now() + random.between(2_000, (lastsSeconds * 1_000) / 2)).toISOString()
    await send(client, id, { scheduledFor })
    started.push({ id, group: 'scheduled' })
  }
}

/** Segment and template get another condition and content; the campaign itself cannot be changed any more. */
async function edit(client: CampaignClient, { id, segmentId, templateId }: Main, edits: { done: number; wrong: string[] }) {
  const group = edits.done % 2 ? 'main' : 'others'
  await client.expectOk('PATCH', `/segments/${segmentId}`, { condition: inGroup(group) })
  await client.expectOk('PATCH', `/templates/${templateId}`, { subject: `Edited ${edits.done}`, body: '<p>Edited</p>' })
  const changed = await client.request('PUT', `/campaigns/${id}`, { ...content('edited'), audienceType: 'ALL' })
  if (changed.status !== 409) edits.wrong.push(`a campaign that is being sent was changed: ${changed.status}`)
  edits.done++
}

const makeDue = (db: Pool, projectId: string, { except }: { except: string }) =>
  sql`
    update emails set due_at = now()
    where project_id = ${projectId} and state = 'deferred' and due_at > now() and to_address <> ${except}
  `.execute(db)

/** Undefined while the database is away. */
const statusOf = (db: Pool, id: string) =>
  one(db, sql<{ status: string }>`select status from campaigns where id = ${id}`).then(
    ({ status }) => status,
    () => undefined,
  )

const shareSent = async (db: Pool, id: string) =>
  (
    await one(
      db,
      sql<{ share: number }>`
        select coalesce((sent_count + failed_count + skipped_count)::float8 / nullif(total_recipients, 0), 0) as share from campaigns where id = ${id}
      `,
    )
  ).share

/** Every campaign has ended, every email too, and every count is added up. */
async function untilSettled(db: Db, client: CampaignClient, projectId: string) {
  try {
    await until('every campaign has ended', SETTLE_MS, async () => {
      const paused = await many(db, sql<{ id: string }>`select id from campaigns where paused_reason = 'person'`)
      // By a repetition of a pause that took effect late.
      for (const { id } of paused) await client.request('POST', `/campaigns/${id}/resume`)
      await sleep(200)
      return (await countOpen(db, projectId)) === 0
    })
  } catch (err) {
    throw new Error(`${(err as Error).message}; ${await describeOpen(db, projectId)}`)
  }
}

const countOpen = async (db: Db, projectId: string) =>
  (
    await one(
      db,
      sql<{ open: number }>`
        select ((select count(*) from campaigns where status in ('SCHEDULED', 'SENDING') or status = 'CANCELLED' and settled_at is null)
          + (select count(*) from emails where project_id = ${projectId} and state not in ('sent', 'failed', 'skipped', 'cancelled'))
          + (select count(*) from email_ledger where campaign_id is not null)
          + (select count(*) from provider_notifications where due_at is not null))::int as open
      `,
    )
  ).open

const readCounts = (db: Db, id: string) =>
  one(
    db,
    sql<{ total: number; sent: number; failed: number; skipped: number; excluded: number }>`
      select total_recipients as total, sent_count as sent, failed_count as failed, skipped_count as skipped,
        excluded_unsubscribed + excluded_suppressed + excluded_invalid as excluded
      from campaigns where id = ${id}
    `,
  )

/** To explain a timeout. */
async function describeOpen(db: Db, projectId: string) {
  const states = sql`select campaign_id, state, error, count(*)::int from emails where project_id = ${projectId} group by 1, 2, 3 limit 50`
  const campaigns = sql`
    select id, name, status, paused_reason, frozen_at, settled_at, recounted_at, total_recipients, sent_count, failed_count, skipped_count from campaigns
    where status in ('SCHEDULED', 'SENDING') or status = 'CANCELLED' and settled_at is null limit 10`
  return JSON.stringify({ states: await many(db, states), campaigns: await many(db, campaigns) })
}

type Changes = { publicKey: string; random: Random; readers: string[] }

/** Each call has an idempotency key and a contact of its own. */
function changeCalls({ publicKey, random, readers }: Changes) {
  let last = 0
  const left = readers.slice(0, readers.length * MOST_UNSUBSCRIBED_SHARE)
  return (): ChangeCall => {
    const key = `chaos-${++last}`
    const leaving = random.chance(UNSUBSCRIBING_SHARE) ? left.pop() : undefined
    return {
      key,
      path: '/v1/track',
      headers: { authorization: `Bearer ${publicKey}`, 'idempotency-key': key },
      body: leaving
        ? { email: leaving, event: 'left', subscribed: false }
        : { email: `ok+new${last}@example.com`, event: 'joined', subscribed: true, data: { group: 'main' } },
    }
  }
}

function judgeChange({ status, body }: Answer): Verdict<ChangeAck> {
  const details = status === 409 ? body?.error?.details : undefined
  if (status === 200 || details?.originalStatusCode === 200) return { acknowledged: { at: Date.now() } }
  if (details?.originalStatusCode === null) return 'again' // the first is still running
  return { wrong: `${status} ${JSON.stringify(body)}` }
}
