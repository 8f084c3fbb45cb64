import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { signalProcess } from '../../src/db/embedded/processes.ts'
import { connect, many, one, type Pool } from '../../src/db/index.ts'
import { newId } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/process/log.ts'
import type { ReceivedMessage } from '../../test/support/servers/smtp-server.ts'
import { type CampaignClient, campaignClient } from '../campaign/campaign-client.ts'
import { mailFaults } from '../mail/mail-faults.ts'
import type { Faults } from '../nodes/inject-faults.ts'
import { type Cluster, startCluster } from '../nodes/nodes.ts'
import { feedEvidence, startSinkProcess } from '../nodes/sink-process.ts'
import { TIMEOUT_AFTER_MS } from '../nodes/timeout-after.ts'
import type { Sent } from '../support/load.ts'
import { newProject, verifyDomain } from '../support/project.ts'
import { createRandom, type Random } from '../support/random.ts'
import { type Plan, runUnderFaults } from '../support/suite.ts'
import { until } from '../support/until.ts'
import { judgeTrack, type TrackAck, type TrackCall } from '../track/track.ts'
import { LOST, TWICE, workflowChecks } from './workflow-check.ts'
import { raceWaits } from './workflow-race.ts'

type WorkflowPlan = Plan & {
  contacts: number
  perSecond: number
  delaySeconds: number
  waitSeconds: number
  /** Two workers, one API node, and only the kinds of faults in `FEW`. */
  few?: boolean
}

const PUBLIC_URL = 'http://mail.chaos.example'
const DOMAIN = 'chaos.example'
const WORKERS = ['worker1', 'worker2', 'worker3']
export const START = 'entered'
const BYSTANDER = 'bystander@example.com'
const ANSWER = 'answered'
/** Calls that must succeed between two faults. */
const FLOW = 10
/** Within a transaction of the engine, of the dispatcher, and around the mark and the settlement of an email. */
const PLACES = ['executions-advanced', 'reactions-applied', 'claimed', 'marked', 'handed-over', 'settled']
/** At least: some faults wait until an email is on its way. */
const ENTERING_PER_SECOND = 5
/** A worker does not live long enough for the usual number of passes: there is a kill every second. */
const LAST_PASS = 15
/** No worker works for longer than a wait and its timeout take. */
const OUTAGE = 'freeze of all workers'
const FEW: Record<string, number> = {
  'kill -9 of a worker': 1,
  'kill -9 of a worker, and again at a crash point': 3,
  'kill -9 of a busy PostgreSQL backend': 1,
  [OUTAGE]: 1,
}
const END_MS = 180_000

/**
 * Contacts enter a workflow while its workers are killed, and at times frozen all together. Each gets an email and is waited for, twice; one
 * that does not answer is reminded once, by the same steps. Most answers arrive when the wait ends, and many are two events of the same name.
 */
export async function workflowUnderFaults({ contacts, perSecond, delaySeconds, waitSeconds, few = false, ...plan }: WorkflowPlan) {
  const sink = await startSinkProcess()
  const received: ReceivedMessage[] = []
  let awake: () => Promise<unknown> = async () => {}
  let deaths = () => [] as string[]
  let outcomes: Outcomes = {
    executions: 0,
    steps: 0,
    reminded: 0,
    answeredOnce: 0,
    answeredTwice: 0,
    racedWonByEvent: 0,
    racedWonByTimeout: 0,
    latestSeconds: 0,
  }
  let faultsSoFar = 0
  try {
    const { broken, ...run } = await runUnderFaults<TrackCall, TrackAck>(plan, {
      perSecond,
      flow: FLOW,
      start: () => startCluster({ env: { SMTP_URL: sink.url, PUBLIC_URL }, workers: WORKERS.slice(0, few ? 2 : undefined), single: few }),
      faults(cluster, random) {
        const nemesis = mailFaults(cluster, random, sink.reset, { places: PLACES, lastPass: LAST_PASS })
        awake = nemesis.awake
        deaths = () => [...cluster.workers, cluster.api].flatMap((node) => node.deaths)
        const faults = { ...nemesis.faults, [OUTAGE]: outageOf(cluster, waitSeconds) }
        return countFaults(few ? onlyFew(faults) : faults, () => faultsSoFar++)
      },
      async prepare({ main, api, databaseUrl }, random) {
        const project = await newProject(main.url)
        const db = connect({ url: databaseUrl, max: 4, log: createLog('silent') })
        await verifyDomain(db, main.url, { ...project, domain: DOMAIN })
        const urls = [main.url, api.url]
        const client = campaignClient({ urls, secret: project.secret, random: createRandom(plan.seed + 10) })
        const workflow = await createWorkflow(client, { delaySeconds, waitSeconds })
        const race = raceWaits({
          db,
          projectId: project.id,
          publicKey: project.public,
          urls,
          random: createRandom(plan.seed + 11),
          event: ANSWER,
          delayId: workflow.steps.delay,
          waitSeconds,
        })
        const feed = feedEvidence(db, project.id, sink.tail)
        const startedAt = performance.now()
        const bySeconds = () => ((performance.now() - startedAt) / 1_000) * ENTERING_PER_SECOND
        const quota = () => Math.min(contacts, Math.max((contacts * (faultsSoFar + 1)) / plan.faults, bySeconds()))
        const { next, entered } = startCalls({ publicKey: project.public, random, quota })
        return {
          next,
          judge: judgeTrack,
          enough: () => until('every contact has entered', plan.withinMs, () => entered() >= contacts),
          async settle() {
            await awake()
            await untilEnded(db, project.id)
            await race.stop()
            await untilSent(db, project.id)
            outcomes = await readOutcomes(db, project.id, workflow.steps)
            await feed.stop()
            await db.destroy()
          },
          checks(sent: Map<string, Sent<TrackCall, TrackAck>>) {
            received.push(...sink.read())
            const { acknowledged } = race
            return workflowChecks({ projectId: project.id, workflow, sent, received, answer: ANSWER, acknowledged, waitSeconds })
          },
        }
      },
    })
    const casesOf = (wanted: string) => broken.find(({ rule }) => rule === wanted)?.cases.length ?? 0
    return { ...run, ...outcomes, lost: casesOf(LOST), duplicates: casesOf(TWICE), copies: received.length, deaths: deaths() }
  } finally {
    await sink.stop()
  }
}

