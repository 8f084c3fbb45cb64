import { setTimeout as sleep } from 'node:timers/promises'
import { transact } from '../../db/index.ts'
import { type ClaimedEmail, claimSuspect, hasSuspects } from '../outbox/claim.ts'
import type { ReadyEmail } from './build-email.ts'
import type { Dispatcher } from './dispatch.ts'
import type { Pipeline } from './pipeline.ts'
import { idOf } from './settlements.ts'
import type { SenderShared } from './shared.ts'

/**
 * Crashes of the process that held an email, after which the email fails; in the last five it was the only email in hand. Five in all were
 * too few: the crash test kills workers every second, and an email that had nothing to do with it was held by five of them.
 */
const MAX_CRASHES = 8
/** Time for the other emails to end before a suspect is claimed. */
const IDLE_WAIT_MS = 10_000
const IDLE_POLL_MS = 20
/** Suspects sent in a row before other emails get their turn. */
const MAX_IN_A_ROW = 20

type Deps = SenderShared & {
  pipeline: Pick<Pipeline, 'prepare' | 'settle'>
  send: Dispatcher['send']
  /** The other emails may be claimed again. */
  onEnd: () => void
}

/** Emails that several processes held when they died. Each is sent with nothing else in hand, so that another crash can only be its own. */
export function createSuspects({ db, worker, ledger, health, pipeline, send, oneAtATime, mayWork, stopping, onEnd }: Deps) {
  let isExclusive = false

  async function sendAll() {
    if (!mayWork() || health.isProviderPaused() || !(await hasSuspects(db))) return
    isExclusive = true
    try {
      await untilIdle()
      for (let sent = 0; sent < MAX_IN_A_ROW && maySend(); sent++) {
        const email = await oneAtATime(claim)
        if (!email) return
        await sendAlone(email)
      }
    } finally {
      isExclusive = false
      onEnd()
    }
  }

  const maySend = () => ledger.isIdle() && !stopping.aborted && !health.isProviderPaused()

  async function untilIdle() {
    const end = performance.now() + IDLE_WAIT_MS
    while (!ledger.isIdle() && performance.now() < end && !stopping.aborted) await sleep(IDLE_POLL_MS)
  }

  async function claim() {
    const email = await transact(db, (tx) => claimSuspect(tx, worker))
    if (email) ledger.hold(email)
    return email
  }

  async function sendAlone(email: ClaimedEmail) {
    if (email.crashes >= MAX_CRASHES) return failCrashed(email)
    const ready = await prepare(email)
    if (!ready) return ledger.release(email)
    // Once handed over it has done no harm. Its reply may take ten minutes, and the other emails must not wait for that.
    await new Promise<void>((resolve) => {
      const end = () => {
        stopping.removeEventListener('abort', end)
        resolve()
      }
      stopping.addEventListener('abort', end)
      void send(ready, end).finally(end)
    })
  }

  async function failCrashed(email: ClaimedEmail) {
    const error = 'Sending it ended the process, several times.'
    await pipeline.settle({ ...idOf(email), state: 'failed', error, code: 'crashed' }).finally(() => ledger.release(email))
  }

  /** Undefined when the email was settled on the way. */
  async function prepare(email: ClaimedEmail) {
    const built: ReadyEmail[] = []
    try {
      await pipeline.prepare([email], { onPrepared: (_, ready) => built.push(...ready), isStopped: () => stopping.aborted })
      return built[0]
    } catch (err) {
      ledger.release(email)
      throw err
    }
  }

  return { sendAll, isExclusive: () => isExclusive }
}
