import { setTimeout as sleep } from 'node:timers/promises'
import { type Pool, transact } from '../../db/index.ts'
import { type WhenReachable, withoutWaiting } from '../../db/when-reachable.ts'
import { every } from '../../lib/concurrency/every.ts'
import { createSemaphore } from '../../lib/concurrency/semaphore.ts'
import type { Log } from '../../lib/log.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { MINUTE } from '../../lib/text/units.ts'
import { createOwners } from '../../projects/owner.ts'
import { cancelStreams } from '../outbox/cancel.ts'
import { countWorkers, createClaim, recoverFromDeadWorkers, renewLease, wakeDeferred } from '../outbox/claim.ts'
import { resolveUnknown } from '../outbox/evidence.ts'
import { listenToQueue } from '../outbox/queue-notifications.ts'
import { REFUSAL_TIMING, type RefusalTiming } from '../outbox/refusals/hold.ts'
import { tidyHeldRefusals } from '../outbox/refusals/verdicts.ts'
import { PRIORITIES } from '../outbox/streams/stream-of.ts'
import type { Transport } from '../transport/transport.ts'
import { createDispatcher } from './dispatch.ts'
import { expireQueued } from './expire.ts'
import { createIntake, POLL_MS } from './intake.ts'
import { createLedger } from './ledger.ts'
import { createHealth } from './limits/health.ts'
import { createPace } from './limits/pace.ts'
import type { PauseTiming } from './limits/pauses.ts'
import { createSlots } from './limits/slots.ts'
import { createSuspects } from './limits/suspects.ts'
import { createPipeline, type ReadyEmail } from './pipeline.ts'
import { createReconciler } from './reconcile.ts'
import { createVerifier } from './verify.ts'

type Options = {
  db: Pool
  /** A few connections used for marks, leases and settlement only: a busy API must not delay these. */
  ownDb: Pool
  url: string
  secrets: Secrets
  log: Log
  worker: number
  /** False while this process counts as dead: other workers would take back anything it claims. */
  isHeld: () => boolean
  transport: Transport
  publicUrl: string
  signs: boolean
  bounceDomain: string | undefined
  ratePerSecond: number | undefined
  /** Connections to the provider that bulk may use at once. */
  connections?: number
  timing?: Partial<SenderTiming>
  reach?: WhenReachable
}

/**
 * `leaseMs`: how long a silent worker counts as alive. `unknownMs`: how long evidence about an unknown outcome is awaited before the policy
 * decides; `resolveMs`: how often that is checked. `lastRepliesMs`: on shutdown, time for replies to emails that are handed over. An email
 * without its reply may have to be sent twice. `lingerMs`: after this time without a reply an email gives up its slot on the wire. `pollMs`:
 * wait for a wake signal before the queue is asked again without one.
 */
export type SenderTiming = {
  leaseMs: number
  unknownMs: number
  resolveMs: number
  lastRepliesMs: number
  lingerMs: number
  pollMs: number
  refusals: RefusalTiming
  pauses?: PauseTiming
}
export const SENDER_TIMING: SenderTiming = {
  leaseMs: 15_000,
  unknownMs: 15 * MINUTE,
  resolveMs: 5_000,
  lastRepliesMs: 15_000,
  lingerMs: 15_000,
  pollMs: POLL_MS,
  refusals: REFUSAL_TIMING,
}

const RECOVER_MS = 500
const WAKE_MS = 250
/** Interval at which pauses are shared with other workers, and probes begin. */
const HEALTH_MS = 500
/** Interval at which held refusals are judged. */
const VERIFY_MS = 500
const TIDY_MS = 60_000
const SUSPECTS_MS = 1_000
const CANCEL_MS = 1_000
const EXPIRE_MS = 600_000
const QUOTA_MS = 120_000
/** Rows per statement of the recurring tasks. */
const CHUNK = 1_000
/** On shutdown, time for claims and builds under way. */
const LAST_BUILDS_MS = 2_000

