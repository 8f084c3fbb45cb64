import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { connect, many, one } from '../../src/db/index.ts'
import { every } from '../../src/lib/concurrency/every.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { judgeSend, type SendAck } from '../mail/mail.ts'
import { startCluster } from '../nodes/nodes.ts'
import { type Relay, startRelay } from '../nodes/relay-server.ts'
import type { Call, Sent } from '../support/load.ts'
import { newProject, verifyDomain } from '../support/project.ts'
import type { Random } from '../support/random.ts'
import { type Plan, runUnderFaults } from '../support/suite.ts'
import { until } from '../support/until.ts'
import { LOST, relayChecks, TWICE } from './relay-check.ts'
import { relayFaults } from './relay-faults.ts'

export type RelayCall = Call & { body: { to: string[]; from: string; subject: string; body: string; subscribed: true } }
type Tenant = { id: string; secret: string; domain: string; undeliverable: boolean }

const PUBLIC_URL = 'http://mail.chaos.example'
const WORKERS = ['worker1', 'worker2']
const TENANTS = ['alpha', 'beta', 'gamma', 'delta']
/** Sends half of its emails to undeliverable addresses of every kind. */
const CARELESS = 'delta'
const CARELESS_SHARE = 0.5
const DESTINATIONS = ['one.example', 'two.example', 'three.example']
const PER_SECOND = 60
const FLOW = 20
const SETTLE_MS = 180_000
/** 20 refusals in a row open a breaker. Each of the workers counts for itself and has up to 16 emails on the wire; probes come on top. */
const BREAKER_LIMIT = 2 * (20 + 16) + 10
/** Each of the workers may have 16 connections to open, each of which may ask twice (EHLO, HELO); probes come on top. */
const PROBE_LIMIT = 2 * 16 * 2 + 36
const BURST = 150
const CLOCK_MS = 100
/** Waits of minutes and hours pass within seconds. */
const CLOCK = { speed: 120, longestWaitSeconds: 0.5 }

/** Replies to recipients that are undeliverable without any fault. */
const UNDELIVERABLE: Record<string, { reply: string; untilTheEnd: boolean }> = {
  nobody: { reply: '550 5.1.1 Recipient address rejected: User unknown', untilTheEnd: true },
  denied: { reply: '554 5.7.1 Relay access denied', untilTheEnd: false },
  throttled: { reply: '450 4.7.1 Too many messages to this mailbox', untilTheEnd: false },
  full: { reply: '452 4.2.2 Mailbox full', untilTheEnd: false },
}

export async function relayUnderFaults({ perSecond = PER_SECOND, ...plan }: Plan & { perSecond?: number }) {
  const relay = await startRelay()
  const forgiving = setUpUndeliverable(relay)
  try {
    const bursts: string[] = []
    let faultsAreOver: () => Promise<unknown> = async () => {}
    const { broken, ...run } = await runUnderFaults<RelayCall, SendAck>(plan, {
      perSecond,
      flow: FLOW,
      start: () => startCluster({ env: { SMTP_URL: relay.url, PUBLIC_URL }, workers: WORKERS }),
      faults(cluster, random) {
        const domains = TENANTS.map(domainOf)
        const { faults, over } = relayFaults({
          relay,
          domains,
          destinations: DESTINATIONS,
          burst: (domain) => bursts.push(domain),
          cluster,
          random,
        })
        faultsAreOver = over
        return faults
      },
      async prepare({ main, databaseUrl }, random) {
        const db = connect({ url: databaseUrl, max: 2, log: createLog('silent') })
        const tenants: Tenant[] = []
        for (const name of TENANTS) {
          const tenant = { ...(await newProject(main.url, name)), domain: domainOf(name), undeliverable: name === CARELESS }
          await verifyDomain(db, main.url, tenant)
          tenants.push(tenant)
        }
        // During the faults pauses last as long as in production: the number of refusals depends on it.
        let pausesPass = false
        const passTime = async () => {
          await shortenWaits(db)
          if (pausesPass) await shortenPauses(db)
        }
        const clock = every(CLOCK_MS, 'shorten waits', passTime, createLog('silent'))
        return {
          next: relayCalls(tenants, random, () => bursts.shift()),
          judge: judgeSend,
          async settle() {
            await faultsAreOver()
            forgiving()
            pausesPass = true
            await untilSettled(db).finally(async () => {
              await clock.stop()
              await db.destroy()
            })
          },
          checks: (sent: Map<string, Sent<RelayCall, SendAck>>) =>
            relayChecks({
              projects: tenants.map(({ id }) => id),
              sent,
              said: relay.said,
              taken: relay.taken,
              breakerLimit: BREAKER_LIMIT,
              probeLimit: PROBE_LIMIT,
            }),
        }
      },
    })
    const casesOf = (wanted: string) => broken.find(({ rule }) => rule === wanted)?.cases.length ?? 0
    return {
      ...run,
      lost: casesOf(LOST),
      duplicates: casesOf(TWICE),
      arrived: relay.taken.length,
      badAnswers: relay.said.length,
      connections: relay.connections(),
    }
  } finally {
    relay.stop()
  }
}

