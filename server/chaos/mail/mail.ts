import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { connect, one } from '../../src/db/index.ts'
import { isId } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/process/log.ts'
import type { ReceivedMessage } from '../../test/support/servers/smtp-server.ts'
import { startCluster } from '../nodes/nodes.ts'
import { feedEvidence, startSinkProcess } from '../nodes/sink-process.ts'
import type { Answer, Call, Sent, Verdict } from '../support/load.ts'
import { newProject, verifyDomain } from '../support/project.ts'
import type { Random } from '../support/random.ts'
import { type Plan, runUnderFaults } from '../support/suite.ts'
import { until } from '../support/until.ts'
import { LOST, mailChecks, TWICE } from './mail-check.ts'
import { mailFaults } from './mail-faults.ts'
import { raceScheduled } from './scheduled-race.ts'
import { scheduleWave } from './scheduled-wave.ts'

export type SendCall = Call & { body: { to: string[]; from: string; subject: string; body: string; subscribed?: boolean; sendAt?: string } }
export type SendAck = { emails: string[] }
/** With evidence, every message that arrived is reported once, as providers do. */
type MailPlan = Plan & {
  evidence?: boolean
  perSecond?: number
  /** Two workers. */
  few?: boolean
  /** Emails that fall due at one moment, beside those of the load. */
  scheduled?: number
}

/** The same for all nodes, as in any installation: links in a message must not depend on the worker that builds it. */
const PUBLIC_URL = 'http://mail.chaos.example'
const WORKERS = ['worker1', 'worker2', 'worker3']
const MAX_RECIPIENTS = 3
const SETTLE_MS = 180_000
/** With fewer emails, a worker reaches its crash point as soon. */
const FEW_PASSES = 15
/** Requests that must succeed between two faults, each with up to three emails. */
const FLOW = 40
const REFUSED = 'p550'
/** Share of calls with `sendAt`. Some of their emails are cancelled or moved when they fall due. */
const SCHEDULED_SHARE = 0.3
/** Behaviour of the SMTP server by share of recipients. Each address is used once, so "…once" concerns the first attempt. */
const BEHAVIOURS: [number, string][] = [
  [0.55, 'ok'],
  [0.3, 'delayed'],
  [0.05, REFUSED],
  [0.03, 't451once'],
  [0.02, 't451dotonce'],
  [0.02, 'rst-dataonce'],
  [0.01, 'rst-dotonce'],
  [0.01, 'garbageonce'],
]
/** Only evidence ends these before the ten minutes that a reply may take. */
const HANGING: [number, string] = [0.005, 'hang-dot']

export async function mailUnderFaults({ evidence = true, perSecond = 60, few = false, scheduled = 0, ...plan }: MailPlan) {
  const sink = await startSinkProcess()
  const all: ReceivedMessage[] = []
  const received = () => {
    all.push(...sink.read())
    return all
  }
  try {
    let awake: () => Promise<unknown> = async () => {}
    let deaths = () => [] as string[]
    let racedCancels = 0
    const { broken, ...run } = await runUnderFaults<SendCall, SendAck>(plan, {
      perSecond,
      flow: FLOW,
      start: () => startCluster({ env: { SMTP_URL: sink.url, PUBLIC_URL }, workers: WORKERS.slice(0, few ? 2 : undefined) }),
      faults(cluster, random) {
        const nemesis = mailFaults(cluster, random, sink.reset, few ? { lastPass: FEW_PASSES } : {})
        awake = nemesis.awake
        deaths = () => [...cluster.workers, cluster.api].flatMap((node) => node.deaths)
        return nemesis.faults
      },
      async prepare({ main, api, databaseUrl }, random) {
        const project = await newProject(main.url)
        const db = connect({ url: databaseUrl, max: 2, log: createLog('silent') })
        await verifyDomain(db, main.url, { ...project, domain: 'chaos.example' })
        const feed = evidence ? feedEvidence(db, project.id, sink.tail) : undefined
        const behaviours = evidence ? [HANGING, ...BEHAVIOURS] : BEHAVIOURS
        let last = 0
        // A refusal ends a subscription that these recipients do not have.
        const address = () => `${behaviour(random, behaviours).replace(REFUSED, 'ok')}+wave${++last}@example.com`
        const wave = await scheduleWave({ url: main.url, secretKey: project.secret, count: scheduled, address, judge: judgeSend })
        const races = raceScheduled({ urls: [main.url, api.url], secretKey: project.secret, projectId: project.id, db }, random)
        return {
          next: sendCalls(project.secret, random, behaviours),
          judge: judgeSend,
          async settle() {
            await awake()
            await races.stop()
            racedCancels = races.cancelled.size
            await untilSettled(db, project.id)
            await feed?.stop()
            await db.destroy()
          },
          checks: (sent: Map<string, Sent<SendCall, SendAck>>) =>
            mailChecks({
              projectId: project.id,
              sent: new Map([...wave, ...sent]),
              received: received(),
              evidence,
              cancelled: races.cancelled,
            }),
        }
      },
    })
    const casesOf = (wanted: string) => broken.find(({ rule }) => rule === wanted)?.cases.length ?? 0
    const copies = new Map<string, number>()
    for (const { id } of received()) copies.set(id, (copies.get(id) ?? 0) + 1)
    return {
      ...run,
      lost: casesOf(LOST),
      duplicates: casesOf(TWICE),
      mails: copies.size,
      copies: all.length,
      /** Including those that the policy allows to arrive twice. */
      repeated: [...copies].filter(([, count]) => count > 1),
      deaths: deaths(),
      racedCancels,
    }
  } finally {
    await sink.stop()
  }
}