/** Events are still accepted, and deadlines pass. */
const outageOf = ({ workers }: Cluster, waitSeconds: number): Faults[string] => ({
  weight: 1,
  unnoticed: true,
  possible: () => workers.every((worker) => worker.isServing()),
  async inject() {
    const pids = workers.map((worker) => worker.pid())
    for (const pid of pids) signalProcess(pid, 'SIGSTOP')
    await sleep(waitSeconds * 1_000 + 2 * TIMEOUT_AFTER_MS)
    for (const pid of pids) signalProcess(pid, 'SIGCONT')
  },
})

const onlyFew = (faults: Faults): Faults =>
  Object.fromEntries(Object.entries(FEW).map(([kind, weight]) => [kind, { ...faults[kind]!, weight }]))

/** There are few calls per second: an outage may fall between two of them, and nobody notices. */
const countFaults = (faults: Faults, count: () => void): Faults =>
  Object.fromEntries(
    Object.entries(faults).map(([kind, fault]) => [kind, { ...fault, unnoticed: true, inject: () => fault.inject().finally(count) }]),
  )

type Starts = { publicKey: string; random: Random; quota: () => number }

/**
 * Each call brings a contact of its own in, as long as the quota allows: contacts enter from the first fault to the last, however fast the
 * machine is. The other calls concern nobody in the workflow.
 */
function startCalls({ publicKey, random, quota }: Starts) {
  let last = 0
  let entered = 0
  const next = (): TrackCall => {
    const key = `chaos-${++last}`
    const isStart = entered < quota()
    const how = random.chance(0.5) ? 'ok' : `d${5 + random.below(50)}`
    const body = isStart
      ? { email: `${how}+${++entered}@example.com`, event: START, subscribed: true, data: { key } }
      : { email: BYSTANDER, event: 'seen', data: { key } }
    return { key, path: '/v1/track', headers: { authorization: `Bearer ${publicKey}`, 'idempotency-key': key }, body }
  }
  return { next, entered: () => entered }
}

export type ChaosWorkflow = { id: string; steps: Record<StepName, string> }
type StepName = 'trigger' | 'mail' | 'delay' | 'wait' | 'second' | 'thank' | 'answered' | 'once' | 'ask' | 'remind' | 'silent'

/**
 *                                       once
 *                                        ↑ timeout
 * trigger → mail → delay → wait → second wait → thank → answered
 *             ↑             ↓ timeout
 *             └─ remind ←─ ask → silent
 */
