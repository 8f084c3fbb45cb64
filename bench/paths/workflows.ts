import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { load } from '../load.ts'
import type { Node } from '../node.ts'
import { cpuMicroseconds, watchMemory } from '../process.ts'
import { connectToBench, scaled, seedContacts } from '../seed.ts'
import type { Tenant } from './campaigns.ts'
import { type Product, send, type Timing } from './contacts.ts'
import type { Sink } from './drain.ts'
import { describeWaits, timeWaits } from './latency.ts'
import { trackTarget } from './track.ts'

/** Contacts that enter at once at full scale. With fewer than the second number the worker is done before all is measured beside it. */
const ENTERING = { full: 100_000, least: 20_000 }
const EVENTED = 50_000
const SLEEPING = 1_000_000
const WAKING = 10_000
const TRACKED_PER_SECOND = 200
const POLL_MS = 50
const WITHIN_MS = 3_600_000
/** The first execution is due after this time, so that all are ready by then. */
const WAKE_AFTER_SECONDS = 3

type Step = { type: string; config: object }
const SLEEP: Step = { type: 'DELAY', config: { amount: 1, unit: 'days' } }
const UPDATE: Step = { type: 'UPDATE_CONTACT', config: { updates: { entered: true } } }
const CONDITION: Step = {
  type: 'CONDITION',
  config: { logic: 'AND', groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'none' }] }] },
}

const count = (n: number) => n.toLocaleString('en')
const ms = (value: number) => `${Math.round(value)} ms`

/** An enabled workflow whose steps follow each other; a CONDITION goes on by "no". */
async function createLine(tenant: Product, steps: Step[], trigger: object): Promise<string> {
  const post = async (method: string, path: string, body: object) =>
    (await (await send(tenant, method, path, body)).json()) as { id: string; version: number; steps: { id: string }[] }
  const { id, version, steps: first } = await post('POST', '/workflows', { name: 'Bench', eventName: 'bench' })
  const added = steps.map((step) => ({ ...step, id: crypto.randomUUID() }))
  const line = [{ type: 'TRIGGER', id: first[0]!.id }, ...added]
  const transitions = added.map((step, index) => ({
    fromStepId: line[index]!.id,
    toStepId: step.id,
    ...(line[index]!.type === 'CONDITION' ? { branch: 'no' } : {}),
  }))
  await post('PUT', `/workflows/${id}/graph`, { steps: added, transitions, version })
  await post('PATCH', `/workflows/${id}`, { ...trigger, enabled: true })
  return id
}

/** Fires when the benchmark says so. */
async function createScheduled(tenant: Product, steps: Step[]) {
  const condition = { logic: 'AND', groups: [{ filters: [{ field: 'email', operator: 'contains', value: '@' }] }] }
  const { id: segmentId } = (await (await send(tenant, 'POST', '/segments', { name: `All ${Date.now()}`, condition })).json()) as {
    id: string
  }
  const triggerConfig = { schedule: '0 0 1 1 *', timezone: 'UTC', segmentId }
  return createLine(tenant, steps, { triggerType: 'SCHEDULE', triggerConfig })
}

const fire = (client: pg.Client, id: string) => client.query('update workflows set next_firing_at = now() where id = $1', [id])

async function until<T>(what: string, ask: () => Promise<T | undefined | false>): Promise<T> {
  for (const end = Date.now() + WITHIN_MS; Date.now() < end; await sleep(POLL_MS)) {
    const answer = await ask()
    if (answer !== undefined && answer !== false) return answer
  }
  throw new Error(`${what}: not in time`)
}

/** Of all earlier runs in the same data folder, which would be advanced along with the measured ones. */
export async function forgetExecutions({ dataDir }: Product) {
  const client = await connectToBench(dataDir)
  await client.query('truncate workflow_executions, workflow_step_executions, workflow_tallies, workflow_firings, reactions')
  await client.query('update workflows set enabled = false, next_firing_at = null')
  await client.query(`delete from listeners where listener like 'workflow:%'`)
  await client.end()
}

export async function seedEntering(tenant: Tenant, scale: number) {
  const client = await connectToBench(tenant.dataDir)
  const total = Math.max(ENTERING.least, Math.round(ENTERING.full * scale))
  await seedContacts(client, tenant.projectId, total / 1_000_000).finally(() => client.end())
  return total
}

// Entering -------------------------------------------------------------------------------------------------------------

