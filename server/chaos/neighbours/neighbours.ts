import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { signalProcess } from '../../src/db/embedded/processes.ts'
import { connect, one } from '../../src/db/index.ts'
import { every } from '../../src/lib/concurrency/every.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { destroyTestFolder, newTestFolder } from '../../test/support/postgres.ts'
import { freePort } from '../../test/support/process.ts'
import { builtProcess } from '../nodes/build-processes.ts'
import { type KeptNode, startCluster } from '../nodes/nodes.ts'
import { type Relay, startRelay } from '../nodes/relay-server.ts'
import { newProject, verifyDomain } from '../support/project.ts'
import { createRandom } from '../support/random.ts'
import { until } from '../support/until.ts'
import { ATTACK_NAMES, type Attacker, type AttackName, type Order, type Outcome } from './attacks.ts'
import { cells, columns, judgeStructure, judgeTimes, type Measured, median, type Phase } from './neighbours-check.ts'
import { type Answered, type Neighbours, startNeighbours } from './neighbours-load.ts'
import type { Besieger, SiegeOrder, SiegeOutcome } from './sieges.ts'

type Plan = {
  seed: number
  /** Sent in each shape. */
  requests: number
  /** With 200 KB of data each, for the attacks that read them. */
  bigContacts: number
  idleMs: number
  /** How long neighbours are watched after the last request of an attack. */
  lastsMs: number
  attacks?: AttackName[]
  /** Instead of the embedded database. */
  databaseUrl?: string
  /** Requests of neighbours in progress at a time; more than that are not made. Without it their pace does not depend on the answers. */
  mostPending?: number
  say?: (line: string) => void
}

const NEIGHBOURS = ['alpha', 'beta', 'gamma']
const PER_SECOND = 30
const BIG_DATA = 200_000
const BIG_BATCH = 10
/** An email that takes longer was held back by a pause of the whole installation. */
const ARRIVES_MS = 20_000
const MEASURED_MS = 120_000
const CLEAR_MS = 120_000
const SAMPLE_MS = 50

/** One project attacks in one way after the other, while others send, track and read on the same node. */
export async function neighboursUnderAttack({ attacks = ATTACK_NAMES, say = () => {}, ...plan }: Plan) {
  const relay = await startRelay()
  refuseSome(relay)
  const folder = newTestFolder()
  const meterFile = join(folder, 'meter')
  const smtpPort = await freePort()
  const inboundPort = await freePort()
  const submission = { SMTP_SUBMISSION_PORT: String(smtpPort), SMTP_SUBMISSION_HOST: '127.0.0.1' }
  const inbound = { INBOUND_SMTP_PORT: String(inboundPort), INBOUND_SMTP_HOST: '127.0.0.1' }
  const env = { ...submission, ...inbound, SMTP_URL: relay.url, PUBLIC_URL: 'http://mail.chaos.example', METER_FILE: meterFile }
  const cluster = await startCluster({ env, entry: 'measured', single: true, commitsAreFast: true, databaseUrl: plan.databaseUrl })
  const db = connect({ url: cluster.databaseUrl, max: 2, log: createLog('silent') })
  const { url } = cluster.main
  const setUp = async (name: string) => {
    const project = { ...(await newProject(url, name)), url, domain: `${name}.chaos.example` }
    await verifyDomain(db, url, project)
    return project
  }
  try {
    const attacker = await setUp('attacker')
    await addBigContacts(db, attacker.id, plan.bigContacts)
    const projects = []
    for (const name of NEIGHBOURS) projects.push(await setUp(name))
    const attacking = await startAttacker({ ...attacker, smtpPort, inboundPort })
    const neighbours = startNeighbours({
      projects,
      perSecond: PER_SECOND,
      random: createRandom(plan.seed),
      mostPending: plan.mostPending,
    })
    const scene: Scene = { db, relay, neighbours, attackerId: attacker.id, meter: meterOf(cluster.main, meterFile) }
    // Caches fill and code gets compiled before the idle phase is measured.
    await measure(scene, () => sleep(plan.idleMs / 2, undefined))
    const idle = await measure(scene, () => sleep(plan.idleMs, undefined))
    say(['', ...columns].join(' | '))
    say(['idle', ...cells(idle, idle)].join(' | '))
    const phases: Record<string, Phase> = {}
    const unended: string[] = []
    for (const attack of attacks) {
      const phase = await measure(scene, async () => {
        const outcome = await attacking.give({ attack, requests: plan.requests })
        await sleep(plan.lastsMs) // emails are sent after their request
        return outcome
      })
      phases[attack] = phase
      say([attack, ...cells(phase, idle)].join(' | '))
      await clearUp(scene).catch((err: Error) => unended.push(`${attack}: ${err.message}`))
    }
    await neighbours.stop()
    attacking.stop()
    const told = Object.entries(phases)
    return {
      idle,
      phases,
      problems: [...told.flatMap(([attack, phase]) => judgeStructure(attack, phase)), ...unended, ...cluster.problems],
      slow: told.flatMap(([attack, phase]) => judgeTimes(attack, phase, idle)),
      survivors: cluster.survivors,
    }
  } finally {
    await db.destroy()
    relay.stop()
    await cluster.destroy()
    destroyTestFolder(folder)
  }
}