/** Runs the send loop of this worker: claims queued emails, sends and settles them until it is stopped. Any number of workers may run. */
export async function startSender(options: Options) {
  const { db, ownDb, url, log, worker, transport, reach = withoutWaiting } = options
  const timing = { ...SENDER_TIMING, ...options.timing }
  /** Aborted when this worker is asked to stop. */
  const stopping = new AbortController()
  /** Aborted when the time for last replies is over: then nothing waits for the network or the database any more. */
  const shutdown = new AbortController()
  const isStopping = () => stopping.signal.aborted
  const mayWork = () => !isStopping() && options.isHeld()

  const owners = createOwners(db)
  const slots = createSlots(options.connections)
  const ledger = createLedger<ReadyEmail>(owners.of, slots)
  const health = createHealth({ db: ownDb, log, ...(timing.pauses ? { timing: timing.pauses } : {}) })
  const pipeline = createPipeline({ ...options, health, ownerOf: owners.of, refusalTiming: timing.refusals, until: shutdown.signal })
  const pace = createPace(options.ratePerSecond)
  const reconciler = createReconciler({ db: ownDb, worker, heldIds: ledger.heldIds })
  const oneAtATime = createSemaphore(1)
  const claim = createClaim(db, worker)
  const { lingerMs } = timing
  const { transmit } = pipeline
  const dispatcher = createDispatcher({ ledger, health, pace, slots, reconciler, lingerMs, transmit, isStopping, onRoom, log })
  const suspects = createSuspects({
    db,
    worker,
    ledger,
    health,
    pipeline,
    send: dispatcher.send,
    oneAtATime,
    mayWork,
    stopping: stopping.signal,
    onEnd: onQueued,
  })
  const verifier = createVerifier({
    db,
    worker,
    readOwners: owners.read,
    ledger,
    health,
    prepare: pipeline.prepare,
    send: dispatcher.send,
    timing: timing.refusals,
    oneAtATime,
    mayWork,
    isExclusive: suspects.isExclusive,
    stopping: stopping.signal,
    onQueued,
    log,
  })
  const intakes = Object.values(PRIORITIES).map((priority) =>
    createIntake({
      priority,
      pollMs: timing.pollMs,
      readOwners: owners.read,
      ledger,
      health,
      reconciler,
      claim,
      prepare: pipeline.prepare,
      oneAtATime,
      mayWork,
      isExclusive: suspects.isExclusive,
      isStopping,
      onReady: dispatcher.resume,
      log,
    }),
  )

  function onRoom() {
    for (const intake of intakes) intake.onRoom()
  }

  /** Emails may have been queued, in one priority or in any. */
  function onQueued(priority?: number) {
    for (const intake of intakes) if (priority === undefined || priority === intake.priority) intake.onQueued()
    onRoom()
  }

  const wakeIf = (count: number) => void (count && onQueued())
  const renew = () => transact(ownDb, (tx) => renewLease(tx, worker, { leaseMs: timing.leaseMs, slowedBy: pace.slowedBy() }))
  const recover = () => recoverFromDeadWorkers(db, worker).then(wakeIf)
  const wake = () => transact(db, (tx) => wakeDeferred(tx, CHUNK)).then(wakeIf)
  const resolve = () => transact(db, (tx) => resolveUnknown(tx, { afterMs: timing.unknownMs, limit: CHUNK })).then(wakeIf)

  async function shareHealth() {
    const wasPaused = health.isProviderPaused()
    await health.sync()
    await health.tryProvider()
    if (wasPaused && !health.isProviderPaused()) dispatcher.resume()
  }

  /** The quota belongs to the account, so all workers share it. */
  async function adjustPace() {
    const { perSecond, stopped, isUsedUp } = await transport.quota!()
    pace.allow(perSecond / Math.max(1, await countWorkers(db)))
    if (stopped) health.pauseProvider(stopped, { isUsedUp })
  }

  async function run() {
    if (transport.quota) await adjustPace().catch((err) => log.warn({ err }, 'could not read the sending quota; starting without it'))
    await Promise.all(intakes.map((intake) => intake.run()))
  }

  await reach('take the lease of this worker', renew)
  await reach('read the sending pauses', health.sync)
  const queueListener = listenToQueue(url, onQueued, log)
  const tasks = [
    every(timing.leaseMs / 5, 'renew the lease of this worker', renew, log),
    every(RECOVER_MS, 'recover emails of dead workers', recover, log),
    every(WAKE_MS, 'queue deferred emails that are due', wake, log),
    every(HEALTH_MS, 'share sending pauses and start probes', shareHealth, log),
    every(VERIFY_MS, 'judge held refusals', verifier.verify, log),
    every(TIDY_MS, 'tidy held refusals', () => transact(db, (tx) => tidyHeldRefusals(tx)), log),
    every(EXPIRE_MS, 'end expired emails', () => expireQueued(db, CHUNK, isStopping), log),
    every(CANCEL_MS, 'cancel emails of cancelled streams', () => cancelStreams(db, CHUNK, isStopping), log),
    every(SUSPECTS_MS, 'send suspect emails alone', suspects.sendAll, log),
    every(timing.resolveMs, 'resolve unknown outcomes', resolve, log),
  ]
  if (transport.quota) tasks.push(every(QUOTA_MS, 'read the sending quota', adjustPace, log))
  const running = run()

  /** Without a database nothing can be released here: other workers recover these emails when the lease or the lock is gone. */
  const releaseUnheld = () => reconciler.run().catch((err) => log.warn({ err }, 'could not release emails on shutdown'))

  return {
    /** Claims no more, releases at once whatever is not handed over, and waits for the replies to the rest. */
    async stop() {
      stopping.abort()
      onRoom()
      const timeout = setTimeout(() => shutdown.abort(), timing.lastRepliesMs)
      // Emails still being built after that are released all the same.
      await Promise.race([running, sleep(LAST_BUILDS_MS)])
      ledger.dropReady()
      ledger.releaseAllButHandedOver()
      await releaseUnheld()
      await dispatcher.untilAnswered(shutdown.signal)
      ledger.releaseAll()
      await releaseUnheld()
      clearTimeout(timeout)
      shutdown.abort()
      await Promise.all(tasks.map((task) => task.stop()))
      await verifier.untilProbed()
      await health.release().catch((err) => log.warn({ err }, 'could not release probes'))
      await Promise.all([queueListener.stop(), pipeline.close()])
    },
  }
}
