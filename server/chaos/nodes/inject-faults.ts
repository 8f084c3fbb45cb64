import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { birthOf, findServer, signalProcess } from '../../src/db/embedded/processes.ts'
import type { Counts } from '../support/load.ts'
import type { Random } from '../support/random.ts'
import { until } from '../support/until.ts'
import type { Cluster, KeptNode } from './nodes.ts'

/** `inject` waits until the fault is possible, causes it, and returns once it has certainly happened. */
type Fault = {
  weight: number
  possible?: () => boolean
  inject: () => Promise<unknown>
  /** API clients need not notice it. */
  unnoticed?: boolean
  /** Its effect goes on while the next faults are injected. */
  isLong?: boolean
}
export type Faults = Record<string, Fault>

const FAULT_MS = 150_000
const RECOVERY_MS = 150_000
/** Calls that must succeed between two faults, unless a suite says otherwise: a load that has stopped proves nothing. */
const FLOW = 100

type Unleash = {
  faults: Faults
  count: number
  random: Random
  counts: Counts
  /** Longest pause between two faults, once calls succeed again. */
  calmMs: number
  until: number
  flow?: number
  say: (line: string) => void
  injected: Record<string, number>
}

/** Injects `count` faults at random moments and counts them by kind. Throws if one cannot be injected. */
export async function injectFaults({ faults, count, random, counts, calmMs, until: deadline, flow = FLOW, say, injected }: Unleash) {
  const flows = async () => {
    const enough = counts.acknowledged + flow
    await until(`${flow} calls succeed`, RECOVERY_MS, () => counts.acknowledged >= enough)
  }
  await flows()
  for (const planned = planFaults(faults, count, random); planned.length; ) {
    await sleep(random.between(0, calmMs))
    if (Date.now() > deadline) throw new Error(`${planned.length} of ${count} faults were not injected in the time there was`)
    const kind = takeNext(planned, faults)
    const startedAt = performance.now()
    const failuresBefore = counts.failures
    await faults[kind]!.inject()
    injected[kind] = (injected[kind] ?? 0) + 1
    await flows()
    if (counts.failures === failuresBefore && !faults[kind]!.unnoticed) throw new Error(`no client noticed the ${kind}`)
    say(`${count - planned.length}/${count} ${kind}: calls succeed again after ${Math.round(performance.now() - startedAt)} ms`)
  }
}

/**
 * Every kind in proportion to its weight, in random order. A short run has each kind once and, by weight, as many more as it has room for.
 * It begins with the long ones: otherwise it would often end by waiting for one of them.
 */
function planFaults(faults: Faults, count: number, random: Random) {
  const kinds = Object.keys(faults)
  const repeated = Object.entries(faults).flatMap(([kind, { weight }]) => Array<string>(weight - 1).fill(kind))
  const round = kinds.length + repeated.length
  if (count <= round) {
    const some = [...random.shuffle(kinds), ...random.shuffle(repeated)].slice(0, count)
    return random.shuffle(some).toSorted((a, b) => Number(faults[b]!.isLong ?? false) - Number(faults[a]!.isLong ?? false))
  }
  const rounds = Array.from({ length: Math.ceil(count / round) }, () => random.shuffle([...kinds, ...repeated]))
  return rounds.flat().slice(0, count)
}

/** The first fault that need not wait for the effects of an earlier one. */
function takeNext(planned: string[], faults: Faults) {
  const possible = planned.findIndex((kind) => faults[kind]!.possible?.() ?? true)
  return planned.splice(Math.max(possible, 0), 1)[0]!
}

/** Faults of nodes and their PostgreSQL. */
export function faultsOf({ main, api, home, databaseUrl }: Cluster, random: Random): Faults {
  const possible = () => main.isServing() && api.isServing()
  const end = async (signal: NodeJS.Signals, ...nodes: KeptNode[]) => {
    await Promise.all([main.serving(), api.serving()])
    for (const node of nodes) node.signal(signal)
  }
  const endAll = async () => {
    await end('SIGKILL', main, api)
    await killPostmaster(home)
  }
  return {
    'kill -9 of a busy PostgreSQL backend': { weight: 4, inject: () => killBackend(databaseUrl) },
    'kill -9 of the postmaster': { weight: 2, inject: () => killPostmaster(home) },
    'kill -9 of the node with the database': { weight: 1, possible, inject: () => end('SIGKILL', main) },
    'kill -9 of the other node': { weight: 1, possible, inject: () => end('SIGKILL', api) },
    'kill -9 of both nodes and the postmaster': { weight: 1, possible, inject: endAll },
    'SIGTERM of a node': { weight: 1, possible, inject: () => end('SIGTERM', random.pick([main, api])) },
  }
}

/** SIGINT is a fast shutdown, SIGQUIT an immediate one. Sterna starts it again. */
export async function killPostmaster(home: string, signal: 'SIGKILL' | 'SIGINT' | 'SIGQUIT' = 'SIGKILL') {
  const pid = await until('a postmaster runs', FAULT_MS, () => findServer(home))
  const birth = birthOf(pid)
  signalProcess(pid, signal)
  await until('the postmaster is dead', FAULT_MS, () => birthOf(pid) !== birth)
}

/** A killed backend makes the postmaster end all others and recover. A connection of our own shows when that has happened. */
export const killBackend = (databaseUrl: string) =>
  until('a busy backend is killed', FAULT_MS, async () => {
    const observer = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 1_000, query_timeout: 1_000 })
    let thrownOut = false
    observer.on('error', () => (thrownOut = true))
    try {
      await observer.connect()
      const pid = await findBusyBackend(observer)
      if (!pid || !signalProcess(pid, 'SIGKILL')) return false
      return await until('its death is noticed', FAULT_MS, () => thrownOut)
    } catch {
      return false // the last fault is not over yet
    } finally {
      await observer.end().catch(() => {})
    }
  })

async function findBusyBackend(observer: pg.Client): Promise<number | undefined> {
  const { rows } = await observer.query(`
    select pid from pg_stat_activity
    where application_name = 'sterna' and state in ('active', 'idle in transaction')
    order by random() limit 1`)
  return rows[0]?.pid
}
