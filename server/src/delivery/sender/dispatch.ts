import { createWakeSignal } from '../../lib/concurrency/wake-signal.ts'
import type { Disposition } from '../transport/classify.ts'
import type { ReadyEmail } from './build-email.ts'
import type { createPace } from './limits/pace.ts'
import type { RefusedDomains } from './limits/refused-domains.ts'
import type { createSlots } from './limits/slots.ts'
import type { Pipeline } from './pipeline.ts'
import type { Reconciler } from './reconcile.ts'
import type { SenderShared } from './shared.ts'

/** An email of a stream that got no reply last keeps its slot longer, by this factor: the fewer follow and keep a connection. */
const SILENT_FACTOR = 4

type Deps = SenderShared & {
  pace: ReturnType<typeof createPace>
  slots: ReturnType<typeof createSlots>
  refusedDomains: RefusedDomains
  reconciler: Reconciler
  /** After this time without a reply an email gives up its slot on the wire. */
  lingerMs: number
  transmit: Pipeline['transmit']
  /** True: emails that were claimed go back to the queue. */
  isSendingHeld: () => boolean
  /** An email was settled or gave up its slot: there is room for another claim. */
  onRoom: () => void
}
export type Dispatcher = ReturnType<typeof createDispatcher>

/** Sends ready emails: as many at once as the ledger has slots, as fast as the pace allows. */
export function createDispatcher({
  ledger,
  health,
  pace,
  slots,
  refusedDomains,
  reconciler,
  lingerMs,
  transmit,
  isSendingHeld,
  stopping,
  onRoom,
  log,
}: Deps) {
  const isStopping = () => stopping.aborted
  const ended = createWakeSignal()

  function sendReady() {
    if (isStopping()) return
    while (!health.isProviderPaused()) {
      const next = takeNext()
      if (!next) return
      void send(next)
    }
  }

  function resume() {
    sendReady()
    onRoom()
  }

  /** A probe of the provider preferably belongs to a project without a paused sender domain. */
  const takeNext = () =>
    ledger.takeNext({
      mayTake: () => pace.take(resume),
      mayLeave: refusedDomains.mayLeave(),
      ...(health.isProbing() ? { preferred: ({ projectId }) => !health.hasPausedDomain(projectId), only: health.mayBeProbe } : {}),
    })

  /** Without a reply in time an email gives up its slot, or later when too many did. Returns a function that ends the wait. */
  function lingerUnlessReplied(email: ReadyEmail['email']) {
    const giveUp = () => {
      const lingers = ledger.linger(email)
      // Emails of its stream were given back.
      reconciler.request()
      if (!lingers) timer = setTimeout(giveUp, lingerMs)
      resume()
    }
    let timer = setTimeout(giveUp, ledger.isSilent(email) ? SILENT_FACTOR * lingerMs : lingerMs)
    return () => clearTimeout(timer)
  }

  /** Never throws. */
  async function send(ready: ReadyEmail, onHandedOver = () => {}) {
    const { email } = ready
    ledger.takeSlot(email)
    refusedDomains.began(email, { projectId: email.projectId, domain: ready.domain })
    const replied = lingerUnlessReplied(email)
    const freeSlot = (hasReply = false) => {
      replied()
      refusedDomains.ended(email)
      ledger.freeSlot(email, hasReply)
      sendReady()
    }
    // While the provider is paused only its probe gets here.
    const probe = { provider: health.takeProviderProbe(), domain: ready.probe }
    let hasReported = false
    const report = (disposition?: Disposition) => {
      hasReported = true
      health.probed({ email, domain: ready.domain, disposition }, probe)
    }
    try {
      await transmit(ready, {
        mayStart: () => !isSendingHeld(),
        mayLeave: () => !isStopping(),
        handedOver(isHandedOver) {
          if (!isHandedOver) return ledger.endHandOver(email)
          ledger.handOver(email)
          onHandedOver()
        },
        offTheWire(disposition) {
          // Before the slot is free: the next email must know.
          if (disposition?.throttled && disposition.about === 'provider') pace.throttled()
          if (disposition?.tooManyConnections) slots.refused(ledger.countOnWire() - 1)
          report(disposition)
          freeSlot(isReply(disposition, ledger.isOnWire(email)))
        },
      })
    } catch (err) {
      // Once this process stops, an email that was not handed over has been released already.
      if (!isStopping() || ledger.isHandedOver(email))
        log.error({ err, emailId: email.id, projectId: email.projectId }, 'could not send or settle an email')
      reconciler.request()
    } finally {
      // A probe that failed on our side says nothing: another may follow.
      if (!hasReported) report()
      ledger.endHandOver(email)
      ledger.release(email)
      freeSlot()
      onRoom()
      ended.wake()
    }
  }

  return {
    send,
    sendReady,
    resume,
    /** Resolves when every email that was handed over has its outcome, or when `signal` is aborted. */
    async untilAnswered(signal: AbortSignal) {
      while (ledger.countHandedOver() && !signal.aborted) await ended.wait(100)
    },
  }
}

/** Whether an attempt shows that emails of the stream get replies. An error on the wire does, if it came in time. */
const isReply = (disposition: Disposition | undefined, isInTime: boolean) =>
  disposition?.action === 'sent' || disposition?.action === 'fail' || (disposition?.action === 'retry' && isInTime)
