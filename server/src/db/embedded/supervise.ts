import { rmSync } from 'node:fs'
import { totalmem } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '../../lib/concurrency/backoff.ts'
import { type Cluster, clusterUrl } from './cluster.ts'
import { launch, logTail, type Postmaster, readPidFile, trimLog } from './postmaster.ts'
import { type Supervision, takeSupervision } from './supervision.ts'

export type Embedded = {
  /** Does not change while this process lives, also when the server restarts. */
  url: string
  stop(): Promise<void>
  /** For a process about to exit: immediate shutdown of the server, after which its next start runs crash recovery. */
  abort(): void
}
type Report = (fields: object, message: string) => void
export type Logger = { info: Report; warn: Report; error: Report }

/** Restart delay: 0.1 s after a crash, doubling to 5 s while the server does not stay up. */
const RESTART_MS = { first: 100, longest: 5_000, stableAfter: 5_000 }
const CHECK_MS = 2_000

/** For a small machine that it shares with Sterna: an eighth of the memory, at most 1 GB. */
function settings() {
  const megabytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) / 2 ** 20
  return {
    max_connections: 100,
    max_logical_replication_workers: 0,
    shared_buffers: `${Math.round(Math.min(1_024, Math.max(64, megabytes / 8)))}MB`,
    effective_cache_size: `${Math.round(megabytes / 2)}MB`,
    // A commit is on disk when it is acknowledged, whatever the cluster's own configuration files say.
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    // Fresh statistics: a table that was empty a minute ago may have a million rows now. Each visit starts a process for each database: with
    // 10 s these took three quarters of the CPU of an idle server.
    autovacuum_naptime: '30s',
    // Crash recovery syncs all files first: one by one that took 2 to 3 s, with syncfs 0.1 s.
    ...(process.platform === 'linux' ? { recovery_init_sync_method: 'syncfs' } : {}),
    // Random reads cost about as much as sequential ones on an SSD.
    random_page_cost: 1.1,
  }
}

type Running = { cluster: Cluster; postmaster: Postmaster; supervision: Supervision; log: Logger; unlock(): void }

export const launchForUse = (cluster: Cluster, { signal, log }: { signal?: AbortSignal; log: Logger }) =>
  launch(cluster, { settings: settings(), signal, log })

/** Restarts a server that ends, and keeps its lock, until `stop`. */
export class Supervisor implements Embedded {
  readonly url: string
  #running: Running
  #stopping = new AbortController()
  #watching: Promise<void>
  #checking: NodeJS.Timeout
  #stopped: Promise<void> | undefined

  constructor(running: Running) {
    this.url = clusterUrl(running.cluster)
    this.#running = running
    this.#checking = setInterval(() => this.#check(), CHECK_MS).unref()
    this.#watching = this.#watch()
  }

  stop = () => {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  abort = () => {
    this.#stopping.abort()
    this.#running.postmaster.kill('SIGQUIT')
  }

  async #stop() {
    const { cluster, unlock } = this.#running
    this.#stopping.abort()
    clearInterval(this.#checking)
    await this.#watching
    await this.#running.postmaster.stop()
    rmSync(cluster.socketFolder, { recursive: true, force: true })
    unlock()
  }

  async #watch() {
    const { signal } = this.#stopping
    const stopping = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    for (let failures = 0; !signal.aborted; ) {
      const { postmaster, supervision, cluster, log } = this.#running
      const upSince = Date.now()
      const exit = await Promise.race([postmaster.exited, supervision.lost, stopping])
      if (signal.aborted) return
      failures = Date.now() - upSince > RESTART_MS.stableAfter ? 0 : failures + 1
      log.error({ exit, postgres: logTail(cluster.folder) }, 'lost PostgreSQL; restarting it')
      while (!signal.aborted && !(await this.#recovered(failures))) failures++
    }
  }

  async #recovered(failures: number) {
    const { cluster, log } = this.#running
    const { signal } = this.#stopping
    try {
      await sleep(backoffMs(failures, RESTART_MS), undefined, { signal })
      if (this.#running.postmaster.hasExited()) this.#running.postmaster = await launchForUse(cluster, { signal, log })
      this.#running.supervision = await takeSupervision(this.url)
      log.info({}, 'PostgreSQL is running again')
      return true
    } catch (err) {
      if (!signal.aborted) log.error({ err }, 'PostgreSQL could not be restarted yet')
      return false
    }
  }

  #check() {
    const { cluster, postmaster, log } = this.#running
    try {
      trimLog(cluster.folder)
      // After a SIGTERM from outside it refuses new clients until the last client disconnects, which a pool never does.
      if (readPidFile(cluster.folder)?.status === 'stopping') postmaster.kill('SIGINT')
    } catch (err) {
      log.warn({ err }, 'could not check PostgreSQL')
    }
  }
}