type Db = ReturnType<typeof connect>
type Scene = { db: Db; relay: Relay; neighbours: Neighbours; attackerId: string; meter: () => Promise<Measured> }

function refuseSome(relay: Relay) {
  const to = (name: string) => (envelope: { recipient: string }) => envelope.recipient.startsWith(`${name}+`)
  relay.addRule({ stage: 'rcpt', reply: ({ recipient }) => `554 5.7.1 <${recipient}>: Relay access denied`, appliesTo: to('denied') })
  relay.addRule({ stage: 'rcpt', reply: '450 4.7.1 Too many messages to this mailbox', appliesTo: to('throttled') })
}

/** So large that reading one of their fields takes the database some time. In batches, because a statement has a time limit. */
async function addBigContacts(db: Db, projectId: string, count: number) {
  for (let first = 1; first <= count; first += BIG_BATCH)
    await sql`
      with filler as materialized (select string_agg(md5(n::text), '') as text from generate_series(1, ${BIG_DATA / 32}) n)
      insert into contacts (project_id, id, email, subscribed, data)
      select ${projectId}, gen_random_uuid(), 'big' || n || '@attack.example', true,
        jsonb_build_object('plan', 'plan ' || n % 10, 'text', filler.text)
      from filler, generate_series(${first}::int, ${Math.min(count, first + BIG_BATCH - 1)}::int) n
    `.execute(db)
  await sql`insert into contact_fields (project_id, key, type) values (${projectId}, 'plan', 'string') on conflict do nothing`.execute(db)
}

export async function startAttacker(attacker: Besieger | (Attacker & Besieger)) {
  const child = fork(await builtProcess('attacker'), [JSON.stringify(attacker)], { execArgv: [] })
  await once(child, 'message')
  async function give(order: Order): Promise<Outcome>
  async function give(order: SiegeOrder): Promise<SiegeOutcome>
  async function give(order: Order | SiegeOrder) {
    child.send(order)
    const [outcome] = await once(child, 'message')
    return outcome
  }
  return { give, stop: () => void child.kill('SIGKILL') }
}

/** Reads the node's measurements since the last call. It reports once its event loop is free. */
export function meterOf(node: KeptNode, file: string) {
  let read = 0
  return async (): Promise<Measured> => {
    signalProcess(node.pid(), 'SIGUSR2')
    const line = await until('the node reports its measurements', MEASURED_MS, () => linesOf(file)[read])
    read = linesOf(file).length
    return JSON.parse(line)
  }
}

const linesOf = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [])

/** Answers to neighbours, their emails and the node's own measurements while `work` goes on. */
async function measure({ db, relay, neighbours, attackerId, meter }: Scene, work: () => Promise<Outcome | undefined>): Promise<Phase> {
  await neighbours.take()
  await meter()
  const slots = countSlots(db, attackerId)
  const outcome = await work()
  const { answers, emails } = await neighbours.take()
  const arrivedAt = () => new Map(relay.taken.map(({ id, at }) => [id, at]))
  const isMissing = () => emails.filter(({ id }) => !arrivedAt().has(id)).length
  await until('the emails of neighbours arrive', ARRIVES_MS, () => isMissing() === 0).catch(() => {})
  const arrived = arrivedAt()
  const times = answers.map(({ ms }) => ms)
  const emailTimes = emails.map(({ id, at }) => Math.max(0, (arrived.get(id) ?? Date.now()) - at))
  return {
    ...(await meter()),
    answers: answers.length,
    medianMs: median(times),
    worstMs: Math.max(...times),
    refused: countRefused(answers),
    emails: emails.length,
    medianEmailMs: median(emailTimes),
    worstEmailMs: Math.max(...emailTimes),
    missing: isMissing(),
    slots: await slots.stop(),
    ...(outcome ? { attacker: outcome } : {}),
  }
}

function countRefused(answers: Answered[]) {
  const refused: Record<string, number> = {}
  for (const { what, status, refusal } of answers) {
    if (status >= 200 && status < 300) continue
    const how = `${what} ${status || 'no answer'} ${refusal}`
    refused[how] = (refused[how] ?? 0) + 1
  }
  return refused
}

/** Most emails of a project that workers hold at a time. */
function countSlots(db: Db, projectId: string) {
  let most = 0
  const looking = every(
    SAMPLE_MS,
    'count emails in the hands of workers',
    async () => {
      const held = sql<{ held: number }>`select count(*)::int as held from emails where project_id = ${projectId} and state = 'sending'`
      most = Math.max(most, (await one(db, held)).held)
    },
    createLog('silent'),
  )
  return {
    async stop() {
      await looking.stop()
      return most
    },
  }
}

/** Removes the rest of an attack, so that it does not disturb the next one. */
async function clearUp({ db, attackerId }: Scene) {
  await sql`delete from jobs where project_id = ${attackerId}`.execute(db)
  await until('the attack is over', CLEAR_MS, async () => {
    await sql`update emails set state = 'cancelled' where project_id = ${attackerId} and state in ('queued', 'deferred')`.execute(db)
    const { held } = await one(
      db,
      sql<{ held: number }>`select count(*)::int as held from emails where project_id = ${attackerId} and state = 'sending'`,
    )
    if (held) await sleep(SAMPLE_MS)
    return held === 0
  })
}