const domainOf = (tenant: string) => `${tenant}.chaos.example`

/** The returned function makes every recipient deliverable that is only refused for now. */
function setUpUndeliverable(relay: Relay) {
  const temporary = Object.entries(UNDELIVERABLE).map(([name, { reply, untilTheEnd }]) => {
    const { remove } = relay.addRule({ stage: 'rcpt', reply, appliesTo: ({ recipient }) => recipient.startsWith(`${name}+`) })
    return untilTheEnd ? () => {} : remove
  })
  return () => {
    for (const remove of temporary) remove()
  }
}

/** Each with a key, a sender address and recipients of its own, so that every answer of the relay belongs to one call. */
function relayCalls(tenants: Tenant[], random: Random, nextBurst: () => string | undefined) {
  let last = 0
  const personFor = ({ undeliverable }: Tenant) =>
    undeliverable && random.chance(CARELESS_SHARE) ? random.pick(Object.keys(UNDELIVERABLE)) : 'reader'
  return (): RelayCall => {
    const key = `chaos-${++last}`
    const burst = nextBurst()
    const tenant = tenants.find(({ domain }) => domain === burst) ?? random.pick(tenants)
    const to = Array.from({ length: burst ? BURST : 1 }, (_, place) => `${personFor(tenant)}+${last}.${place}@${random.pick(DESTINATIONS)}`)
    return {
      key,
      path: '/v1/send',
      headers: { authorization: `Bearer ${tenant.secret}`, 'idempotency-key': key },
      body: {
        to,
        from: `news+${last}@${tenant.domain}`,
        subject: `Email ${key}`,
        body: `<p>Hello {{email}}, this is ${key}.</p>`,
        // A subscription to lose, should a refusal be taken for a bounce.
        subscribed: true,
      },
    }
  }
}

type Db = ReturnType<typeof connect>

/** Changes each deferral once: afterwards its wait is short enough. */
const shortenWaits = (db: Db) =>
  sql`
    update emails set due_at = updated_at + least((due_at - updated_at) / ${CLOCK.speed}, make_interval(secs => ${CLOCK.longestWaitSeconds}))
    where state = 'deferred' and due_at > updated_at + make_interval(secs => ${CLOCK.longestWaitSeconds})
  `.execute(db)

const shortenPauses = (db: Db) =>
  sql`
    update sending_pauses set until = now() + make_interval(secs => ${CLOCK.longestWaitSeconds})
    where until > now() + make_interval(secs => ${CLOCK.longestWaitSeconds})
  `.execute(db)

const untilSettled = async (db: Db) => {
  try {
    await until('every email has ended', SETTLE_MS, async () => {
      await sleep(100)
      return (await countOpen(db)) === 0
    })
  } catch (err) {
    throw new Error(`${(err as Error).message}; ${await describeOpen(db)}`)
  }
}

const countOpen = async (db: Db) =>
  (
    await one(
      db,
      sql<{ open: number }>`
        select ((select count(*) from emails where state not in ('sent', 'failed', 'skipped'))
          + (select count(*) from provider_notifications where due_at is not null))::int as open
      `,
    )
  ).open

/** Open emails and pauses, to explain a timeout. */
async function describeOpen(db: Db) {
  const states = await many(
    db,
    sql`select state, error, count(*)::int from emails where state not in ('sent', 'failed', 'skipped') group by 1, 2 limit 20`,
  )
  const pauses = await many(db, sql`select * from sending_pauses`)
  return JSON.stringify({ states, pauses })
}
