import { setTimeout as sleep } from 'node:timers/promises'
import { transact } from '../../db/index.ts'
import type { ClaimedEmail } from '../outbox/claim.ts'
import { claimProbe, endProbe, isStillPaused, type Probe, reserveProbes, returnProbe, type VerifyingPause } from '../outbox/probes.ts'
import type { RefusalTiming } from '../outbox/refusals/hold.ts'
import { applyVerdicts, askAgain, hasHeldRefusals, pauseStreaks } from '../outbox/refusals/verdicts.ts'
import type { ReadyEmail } from './build-email.ts'
import type { Dispatcher } from './dispatch.ts'
import type { RefusedDomains } from './limits/refused-domains.ts'
import { wakePaused } from './limits/stored-pauses.ts'
import type { Pipeline } from './pipeline.ts'
import type { SenderShared } from './shared.ts'

/** Sender domains that this worker probes at once. */
const MAX_PROBED = 4
/** Verdicts per transaction. */
const CHUNK = 500

type Deps = SenderShared & {
  prepare: Pipeline['prepare']
  send: Dispatcher['send']
  timing: RefusalTiming
  refusedDomains: RefusedDomains
  /** True while a suspect is sent alone. */
  isExclusive: () => boolean
  /** Emails were queued, or may leave again. */
  onQueued: () => void
}

/**
 * Finds out what held refusals are about, and applies those that stand. A sender domain that is paused for equal refusals is probed with one
 * email at a time. Any number of workers may do this: everything they decide by is in the database.
 */
export function createVerifier(deps: Deps) {
  const { db, worker, readOwners, ledger, health, prepare, send, timing, refusedDomains } = deps
  const { oneAtATime, mayWork, isExclusive, stopping, onQueued, log } = deps
  const isStopping = () => stopping.aborted
  /** The project of each pause that is probed. */
  const probing = new Map<Promise<void>, string>()

  async function verify() {
    if (!mayWork() || !(health.isVerifying() || (await hasHeldRefusals(db)))) return
    while ((await transact(db, (tx) => applyVerdicts(tx, { holdMs: timing.holdMs, limit: CHUNK }))) === CHUNK);
    if (await transact(db, (tx) => askAgain(tx, CHUNK))) onQueued()
    await transact(db, (tx) => pauseStreaks(tx, timing, refusedDomains.onWire()))
    const limit = MAX_PROBED - probing.size
    // While the provider is paused, nothing shows what a refusal is about. The email that probes the provider may be one of these.
    if (limit < 1 || !health.isVerifying() || health.isProviderPaused() || isExclusive()) return
    const due = await transact(db, (tx) => reserveProbes(tx, { probeMs: timing.probeMs, limit, probed: [...probing.values()] }))
    for (const pause of due) {
      const probe = probeDomain(pause)
        .catch((err) => log.warn({ err, domain: pause.domain, projectId: pause.projectId }, 'could not probe a sender domain'))
        .finally(() => probing.delete(probe))
      probing.set(probe, pause.projectId)
    }
  }

  async function probeDomain(pause: VerifyingPause) {
    const probe = await oneAtATime(() => claim(pause))
    if (!probe) return void (await transact(db, (tx) => returnProbe(tx, pause)))
    try {
      if (probe.email) await sendProbe(probe.email)
    } finally {
      // An email that this worker gives back has shown nothing.
      if (isStopping()) await transact(db, (tx) => returnProbe(tx, pause))
    }
    if (isStopping()) return
    const conclusion = await transact(db, async (tx) => {
      const found = await endProbe(tx, pause, probe, timing)
      if (!isStillPaused(found)) await wakePaused(tx, [pause])
      return found
    })
    log.info({ ...pause, conclusion }, 'a sender domain with equal refusals was probed')
    await health.sync()
    if (!isStillPaused(conclusion)) onQueued()
  }

  /**
   * Undefined when this worker may claim none now. Held before anything else runs: the database row of an email that is not held is released to
   * other workers.
   */
  async function claim(pause: VerifyingPause): Promise<Probe | undefined> {
    await readOwners([pause.projectId])
    if (isStopping() || isExclusive()) return undefined
    const probe = await claimProbe(db, worker, pause)
    if (probe.email) ledger.hold(probe.email)
    return probe
  }

  /** Resolves when it is settled, when the time for its reply is over, or when this worker stops. */
  async function sendProbe(email: ClaimedEmail) {
    const built: ReadyEmail[] = []
    const options = {
      asProbes: true,
      onPrepared: (_: ClaimedEmail[], ready: ReadyEmail[]) => void built.push(...ready),
      isStopped: isStopping,
    }
    // After a failure it is not sent, not even if it is ready.
    await prepare([email], options).catch((err) => {
      ledger.release(email)
      throw err
    })
    const [ready] = built
    if (!ready) return ledger.release(email)
    const answered = new AbortController()
    const reply = send(ready).finally(() => answered.abort())
    const signal = AbortSignal.any([stopping, answered.signal])
    await Promise.race([reply, sleep(timing.probeMs, undefined, { signal }).catch(() => {})])
  }

  return { verify, untilProbed: () => Promise.all(probing.keys()) }
}
