import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { signalProcess } from '../src/db/embedded/processes.ts'
import { type Faults, killBackend, killPostmaster } from './inject-faults.ts'
import type { Cluster, Kept } from './nodes.ts'
import type { Random } from './random.ts'
import { until } from './until.ts'

/** Every step of sending between two things that last. */
const SENDER_PLACES = ['claimed', 'rendered', 'body-sent', 'marked', 'handed-over', 'accepted', 'answered', 'settled']
const API_PLACES = ['keys-taken', 'written', 'committed']
/** Longer than it takes until others have taken over, and decided what became of it. */
const FREEZE_MS = { least: 9_000, most: 12_000 }
const STOPS_WITHIN_MS = 30_000
const STOPPED_MS = 1_000

/** What a machine, an operator or the kernel does to those who send, to their database, and to whom they send to. */
export function mailFaults({ main, api, workers, home, databaseUrl }: Cluster, random: Random, resetSink: () => void) {
  const frozen = new Set<Kept>()
  const thaws: Promise<unknown>[] = []
  const idle = () => workers.filter((worker) => worker.isServing() && !frozen.has(worker))
  const somebody = async () => {
    await until('a worker serves', STOPS_WITHIN_MS, () => idle().length)
    return random.pick(idle())
  }
  const passes = () => 1 + random.below(60)

  async function thaw(worker: Kept, pid: number) {
    await sleep(random.between(FREEZE_MS.least, FREEZE_MS.most))
    process.kill(pid, 'SIGCONT')
    frozen.delete(worker)
  }
  /** One that ends by itself at that moment does not count: it is not frozen. */
  const freeze = () =>
    until('a worker is frozen', STOPS_WITHIN_MS, async () => {
      const worker = await somebody()
      const pid = worker.pid()
      if (!signalProcess(pid, 'SIGSTOP')) return false
      if (!(await until('it has stopped', STOPPED_MS, () => isStopped(pid)).catch(() => false))) return false
      frozen.add(worker)
      thaws.push(thaw(worker, pid))
      return true
    })
  /** It stops by itself, at the moment that matters. */
  async function freezeAt(place: string) {
    const worker = await somebody()
    frozen.add(worker)
    worker.endNextAt(`${place}:${passes()}:SIGSTOP`)
    worker.signal('SIGKILL')
    await until(`a worker has stopped itself at ${place}`, STOPS_WITHIN_MS, () => isStopped(worker.pid()))
    thaws.push(thaw(worker, worker.pid()))
  }
  async function killAt(worker: Kept, place: string) {
    worker.endNextAt(`${place}:${passes()}`)
    worker.signal('SIGKILL')
  }

  const possible = () => idle().length > 0
  const onWorkers = { possible, unnoticed: true }
  const faults: Faults = {
    'kill -9 of a worker': { weight: 3, ...onWorkers, inject: async () => (await somebody()).signal('SIGKILL') },
    'kill -9 of a worker, and again at a place': {
      weight: 5,
      ...onWorkers,
      inject: async () => killAt(await somebody(), random.pick(SENDER_PLACES)),
    },
    'freeze of a worker': { weight: 1, ...onWorkers, inject: freeze },
    'freeze of a worker at its mark': { weight: 2, ...onWorkers, inject: () => freezeAt('marked') },
    'freeze of a worker before its mark': { weight: 1, ...onWorkers, inject: () => freezeAt('body-sent') },
    'SIGTERM of a worker': { weight: 2, ...onWorkers, inject: async () => (await somebody()).signal('SIGTERM') },
    'kill -9 of an API node, and again at a place': {
      weight: 1,
      possible: () => api.isServing() && main.isServing(),
      inject: async () => {
        await Promise.all([main.serving(), api.serving()])
        await killAt(api, random.pick(API_PLACES))
      },
    },
    'kill -9 of a busy PostgreSQL backend': { weight: 2, unnoticed: true, inject: () => killBackend(databaseUrl) },
    'kill -9 of the postmaster': { weight: 2, inject: () => killPostmaster(home) },
    'reset of all connections by the receiver': { weight: 1, unnoticed: true, inject: async () => resetSink() },
  }
  /** When everybody who was frozen is awake. */
  return { faults, awake: () => Promise.all(thaws) }
}

const isStopped = (pid: number) => {
  try {
    return /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
