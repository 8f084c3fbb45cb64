import { setTimeout as sleep } from 'node:timers/promises'
import { type Pool, transact } from '../../db/index.ts'
import { type WhenReachable, withoutWaiting } from '../../db/when-reachable.ts'
import { createSemaphore } from '../../lib/concurrency/semaphore.ts'
import type { Log } from '../../lib/process/log.ts'
import type { Secrets } from '../../lib/secrets.ts'
import type { FailoverMode } from '../../nodes/failover.ts'
import { createOwners } from '../../projects/owner.ts'
import { createClaim } from '../outbox/claim.ts'
import { listenToQueue } from '../outbox/streams/queue-notifications.ts'
import { PRIORITIES } from '../outbox/streams/stream-of.ts'
import { leaveWorkers } from '../outbox/workers/lease.ts'
import type { Transport } from '../transport/transport.ts'
import type { ReadyEmail } from './build-email.ts'
import { createDispatcher } from './dispatch.ts'
import { createFence } from './failover/fence.ts'
import { createJournal } from './failover/journal.ts'
import { createIntake } from './intake.ts'
import { createLedger } from './ledger/ledger.ts'
import { createHealth } from './limits/health.ts'
import { createPace } from './limits/pace.ts'
import { createRefusedDomains } from './limits/refused-domains.ts'
import { createSlots } from './limits/slots.ts'
import { createPipeline } from './pipeline.ts'
import { createReconciler } from './reconcile.ts'
import type { SenderTask } from './shared.ts'
import { createSuspects } from './suspects.ts'
import { createSenderTasks } from './tasks.ts'
import { SENDER_TIMING, type SenderTiming } from './timing.ts'
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
  /** True while sending is held, by a person or after a restore: emails that were claimed go back to the queue. */
  isSendingHeld?: () => boolean
  transport: Transport
  publicUrl: string
  signs: boolean
  bounceDomain: string | undefined
  failover?: FailoverMode
  ratePerSecond: number | undefined
  /** Connections to the provider that bulk may use at once. */
  connections?: number
  timing?: Partial<SenderTiming>
  isDue?: (task: SenderTask) => boolean
  reach?: WhenReachable
}

/** On shutdown, time for claims and builds under way. */
const LAST_BUILDS_MS = 2_000

/** Runs the send loop of this worker: claims queued emails, sends and settles them until it is stopped. Any number of workers may run. */
export async function startSender(options: Options) {
  const { db, ownDb, url, log, worker, transport, failover = 'auto', reach = withoutWaiting } = options
  const timing = { ...SENDER_TIMING, ...options.timing }
  const stopping = new AbortController()
  /** Aborted when the time for last replies is over: then nothing waits for the network or the database any more. */
  const shutdown = new AbortController()
  const isStopping = () => stopping.signal.aborted
  const mayWork = () => !isStopping() && options.isHeld()

  const owners = createOwners(db)
  const slots = createSlots(options.connections)
  const ledger = createLedger<ReadyEmail>(owners.of, slots)
  const health = createHealth({ db: ownDb, log, timing: timing.pauses })
  const refusedDomains = createRefusedDomains()
  const refusals = { refusalTiming: timing.refusals, refusedDomains }
  const journal = createJournal()
  const pipeline = createPipeline({ ...options, ...refusals, journal, health, ownerOf: owners.of, until: shutdown.signal })
  const pace = createPace(options.ratePerSecond)
  const { leaseMs } = timing
  const fence = createFence({ db: ownDb, log, worker, journal, mode: failover, leaseMs, slowedBy: pace.slowedBy })
  const reconciler = createReconciler({ db: ownDb, worker, heldIds: ledger.heldIds })
  const shared = {
    db,
    worker,
    log,
    ledger,
    health,
    mayWork,
    isDue: options.isDue ?? (() => true),
    readOwners: owners.read,
    oneAtATime: createSemaphore(1),
    stopping: stopping.signal,
  }
  const { prepare, transmit } = pipeline
  const claim = createClaim(db, worker)
  const { isSendingHeld = () => false } = options
  const dispatcher = createDispatcher({
    ...shared,
    isSendingHeld,
    pace,
    slots,
    refusedDomains,
    reconciler,
    lingerMs: timing.lingerMs,
    transmit,
    onRoom,
  })
  const { send } = dispatcher
  const suspects = createSuspects({ ...shared, pipeline, send, onEnd: onQueued })
  const { isExclusive } = suspects
  const verifier = createVerifier({ ...shared, prepare, send, timing: timing.refusals, refusedDomains, isExclusive, onQueued })
  const intakes = Object.values(PRIORITIES).map((priority) =>
    createIntake({ ...shared, priority, pollMs: timing.pollMs, reconciler, claim, prepare, isExclusive, onReady: dispatcher.resume }),
  )

  function onRoom() {
    for (const intake of intakes) intake.onRoom()
  }

  /** Emails may have been queued, in one priority or in any. */
  function onQueued(priority?: number) {
    for (const intake of intakes) if (priority === undefined || priority === intake.priority) intake.onQueued()
    onRoom()
  }

  const tasks = createSenderTasks({ ...shared, failover, fence, transport, timing, pace, dispatcher, verifier, suspects, onQueued })

  async function run() {
    if (transport.quota) await tasks.adjustPace().catch((err) => log.warn({ err }, 'could not read the sending quota; starting without it'))
    await Promise.all(intakes.map((intake) => intake.run()))
  }

  await reach('take the lease of this worker', fence.renew)
  await reach('read the sending pauses', health.sync)
  const queueListener = listenToQueue(url, onQueued, log)
  tasks.start()
  const running = run()

  /** Without a database nothing can be released here: other workers recover these emails when the lease or the lock is gone. */
  const releaseUnheld = () => reconciler.run().catch((err) => log.warn({ err }, 'could not release emails on shutdown'))

  return {
    /** Stops claiming, releases at once whatever is not handed over, and waits for the replies to the rest. */
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
      await tasks.stop()
      await verifier.untilProbed()
      await health.release().catch((err) => log.warn({ err }, 'could not release probes'))
      await Promise.all([queueListener.stop(), pipeline.close()])
    },
    /** After everything of this process has ended that may hold emails. */
    leave: () =>
      transact(ownDb, (tx) => leaveWorkers(tx, worker)).catch((err) => log.warn({ err }, 'could not give up the lease of this worker')),
  }
}