/** By a schedule: the members of a segment enter page by page, while the first of them pass steps. */
export async function timeEntering(tenant: Tenant, worker: Node, contacts: number): Promise<Timing[]> {
  const client = await connectToBench(tenant.dataDir)
  const id = await createScheduled(tenant, [UPDATE, CONDITION, SLEEP])
  const cpu = () => cpuMicroseconds(tenant.pid) + cpuMicroseconds(worker.pid)
  const before = cpu()
  await fire(client, id)
  const entered = await until('all have entered', async () => {
    const { rows } = await client.query(
      `select enrolled, extract(epoch from ended_at - created_at)::float8 as seconds from workflow_firings where workflow_id = $1 and status = 'DONE'`,
      [id],
    )
    return rows[0] as { enrolled: number; seconds: number } | undefined
  })
  const passed = await until('all sleep', async () => {
    const { rows } = await client.query(
      `select count(*)::int as n, extract(epoch from max(s.started_at) - f.created_at)::float8 as seconds
       from workflow_firings f join workflow_step_executions s on s.project_id = f.project_id and s.workflow_id = f.workflow_id
       where f.workflow_id = $1 and s.status = 'SCHEDULED' group by f.created_at`,
      [id],
    )
    return rows[0]?.n === entered.enrolled && (rows[0] as { seconds: number })
  })
  const cost = (cpu() - before) / entered.enrolled
  await client.end()
  if (entered.enrolled !== contacts) throw new Error(`${entered.enrolled} of ${contacts} contacts entered`)
  // The trigger, the update of the contact, the condition, and the begin of the delay.
  const steps = 4 * entered.enrolled
  return [
    {
      name: `${count(contacts)} contacts enter by a schedule, while their steps run`,
      result: `${Math.round(contacts / entered.seconds)} enrolments/s`,
    },
    {
      name: 'their first four steps, from the firing to the sleep of the last',
      result: `${Math.round(steps / passed.seconds)} steps/s, ${Math.round(cost)} µs CPU per contact, enrolment included`,
    },
  ]
}

type WithWorker = <T>(work: (worker: Node) => Promise<T>) => Promise<T>

