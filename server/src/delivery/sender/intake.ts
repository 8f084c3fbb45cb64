import { createWakeSignal } from '../../lib/concurrency/wake-signal.ts'
import { crash } from '../../lib/crash-point.ts'
import type { ClaimedEmail, createClaim } from '../outbox/claim.ts'
import type { ReadyEmail } from './build-email.ts'
import type { Ledger } from './ledger/ledger.ts'
import { buildBatches } from './limits/capacity.ts'
import type { Pipeline } from './pipeline.ts'
import type { Reconciler } from './reconcile.ts'
import type { SenderShared } from './shared.ts'

/** Wait for a wake signal before the queue is asked again without one. */
export const POLL_MS = 1_000
/** Shortest time between two claims that only find excluded projects. Each costs a statement, and every email may bring a wake signal. */
const NO_OTHERS_MS = 25

type Deps = SenderShared & {
  priority: number
  pollMs: number
  reconciler: Reconciler
  claim: ReturnType<typeof createClaim>
  prepare: Pipeline['prepare']
  /** True while a suspect is sent alone. */
  isExclusive: () => boolean
  onReady: () => void
}
type Room = NonNullable<ReturnType<Ledger<ReadyEmail>['roomFor']>>
type EmptyClaim = { room: Room; at: number; wakeCount: number; isTimerSet?: boolean }

/**
 * Keeps the ready buffer of one priority filled: claims emails, builds their messages, repeats. Claims go on while earlier ones are built: a
 * claim waits for the database, a build for a processor. Each priority has its own intake, so a transactional email never waits for the
 * build of a bulk batch.
 */
export function createIntake(deps: Deps) {
  const { priority, pollMs, readOwners, ledger, health, reconciler, claim, prepare } = deps
  const { oneAtATime, mayWork, isDue, isExclusive, stopping, onReady, log } = deps
  const isStopping = () => stopping.aborted
  const signal = createWakeSignal()
  const builds = new Set<Promise<unknown>>()
  /** The last claim found nothing. Only a wake signal or the poll interval is a reason to claim again. */
  let isQueueEmpty = false
  /** The last claim that found nothing but emails of the projects and streams it excluded. */
  let noOthers: EmptyClaim | undefined
  let wakeCount = 0

  async function run() {
    while (!isStopping()) {
      const emails = await oneAtATime(claimEmails).catch(startOver)
      const build = buildEmails(emails).catch(startOver)
      builds.add(build)
      build.finally(() => builds.delete(build))
      const mustWait = !emails.length || reconciler.isRequested()
      if (mustWait && !(await signal.wait(pollMs)) && isDue('queuedEmails')) isQueueEmpty = false
    }
    await Promise.all(builds)
  }

  function startOver(err: unknown): ClaimedEmail[] {
    // Only a warning: a database that is away is reported elsewhere, and the next attempt follows.
    log.warn({ err }, 'could not claim or build emails; trying again')
    reconciler.request()
    return []
  }

  async function claimEmails(): Promise<ClaimedEmail[]> {
    if (!mayWork()) return []
    await reconciler.runIfDue()
    if (isExclusive() || health.isProviderPaused() || isQueueEmpty) return []
    const room = ledger.roomFor(priority)
    if (!room || hasNoOthers(room)) return []
    const wakeCountBefore = wakeCount
    const emails = await claim(priority, health.isProbing() ? { ...room, limit: 1 } : room)
    crash('claimed')
    await readOwners(emails.map(({ projectId }) => projectId))
    if (emails.length) ledger.startBuilding(priority, emails)
    else if (room.except.length || room.silent.length) noOthers = { room, at: performance.now(), wakeCount: wakeCountBefore }
    else if (wakeCountBefore === wakeCount) isQueueEmpty = true
    return emails
  }

  /** Whether a recent claim showed that only excluded projects and streams have emails queued. A wake signal since then shortens its validity. */
  function hasNoOthers({ except, silent }: Room) {
    const last = noOthers
    if (!last?.room.except.every((owner) => except.includes(owner)) || !last.room.silent.every((id) => silent.includes(id))) return false
    const age = performance.now() - last.at
    if (last.wakeCount === wakeCount) return age < POLL_MS
    if (age < NO_OTHERS_MS && !last.isTimerSet) setTimeout(() => signal.wake(), NO_OTHERS_MS - age + 1).unref()
    last.isTimerSet = true
    return age < NO_OTHERS_MS
  }

  async function buildEmails(emails: ClaimedEmail[]) {
    const rows = buildBatches(emails).map(buildRow)
    const failure = (await Promise.allSettled(rows)).find((each) => each.status === 'rejected')
    if (failure && !isStopping()) throw failure.reason
  }

  const hasRoom = (batch: ClaimedEmail[], isLarge: boolean) => !ledger.isTooMuchReady(batch, isLarge)

  /** Builds the batches of a row one after the other. */
  async function buildRow(batches: ClaimedEmail[][]) {
    const unbuilt = new Set(batches.flat())
    const onPrepared = (emails: ClaimedEmail[], ready: ReadyEmail[]) => {
      for (const email of emails) unbuilt.delete(email)
      ledger.addReady(priority, emails, ready)
      onReady()
    }
    try {
      for (const batch of batches) {
        if (isStopping()) return
        await prepare(batch, { onPrepared, isStopped: isStopping, hasRoom })
      }
    } finally {
      ledger.abandonBuild(priority, unbuilt)
    }
  }

  return {
    priority,
    run,
    /** There is room again. */
    onRoom() {
      if (isStopping() || !isQueueEmpty) signal.wake()
    },
    /** Emails may have been queued. */
    onQueued() {
      wakeCount++
      isQueueEmpty = false
    },
  }
}
