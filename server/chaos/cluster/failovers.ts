import { setTimeout as sleep } from 'node:timers/promises'
import { signalProcess } from '../../src/db/embedded/processes.ts'
import { type ReplicatedPostgres, startReplicatedPostgres } from '../../test/support/servers/replicated-postgres.ts'
import { until } from '../support/until.ts'
import { type Stage, startStage, type Verdict } from './stage.ts'

export type Load = { perSecond: number; seed: number; say: (line: string) => void }
export type Ran = { figures: string; problems: string[] }

export type Failover = {
  synchronous: boolean
  /** A planned one ends the primary in order. */
  isPlanned?: boolean
  /** The standby gets nothing more for this long before the primary ends. */
  behindMs?: number
  /** What else happens while there is no primary. */
  meanwhile?: (stage: Stage) => Promise<unknown>
  /** Emails that were accepted may be lost, and all nodes must hold what is older than the failover. */
  mayLose?: boolean
}

/** Answers before and after the failover. */
const FLOW = 150
/** Time without a primary, until a cluster manager would have chosen another. */
const DOWN_MS = 3_000
const FROZEN_MS = 6_000
/** A partial hold lasts 15 s at least, so that every worker can come back. */
const RELEASED_MS = 120_000
/** Limits: from the promotion to the first answer, and a planned switchover in all. */
const ANSWERS_MS = 3_000
const SWITCHOVER_MS = 5_000

export const FAILOVERS: Record<string, Failover> = {
  '1. kill -9 of the primary, synchronous standby': { synchronous: true },
  '2. kill -9 of the primary and of a worker, synchronous standby': {
    synchronous: true,
    meanwhile: async ({ workers }) => workers[0]!.signal('SIGKILL'),
  },
  '3. kill -9 of the primary, asynchronous standby one second behind': { synchronous: false, behindMs: 1_000, mayLose: true },
  '3b. standby that hung under load with the names emptied, promoted': { synchronous: true, behindMs: 10_000, mayLose: true },
  '4. planned switchover, synchronous standby': { synchronous: true, isPlanned: true },
  '4b. planned switchover, asynchronous standby': { synchronous: false, isPlanned: true },
  '7. kill -9 of the primary while nodes restart, freeze and join': { synchronous: true, meanwhile: disturbNodes },
}

/** A worker stands still longer than its lease, another restarts, and a further one joins. */
async function disturbNodes({ workers, addNode }: Stage) {
  const pid = workers[0]!.pid()
  signalProcess(pid, 'SIGSTOP')
  void sleep(FROZEN_MS).then(() => signalProcess(pid, 'SIGCONT'))
  workers[1]!.signal('SIGTERM')
  // It waits for the database.
  void addNode('worker9', 'worker').catch(() => {})
}

export async function runFailover(name: string, load: Load): Promise<Ran> {
  const plan = FAILOVERS[name]!
  const postgres = await startReplicatedPostgres({ synchronous: plan.synchronous })
  const { url, remove } = postgres
  return runChange({ name, plan, url, change: (stage) => failOver(postgres, stage, plan) }, load).finally(remove)
}

/** `change` returns the time at which there was a new primary. */
type Change = { name: string; plan: Failover; url: string; change: (stage: Stage) => Promise<number> }

/** Loads an installation while its primary changes, and compares what was answered, what is stored and what left. */
export async function runChange({ name, plan, url, change }: Change, load: Load): Promise<Ran> {
  // Without evidence only what the workers remember keeps an email from leaving twice.
  const stage = await startStage({ databaseUrl: url, ...load, evidence: !plan.mayLose })
  try {
    await stage.flows(FLOW)
    const began = performance.now()
    const promotedAt = await change(stage)
    await stage.flows(1)
    const answersMs = Math.round(performance.now() - promotedAt)
    const outageMs = Math.round(performance.now() - began - (plan.behindMs ?? 0))
    load.say(`${name}: answers again ${answersMs} ms after the promotion`)
    await stage.flows(FLOW)
    const wasHeld = await released(stage)
    const [restartedMs, verdict] = [await probeAfterRestart(stage), await stage.verdict()]
    return describe(plan, { verdict, answersMs, outageMs, wasHeld, restartedMs, problems: stage.problems })
  } finally {
    await stage.remove()
  }
}

/** Returns the time of the promotion. */
async function failOver(postgres: ReplicatedPostgres, stage: Stage, { isPlanned, behindMs, synchronous, meanwhile }: Failover) {
  if (behindMs) {
    await postgres.pauseReplication()
    if (synchronous) await postgres.setSynchronous(false)
    await sleep(behindMs)
  }
  if (isPlanned) await postgres.stopPrimary()
  else {
    await postgres.killPrimary()
    await meanwhile?.(stage)
    await sleep(DOWN_MS)
  }
  await postgres.promote()
  return performance.now()
}

/** Waits until no node holds sending, and returns the kinds of holds there were. */
async function released({ holds, isHeld }: Stage) {
  await until('sending goes on', RELEASED_MS, async () => !(await isHeld()))
  return [...holds]
}

/** Restarts every node, as happens weeks after a failover, and sends one more email. */
async function probeAfterRestart(stage: Stage) {
  await stage.restartAll()
  const ms = await stage.timeOne(1)
  if (await stage.isHeld()) stage.problems.push('sending was held after the nodes restarted')
  return ms
}

type Found = { verdict: Verdict; answersMs: number; outageMs: number; wasHeld: string[]; restartedMs: number; problems: string[] }

function describe({ mayLose, isPlanned }: Failover, { verdict, answersMs, outageMs, wasHeld, restartedMs, problems }: Found): Ran {
  const { accepted, gone, stuck, twice, unknown } = verdict
  const some = (what: string, ids: string[]) => (ids.length ? [`${ids.length} ${what}, such as ${ids.slice(0, 3).join(', ')}`] : [])
  const broken = [
    ...problems,
    ...some('emails left twice', twice),
    ...some('emails neither left nor ended', stuck),
    ...(mayLose ? [] : some('accepted emails were lost', gone)),
    ...(answersMs > ANSWERS_MS ? [`the first answer came ${answersMs} ms after the promotion`] : []),
    ...(isPlanned && outageMs > SWITCHOVER_MS ? [`the switchover took ${outageMs} ms`] : []),
    ...(mayLose && gone.length && !wasHeld.length ? ['commits were lost, and no node held sending'] : []),
    ...(!mayLose && wasHeld.length ? [`sending was held (${wasHeld.join(', ')})`] : []),
  ]
  const held = wasHeld.length ? `held: ${wasHeld.join(', ')}, until it ended by itself` : 'not held'
  const figures = `${accepted} accepted, ${gone.length} lost, ${twice.length} twice, ${unknown} unknown; answers ${answersMs} ms after the promotion (${outageMs} ms in all); ${held}; after a restart of all nodes one email in ${restartedMs} ms`
  return { figures, problems: broken }
}
