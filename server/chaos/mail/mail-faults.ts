import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { signalProcess } from '../../src/db/embedded/processes.ts'
import { type Faults, killBackend, killPostmaster } from '../nodes/inject-faults.ts'
import type { Cluster, KeptNode } from '../nodes/nodes.ts'
import type { Random } from '../support/random.ts'
import { until } from '../support/until.ts'

/** Crash points between any two durable steps of sending. */
const SENDER_PLACES = ['claimed', 'rendered', 'body-sent', 'marked', 'handed-over', 'accepted', 'answered', 'settled']
const API_PLACES = ['keys-taken', 'written', 'committed']
/** Longer than other workers take to recover its emails and resolve their outcomes. */
const FREEZE_MS = { least: 9_000, most: 12_000 }
const STOPS_WITHIN_MS = 150_000
const STOPPED_MS = 1_000

/** Crash points of workers, and the last pass at which a worker may end there. */
type Places = { places?: string[]; lastPass?: number }

/** Faults of workers and API nodes, of their database, and of the SMTP server. */
export function mailFaults(
  { main, api, workers, home, databaseUrl }: Cluster,
  random: Random,
  resetSink: () => void,
  { places = SENDER_PLACES, lastPass = 60 }: Places = {},
) {
  const frozen = new Set<KeptNode>()
  const thaws: Promise<unknown>[] = []
  const idle = () => workers.filter((worker) => worker.isServing() && !frozen.has(worker))
  const someWorker = async () => {
    await until('a worker serves', STOPS_WITHIN_MS, () => idle().length)
    return random.pick(idle())
  }
  const passes = () => 1 + random.below(lastPass)

  async function thaw(worker: KeptNode, pid: number) {
    await sleep(random.between(FREEZE_MS.least, FREEZE_MS.most))
    // The process may be gone by then, with the rest of the cluster.
    signalProcess(pid, 'SIGCONT')
    frozen.delete(worker)
  }
  /** A worker that ends at that moment does not count: it is not frozen. */
  const freeze = () =>
    until('a worker is frozen', STOPS_WITHIN_MS, async () => {
      const worker = await someWorker()
      const pid = worker.pid()
      if (!signalProcess(pid, 'SIGSTOP')) return false
      if (!(await until('it has stopped', STOPPED_MS, () => isStopped(pid)).catch(() => false))) return false
      frozen.add(worker)
      thaws.push(thaw(worker, pid))
      return true
    })
  /** The worker stops itself at the crash point. */
  async function freezeAt(place: string) {
    const worker = await someWorker()
    frozen.add(worker)
    worker.endNextAt(`${place}:${passes()}:SIGSTOP`)
    worker.signal('SIGKILL')
    await until(`a worker has stopped itself at ${place}`, STOPS_WITHIN_MS, () => isStopped(worker.pid())).catch((err: Error) => {
      throw new Error(`${err.message}; ${worker.explain()}`)
    })
    thaws.push(thaw(worker, worker.pid()))
  }
  async function killAt(worker: KeptNode, place: string) {
    worker.endNextAt(`${place}:${passes()}`)
    worker.signal('SIGKILL')
  }

  const possible = () => idle().length > 0
  const onWorkers = { possible, unnoticed: true }
  const faults: Faults = {
    'kill -9 of a worker': { weight: 3, ...onWorkers, inject: async () => (await someWorker()).signal('SIGKILL') },
    'kill -9 of a worker, and again at a crash point': {
      weight: 5,
      ...onWorkers,
      inject: async () => killAt(await someWorker(), random.pick(places)),
    },
    'freeze of a worker': { weight: 1, ...onWorkers, isLong: true, inject: freeze },
    'freeze of a worker at its mark': { weight: 2, ...onWorkers, isLong: true, inject: () => freezeAt('marked') },
    'freeze of a worker before its mark': { weight: 1, ...onWorkers, isLong: true, inject: () => freezeAt('body-sent') },
    'SIGTERM of a worker': { weight: 2, ...onWorkers, inject: async () => (await someWorker()).signal('SIGTERM') },
    'kill -9 of an API node, and again at a crash point': {
      weight: 1,
      possible: () => api.isServing() && main.isServing(),
      inject: async () => {
        await Promise.all([main.serving(), api.serving()])
        await killAt(api, random.pick(API_PLACES))
      },
    },
    'kill -9 of a busy PostgreSQL backend': { weight: 2, unnoticed: true, inject: () => killBackend(databaseUrl) },
    'kill -9 of the postmaster': { weight: 2, inject: () => killPostmaster(home) },
    'fast shutdown of PostgreSQL': { weight: 1, inject: () => killPostmaster(home, 'SIGINT') },
    'immediate shutdown of PostgreSQL': { weight: 1, inject: () => killPostmaster(home, 'SIGQUIT') },
    'reset of all connections by the SMTP server': { weight: 1, unnoticed: true, inject: async () => resetSink() },
  }
  /** `awake` resolves when no worker is frozen any more. */
  return { faults, awake: () => Promise.all(thaws) }
}

const isStopped = (pid: number) => {
  try {
    return /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
