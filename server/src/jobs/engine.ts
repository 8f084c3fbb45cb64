import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Job,
  type JobHelpers,
  Logger,
  type ParsedCronItem,
  parseCronItems,
  type Runner,
  run,
  type TaskList,
  type WorkerEvents,
} from 'graphile-worker'
import { type Pool, transact } from '../db/index.ts'
import type { WhenReachable } from '../db/when-reachable.ts'
import { every } from '../lib/concurrency/every.ts'
import type { Log } from '../lib/process/log.ts'
import type { Jobs } from './enqueue.ts'
import { failExhausted } from './job.ts'
import { shareSlots } from './job-shares.ts'
import { announceDueJobs, announceJobs, freeDeadWorkers } from './liveness.ts'
import { freeLostJobs, watchRunningJobs } from './lost-jobs.ts'
import { queuePool } from './queue-pool.ts'

/** A job without a handler does not compile. */
export type Handlers = { [Name in keyof Jobs]: (payload: Jobs[Name]) => Promise<unknown> }
/** A scheduled task: runs once per time, on one of the nodes. */
export type Cron = { name: string; match: string; run: () => Promise<unknown> }

type Options = {
  url: string
  db: Pool
  log: Log
  livenessKey: number
  isHeld: () => boolean
  handlers: Handlers
  crons: Cron[]
  /** Without it, scheduled tasks run only when a job of their name is added. */
  withSchedule: boolean
  /** Whether there may be a job that is due or taken. By default there may be. */
  isDue?: () => boolean
  reach: WhenReachable
}

/** Jobs at a time, besides one of an owner that has none of them. */
const SLOTS = 4
const CONCURRENCY = SLOTS + 1
/** Poll interval of each slot. A sweep announces jobs that come due, so this is for what was never announced. */
const POLL_MS = 10_000
const SWEEP_MS = 500
/** Time between two sweeps without a job. */
const IDLE_SWEEP_MS = 30_000
/** Jobs that came due in this time are announced: longer than the time between two sweeps, so that none is missed. */
const DUE_MS = 5_000
const RESTART_MS = 500

export async function startEngine(options: Options) {
  const { url, db, log, livenessKey, isHeld, handlers, crons, withSchedule, isDue = () => true, reach } = options
  const events = new EventEmitter() as WorkerEvents
  // The queue stores the id of its worker pool as the holder of a job.
  const workerIds: string[] = []
  events.on('pool:create', ({ workerPool }) => workerIds.push(workerPool.id))
  const shares = shareSlots(events, SLOTS)
  const runningJobs = watchRunningJobs(events)
  const pgPool = queuePool({ url, max: CONCURRENCY + 1, log })
  const start = () =>
    run({
      pgPool,
      concurrency: CONCURRENCY,
      pollInterval: POLL_MS,
      noHandleSignals: true,
      logger: queueLogger(log),
      events,
      forbiddenFlags: shares.forbiddenFlags,
      taskList: taskList(handlers, crons, shares.end),
      parsedCronItems: withSchedule ? cronItems(crons) : [],
    })
  let runner: Runner = await reach('start the job queue', start)
  let stopping = false

  // The queue stops permanently when the database is unavailable at the wrong moment, so it is restarted; but not while this process counts as dead.
  const keepRunning = async () => {
    while (!stopping) {
      await runner.promise.catch((err: Error) => log.error({ reason: err.message }, 'the job queue stopped'))
      while (!stopping) {
        await sleep(RESTART_MS)
        const started = stopping || !isHeld() ? undefined : await start().catch(() => undefined)
        if (!started) continue
        runner = started
        if (stopping) await runner.stop()
        break
      }
    }
  }
  const running = keepRunning()
  let swept = { at: Number.NEGATIVE_INFINITY, workers: 0 }
  const mustSweep = () => isDue() || workerIds.length > swept.workers || performance.now() - swept.at > IDLE_SWEEP_MS
  const sweepIfDue = async () => {
    if (!isHeld()) return stopClaiming()
    if (!mustSweep()) return
    const workers = workerIds.length
    await sweepJobs(db, { workerIds, livenessKey, runningJobs })
    swept = { at: performance.now(), workers }
  }
  const sweep = every(SWEEP_MS, 'sweep jobs', sweepIfDue, log)

  /** Without its lock this process counts as dead, and others take over its jobs. Running jobs continue: their position is checked when they commit. */
  function stopClaiming() {
    runner.stop().catch(() => {}) // it may have stopped already
  }

  return {
    async stop() {
      stopping = true
      await sweep.stop()
      await runner.stop().catch(() => {}) // it may have stopped by itself
      await running
      await pgPool.end()
    },
  }
}

async function sweepJobs(db: Pool, living: { workerIds: string[]; livenessKey: number; runningJobs: () => string[] }) {
  await freeDeadWorkers(db, living)
  // Asked after a statement: by then this process knows the jobs that it had taken, however late it is.
  const held = { workerIds: living.workerIds, running: living.runningJobs() }
  await transact(db, async (tx) => {
    if (await freeLostJobs(tx, held)) await announceJobs(tx)
  })
  await transact(db, (tx) => failExhausted(tx))
  await transact(db, (tx) => announceDueJobs(tx, DUE_MS))
}

/** `onEnd` is called when the handler of a job has ended, however it ended. */
function taskList(handlers: Handlers, crons: Cron[], onEnd: (job: Job) => void): TaskList {
  const named = [...Object.entries(handlers), ...crons.map(({ name, run }) => [name, run] as const)]
  const tasks = named.map(([name, handle]) => [
    name,
    async (payload: unknown, { job }: JobHelpers) => {
      try {
        // Each name has its own payload type, which the type of the list cannot express.
        await (handle as (payload: unknown) => Promise<unknown>)(payload)
      } finally {
        onEnd(job)
      }
    },
  ])
  return Object.fromEntries(tasks)
}

const cronItems = (crons: Cron[]): ParsedCronItem[] =>
  parseCronItems(crons.map(({ name, match }) => ({ task: name, match, identifier: name, options: { backfillPeriod: 0, maxAttempts: 3 } })))

/** The queue logs much at level info; only its errors and warnings matter here. */
const queueLogger = (log: Log) =>
  new Logger((scope) => (level, message, meta) => {
    const to = level === 'error' ? 'error' : level === 'warning' ? 'warn' : 'debug'
    log[to]({ ...scope, ...(meta?.error ? { err: meta.error } : {}) }, message)
  })