type Db = ReturnType<typeof connect>

/** Makes deferred emails due at once. */
const untilSettled = (db: Db, projectId: string) =>
  until('every email has ended', SETTLE_MS, async () => {
    await sleep(100)
    await sql`update emails set due_at = now() where project_id = ${projectId} and state = 'deferred' and due_at > now()`.execute(db)
    const { open } = await one(
      db,
      sql<{ open: number }>`
        select ((select count(*) from emails where project_id = ${projectId} and state not in ('sent', 'failed', 'skipped', 'cancelled'))
          + (select count(*) from provider_notifications where due_at is not null))::int as open
      `,
    )
    return open === 0
  })

/** Each call has an idempotency key and recipients of its own. */
function sendCalls(secretKey: string, random: Random, behaviours: typeof BEHAVIOURS) {
  let last = 0
  return (): SendCall => {
    const key = `chaos-${++last}`
    const to = Array.from(
      { length: 1 + random.below(MAX_RECIPIENTS) },
      (_, index) => `${behaviour(random, behaviours)}+${last}.${index}@example.com`,
    )
    return {
      key,
      path: '/v1/send',
      headers: { authorization: `Bearer ${secretKey}`, 'idempotency-key': key },
      body: {
        to,
        from: 'news@chaos.example',
        subject: `Email ${key}`,
        body: `<p>Hello {{email}}, this is ${key}.</p>`,
        // A subscription that a refusal must end.
        ...(to.some((address) => address.startsWith(REFUSED)) ? { subscribed: true } : {}),
        ...(random.chance(SCHEDULED_SHARE) ? { sendAt: new Date(Date.now() + random.between(300, 4_000)).toISOString() } : {}),
      },
    }
  }
}

export function behaviour(random: Random, behaviours: typeof BEHAVIOURS) {
  let chance = random.between(0, 1)
  const [, how] = behaviours.find(([share]) => {
    chance -= share
    return chance < 0
  }) ?? [0, 'ok']
  return how === 'delayed' ? `d${5 + random.below(200)}` : how
}

/** Two responses acknowledge a call: the first, and the 409 of a repetition that names the first. */
export function judgeSend({ status, body }: Answer): Verdict<SendAck> {
  const details = status === 409 ? body?.error?.details : undefined
  const emails = (details ?? body?.data)?.emails?.map(({ email }: { email: unknown }) => email)
  if ((status === 200 || details?.originalStatusCode === 200) && emails?.every(isId)) return { acknowledged: { emails } }
  if (details?.originalStatusCode === null) return 'again' // the first is still running
  return { wrong: `${status} ${JSON.stringify(body)}` }
}