async function createWorkflow(client: CampaignClient, { delaySeconds, waitSeconds }: { delaySeconds: number; waitSeconds: number }) {
  const { id: templateId } = await client.expectOk('POST', '/templates', {
    name: 'Chaos',
    type: 'MARKETING',
    subject: 'Are you there?',
    body: '<p>Hello {{ email }}.</p>',
    from: `news@${DOMAIN}`,
  })
  const created = await client.expectOk('POST', '/workflows', { name: 'Chaos', eventName: START })
  const steps = { trigger: created.steps[0].id } as ChaosWorkflow['steps']
  const step = (name: StepName, type: string, config: object) => {
    steps[name] = newId()
    return { id: steps[name], name, type, config }
  }
  const reminded = { field: 'data.reminded', operator: 'equals', value: true }
  const added = [
    step('mail', 'SEND_EMAIL', { templateId }),
    step('delay', 'DELAY', { amount: delaySeconds / 60, unit: 'minutes' }),
    step('wait', 'WAIT_FOR_EVENT', { eventName: ANSWER, timeout: waitSeconds }),
    step('second', 'WAIT_FOR_EVENT', { eventName: ANSWER, timeout: waitSeconds }),
    step('thank', 'UPDATE_CONTACT', { updates: { answered: true } }),
    step('answered', 'EXIT', { reason: 'answered' }),
    step('once', 'EXIT', { reason: 'once' }),
    step('ask', 'CONDITION', { logic: 'AND', groups: [{ filters: [reminded] }] }),
    step('remind', 'UPDATE_CONTACT', { updates: { reminded: true } }),
    step('silent', 'EXIT', { reason: 'silent' }),
  ]
  const transitions = (
    [
      ['trigger', 'mail'],
      ['mail', 'delay'],
      ['delay', 'wait'],
      ['wait', 'second'],
      ['second', 'thank'],
      ['second', 'once', 'timeout'],
      ['thank', 'answered'],
      ['wait', 'ask', 'timeout'],
      ['ask', 'silent', 'yes'],
      ['ask', 'remind', 'no'],
      ['remind', 'mail'],
    ] as [StepName, StepName, string?][]
  ).map(([from, to, branch]) => ({ fromStepId: steps[from], toStepId: steps[to], ...(branch ? { branch } : {}) }))
  await client.expectOk('PUT', `/workflows/${created.id}/graph`, { steps: added, transitions, version: created.version })
  await client.expectOk('PATCH', `/workflows/${created.id}`, { enabled: true })
  return { id: created.id, steps }
}

/** Everything accepted has been reacted to, and no execution is left. */
async function untilEnded(db: Pool, projectId: string) {
  const count = sql<{ open: number }>`
    select ((select count(*) from workflow_executions where project_id = ${projectId} and status in ('RUNNING', 'WAITING'))
      + (select count(*) from reactions where project_id = ${projectId}))::int as open`
  try {
    await until('every execution has ended', END_MS, async () => {
      await sleep(100)
      return (await one(db, count)).open === 0
    })
  } catch (err) {
    const left = await many(
      db,
      sql`select * from workflow_executions where project_id = ${projectId} and status in ('RUNNING', 'WAITING') limit 3`,
    )
    const reactions = await many(db, sql`select * from reactions where project_id = ${projectId} limit 3`)
    throw new Error(`${(err as Error).message}; ${JSON.stringify({ left, reactions })}`)
  }
}

/** Makes deferred emails due at once. */
const untilSent = (db: Pool, projectId: string) =>
  until('every email has ended', END_MS, async () => {
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

type Outcomes = {
  executions: number
  steps: number
  reminded: number
  answeredOnce: number
  answeredTwice: number
  racedWonByEvent: number
  racedWonByTimeout: number
  latestSeconds: number
}

/** Milliseconds between an answer and the end of its wait, in which it counts as a race. */
const RACE_MS = 20

const readOutcomes = (db: Pool, projectId: string, steps: ChaosWorkflow['steps']) =>
  one(
    db,
    sql<Outcomes>`
      with raced as (
        select w.output -> 'event' ->> 'id' = v.id::text as by_event from workflow_step_executions w
        join workflow_executions e on e.project_id = w.project_id and e.id = w.execution_id
        join events v on v.project_id = e.project_id and v.contact_id = e.contact_id and v.name = ${ANSWER}
        where w.project_id = ${projectId} and w.step_id = ${steps.wait}
          and abs(extract(epoch from v.created_at - w.scheduled_for)) * 1000 <= ${RACE_MS}
      )
      select (select count(*)::int from workflow_executions where project_id = ${projectId}) as executions,
        (select count(*)::int from workflow_step_executions where project_id = ${projectId}) as steps,
        (select count(*)::int from workflow_step_executions where project_id = ${projectId} and step_id = ${steps.remind}) as reminded,
        (select count(*)::int from workflow_executions where project_id = ${projectId} and exit_reason = 'once') as "answeredOnce",
        (select count(*)::int from workflow_executions where project_id = ${projectId} and exit_reason = 'answered') as "answeredTwice",
        (select count(*)::int from raced where by_event) as "racedWonByEvent",
        (select count(*)::int from raced where by_event is not true) as "racedWonByTimeout",
        (select coalesce(max(extract(epoch from completed_at - scheduled_for)), 0)::float8 from workflow_step_executions
          where project_id = ${projectId} and scheduled_for is not null) as "latestSeconds"
    `,
  )