/** By events that wait when the worker starts. */
export async function timeEvented(tenant: Tenant, scale: number, withWorker: WithWorker): Promise<Timing[]> {
  const client = await connectToBench(tenant.dataDir)
  const total = scaled(EVENTED, scale)
  const id = await createLine(tenant, [UPDATE, CONDITION, SLEEP], { triggerConfig: { eventName: 'entered' } })
  let last = 0
  const target = {
    url: `${tenant.url}/v1/track`,
    method: 'POST' as const,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${tenant.publicKey}` },
    body: () => JSON.stringify({ email: `entering${++last}@bench.example`, event: 'entered' }),
  }
  await load(target, { amount: total })
  const result = await withWorker(async () => {
    const progress = async () => {
      const { rows } = await client.query(
        `select count(*)::int as started, count(*) filter (where status = 'WAITING')::int as asleep from workflow_executions where workflow_id = $1`,
        [id],
      )
      return rows[0] as { started: number; asleep: number }
    }
    const first = await until('some have entered', async () => {
      const { started } = await progress()
      return started > 0 && { started, at: performance.now() }
    })
    const entered = await until('all have entered', async () => (await progress()).started === total && performance.now())
    const asleep = await until('all sleep', async () => (await progress()).asleep === total && performance.now())
    return { perSecond: (total - first.started) / ((entered - first.at) / 1_000), seconds: (asleep - first.at) / 1_000 }
  })
  await client.end()
  return [
    {
      name: `${count(total)} contacts enter by events that were tracked before`,
      result: `${Math.round(result.perSecond)} enrolments/s; ${Math.round((4 * total) / result.seconds)} steps/s until all sleep`,
    },
  ]
}

// Sleeping -------------------------------------------------------------------------------------------------------------

type Sleeping = { scale: number; contacts: number; idleSeconds: number; overSeconds: number }

/** Idle CPU with and without sleeping executions, and how late executions wake that are due within a minute. */
export async function timeSleeping(
  tenant: Tenant,
  worker: Node,
  { scale, contacts, idleSeconds, overSeconds }: Sleeping,
): Promise<Timing[]> {
  const client = await connectToBench(tenant.dataDir)
  const idle = async () => {
    const cpu = () => cpuMicroseconds(tenant.pid) + cpuMicroseconds(worker.pid)
    const before = cpu()
    await sleep(idleSeconds * 1_000)
    return `${(((cpu() - before) / (idleSeconds * 1_000_000)) * 100).toFixed(1)} % of a core`
  }
  await sleep(2_000)
  const withoutAny = await idle()
  const total = Math.max(contacts, scaled(SLEEPING, scale))
  await seedSleeping(client, tenant, { total, contacts })
  await sleep(2_000)
  const withAll = await idle()
  const waking = Math.min(contacts, scaled(WAKING, scale))
  const late = await wake(client, tenant, { waking, overSeconds })
  await client.end()
  const at = (share: number) => ms(late[Math.min(late.length - 1, Math.floor(late.length * share))]!)
  return [
    { name: 'API node, worker and database, idle', result: withoutAny },
    { name: `· with ${count(total)} executions that sleep in a DELAY`, result: withAll },
    {
      name: `· ${count(waking)} of them are due within ${overSeconds} s and leave the workflow: p50, p95, p99 and most after their time`,
      result: `${at(0.5)}, ${at(0.95)}, ${at(0.99)}, ${at(1)}`,
    },
  ]
}

/** A contact is in a workflow once, so there are several workflows. All of them sleep for a day to a month. */
async function seedSleeping(client: pg.Client, tenant: Tenant, { total, contacts }: { total: number; contacts: number }) {
  for (let seeded = 0; seeded < total; seeded += contacts) {
    const id = await createLine(tenant, [SLEEP, { type: 'EXIT', config: { reason: 'awake' } }], { triggerType: 'MANUAL' })
    await client.query(
      `insert into workflow_executions (project_id, id, workflow_id, version, contact_id, status, current_step_id, visits, due_at)
       select $1, gen_random_uuid(), $2, w.version, c.id, 'WAITING', (
         select (s ->> 'id')::uuid from workflow_graphs g cross join lateral jsonb_array_elements(g.graph -> 'steps') as s
         where g.project_id = $1 and g.workflow_id = $2 and g.version = w.version and s ->> 'type' = 'DELAY'
       ), 2, now() + interval '1 day' + random() * interval '30 days'
       from workflows w cross join (select id from contacts where project_id = $1 limit $3) as c where w.id = $2`,
      [tenant.projectId, id, Math.min(contacts, total - seeded)],
    )
  }
  await client.query('vacuum analyze workflow_executions')
}

/** Milliseconds between the time of each execution and the transaction that ends it, sorted. */
async function wake(client: pg.Client, { projectId }: Tenant, { waking, overSeconds }: { waking: number; overSeconds: number }) {
  await client.query(
    `with woken as (
       update workflow_executions set due_at = now() + make_interval(secs => $3) + random() * make_interval(secs => $4)
       where (project_id, id) in (select project_id, id from workflow_executions where project_id = $1 and status = 'WAITING' limit $2)
       returning *
     )
     insert into workflow_step_executions (project_id, execution_id, visit, id, workflow_id, step_id, status, scheduled_for)
     select project_id, id, visits, gen_random_uuid(), workflow_id, current_step_id, 'SCHEDULED', due_at from woken`,
    [projectId, waking, WAKE_AFTER_SECONDS, overSeconds],
  )
  return until('all have left', async () => {
    const { rows } = await client.query(
      `select extract(epoch from e.completed_at - s.scheduled_for)::float8 * 1000 as late
       from workflow_executions e join workflow_step_executions s on s.project_id = e.project_id and s.execution_id = e.id
       where e.project_id = $1 and s.visit = 2 and e.status = 'EXITED' order by 1`,
      [projectId],
    )
    return rows.length === waking && rows.map(({ late }) => late as number)
  })
}

// Beside others --------------------------------------------------------------------------------------------------------

type Beside = { large: Tenant; contacts: number; small: Tenant; worker: Node; sink: Sink; seconds: number; emails: number }

/** Tracking at a fixed rate and single emails of a small tenant: idle, and while the contacts of another tenant enter and get emails. */
export async function timeWorkflowBeside({ large, contacts, small, worker, sink, seconds, emails }: Beside): Promise<Timing[]> {
  const client = await connectToBench(large.dataDir)
  const track = async () =>
    (await load(trackTarget(small), { duration: seconds, overallRate: TRACKED_PER_SECOND })).latency as { p50: number; p99: number }
  const mail = (name: string) => timeWaits(small, sink, { name, count: emails, domain: small.domain })
  const content = { name: 'Bench', type: 'MARKETING', subject: 'Hello', body: '<p>Hello {{ email }}</p>', from: `news@${large.domain}` }
  const { id: templateId } = (await (await send(large, 'POST', '/templates', content)).json()) as { id: string }
  const id = await createScheduled(large, [{ type: 'SEND_EMAIL', config: { templateId } }, SLEEP])
  await track()
  await mail('warm')
  const idle = { track: await track(), mail: await mail('idle') }
  const memory = watchMemory(worker.pid)
  await fire(client, id)
  const beside = { mail: await mail('beside'), track: await track() }
  const open = async () =>
    (
      await client.query(
        `select (select count(*) from workflow_firings where workflow_id = $1 and status = 'RUNNING')::int as firing,
           (select count(*) from emails where project_id = $2 and state = 'queued')::int as queued`,
        [id, large.projectId],
      )
    ).rows[0] as { firing: number; queued: number }
  const { firing, queued } = await open()
  if (!firing && !queued) throw new Error('all had entered and got their email before the others were measured')
  await until('all emails are sent', async () => {
    const left = await open()
    return !left.firing && !left.queued
  })
  await client.end()
  const p99s = ({ p50, p99 }: { p50: number; p99: number }) => `${ms(p50)}, ${ms(p99)}`
  return [
    { name: `track, ${TRACKED_PER_SECOND} req/s, idle: p50, p99`, result: p99s(idle.track) },
    {
      name: `· while ${count(contacts)} contacts of another project enter a workflow and get emails: p50, p99`,
      result: `${p99s(beside.track)}; ${(beside.track.p99 / idle.track.p99).toFixed(1)} × idle`,
    },
    {
      name: `one transactional email from request to the receiver's reply, idle: p50, p99 of ${emails}`,
      result: describeWaits(idle.mail),
    },
    { name: '· while they enter and get emails', result: describeWaits(beside.mail) },
    { name: 'memory of the worker meanwhile', result: `${memory.stop()} MB` },
  ]
}
