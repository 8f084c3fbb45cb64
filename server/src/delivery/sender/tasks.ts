import { transact } from '../../db/index.ts'
import { hearsNotifications } from '../../db/notifications.ts'
import { every } from '../../lib/concurrency/every.ts'
import type { FailoverMode } from '../../nodes/failover.ts'
import { cancelStreams } from '../outbox/cancel.ts'
import { countWorkers, recoverFromDeadWorkers, wakeDeferred } from '../outbox/claim.ts'
import { resolveUnknown } from '../outbox/outcomes/evidence.ts'
import { tidyHeldRefusals } from '../outbox/refusals/verdicts.ts'
import type { Transport } from '../transport/transport.ts'
import type { createDispatcher } from './dispatch.ts'
import { expireQueued } from './expire.ts'
import type { createFence } from './failover/fence.ts'
import type { createPace } from './limits/pace.ts'
import type { SenderShared } from './shared.ts'
import type { createSuspects } from './suspects.ts'
import type { SenderTiming } from './timing.ts'
import type { createVerifier } from './verify.ts'

/** After a failover, what was settled since the last one is repeated. */
const BEAT_MS = 1_000
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

type Deps = SenderShared & {
  failover: FailoverMode
  fence: ReturnType<typeof createFence>
  transport: Transport
  timing: SenderTiming
  pace: ReturnType<typeof createPace>
  dispatcher: ReturnType<typeof createDispatcher>
  verifier: ReturnType<typeof createVerifier>
  suspects: ReturnType<typeof createSuspects>
  onQueued: () => void
}

/** Periodic work of a sender beside sending. */
export function createSenderTasks(deps: Deps) {
  const { db, log, worker, failover, fence, transport, timing, health, pace, dispatcher, verifier, suspects, onQueued, stopping, isDue } =
    deps
  const isStopping = () => stopping.aborted
  const wakeIf = (count: number) => void (count && onQueued())
  /** Also without emails in hand: dead workers that took part in a failover keep others from claiming. */
  let othersAreSilent = false
  const renew = async () => {
    othersAreSilent = await fence.renew()
  }
  const recover = async () => {
    if (isDue('emailsInHand') || othersAreSilent) wakeIf(await recoverFromDeadWorkers(db, worker, failover))
  }
  const wake = async () => {
    // Otherwise a notification says so.
    if (isDue('queuedEmails') && !hearsNotifications()) onQueued()
    if (!isDue('deferredEmails')) return
    // A million emails may be scheduled for the same minute.
    for (let count = CHUNK; count === CHUNK && !isStopping(); ) {
      count = await transact(db, (tx) => wakeDeferred(tx, CHUNK))
      wakeIf(count)
    }
  }
  const verify = async () => void ((isDue('heldRefusals') || health.isVerifying()) && (await verifier.verify()))
  const cancel = async () => void (isDue('cancelledStreams') && (await cancelStreams(db, CHUNK, isStopping)))
  const sendSuspects = async () => void (isDue('suspectEmails') && (await suspects.sendAll()))
  const resolve = async () => {
    if (isDue('unknownEmails')) wakeIf(await transact(db, (tx) => resolveUnknown(tx, { afterMs: timing.unknownMs, limit: CHUNK })))
  }

  async function shareHealth() {
    if (!isDue('sendingPauses') && !health.hasPauses()) return
    const wasPaused = health.isProviderPaused()
    await health.sync()
    await health.tryProvider()
    // As long as the probe is free: soon another email may be it.
    if (health.isProbing() || (wasPaused && !health.isProviderPaused())) dispatcher.resume()
  }

  /** The quota belongs to the account, so all workers share it. */
  async function adjustPace() {
    const { perSecond, stopped, isUsedUp } = await transport.quota!()
    pace.allow(perSecond / Math.max(1, await countWorkers(db)))
    if (stopped) health.pauseProvider(stopped, { isUsedUp })
  }

  let tasks: ReturnType<typeof every>[] = []
  return {
    adjustPace,
    start() {
      tasks = [
        every(Math.min(BEAT_MS, timing.leaseMs / 5), 'renew the lease of this worker', renew, log),
        every(RECOVER_MS, 'recover emails of dead workers', recover, log),
        every(WAKE_MS, 'queue deferred emails that are due', wake, log),
        every(HEALTH_MS, 'share sending pauses and start probes', shareHealth, log),
        every(VERIFY_MS, 'judge held refusals', verify, log),
        every(TIDY_MS, 'tidy held refusals', () => transact(db, (tx) => tidyHeldRefusals(tx)), log),
        every(EXPIRE_MS, 'end expired emails', () => expireQueued(db, CHUNK, isStopping), log),
        every(CANCEL_MS, 'cancel emails of cancelled streams', cancel, log),
        every(SUSPECTS_MS, 'send suspect emails alone', sendSuspects, log),
        every(timing.resolveMs, 'resolve unknown outcomes', resolve, log),
      ]
      if (transport.quota) tasks.push(every(QUOTA_MS, 'read the sending quota', adjustPace, log))
    },
    stop: () => Promise.all(tasks.map((task) => task.stop())),
  }
}
