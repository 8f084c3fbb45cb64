import { setTimeout as sleep } from 'node:timers/promises'
import { transact } from '../../db/index.ts'
import type { ClaimedEmail } from '../outbox/claim.ts'
import type { RefusalTiming } from '../outbox/refusals/hold.ts'
import {
  claimProbes,
  endProbes,
  isStillPaused,
  type Probes,
  reserveProbes,
  returnProbes,
  type VerifyingPause,
} from '../outbox/refusals/probes.ts'
import { applyVerdicts, hasHeldRefusals, pauseStreaks } from '../outbox/refusals/verdicts.ts'
import type { ReadyEmail } from './build-email.ts'
import type { Dispatcher } from './dispatch.ts'
import { wakePaused } from './limits/stored-pauses.ts'
import type { Pipeline } from './pipeline.ts'
import type { SenderShared } from './shared.ts'

/** Sender domains that this worker probes at once, with two emails each. */
const MAX_PROBED = 4
/** Verdicts per transaction. */
const CHUNK = 500

type Deps = SenderShared & {
  prepare: Pipeline['prepare']
  send: Dispatcher['send']
  timing: RefusalTiming
  /** True while a suspect is sent alone. */
  isExclusive: () => boolean
  /** Emails were queued, or may leave again. */
  onQueued: () => void
}

/**
 * Finds out what held refusals are about, and applies those that stand. A sender domain that is paused for equal refusals is probed with two
 * emails: one that was refused so, and another one. Any number of workers may do this: everything they decide by is in the database.
 */
export function createVerifier(deps: Deps) {
  const { db, worker, readOwners, ledger, health, prepare, send, timing, oneAtATime, mayWork, isExclusive, stopping, onQueued, log } = deps
  const isStopping = () => stopping.aborted
  /** The project of each pause that is probed. */
  const probing = new Map<Promise<void>, string>()

  async function verify() {
    if (!mayWork() || !(health.isVerifying() || (await hasHeldRefusals(db)))) return
    while ((await transact(db, (tx) => applyVerdicts(tx, { holdMs: timing.holdMs, limit: CHUNK }))) === CHUNK);
    await transact(db, (tx) => pauseStreaks(tx, timing))
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
    const probes = await oneAtATime(() => claim(pause))
    if (!probes) return void (await transact(db, (tx) => returnProbes(tx, pause)))
    try {
      await sendAll([probes.held, probes.other].filter((email) => email !== undefined))
    } finally {
      // Emails that this worker gives back have shown nothing.
      if (isStopping()) await transact(db, (tx) => returnProbes(tx, pause))
    }
    if (isStopping()) return
    const conclusion = await transact(db, async (tx) => {
      const found = await endProbes(tx, pause, probes, timing)
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
  async function claim(pause: VerifyingPause): Promise<Probes | undefined> {
    await readOwners([pause.projectId])
    if (isStopping() || isExclusive()) return undefined
    const probes = await claimProbes(db, worker, pause)
    for (const email of [probes.held, probes.other]) if (email) ledger.hold(email)
    return probes
  }

  /** Resolves when they are settled, when the time for their replies is over, or when this worker stops. */
  async function sendAll(emails: ClaimedEmail[]) {
    const ready: ReadyEmail[] = []
    const options = {
      asProbes: true,
      onPrepared: (_: ClaimedEmail[], built: ReadyEmail[]) => void ready.push(...built),
      isStopped: isStopping,
    }
    const release = () => {
      for (const email of emails) if (!ready.some((each) => each.email === email)) ledger.release(email)
    }
    // After a failure none of them is sent, not even one that is ready.
    const giveBack = (err: unknown) => {
      ready.length = 0
      throw err
    }
    if (emails.length) await prepare(emails, options).catch(giveBack).finally(release)
    const answered = new AbortController()
    const replies = Promise.all(ready.map((each) => send(each))).finally(() => answered.abort())
    const signal = AbortSignal.any([stopping, answered.signal])
    await Promise.race([replies, sleep(timing.probeMs, undefined, { signal }).catch(() => {})])
  }

  return { verify, untilProbed: () => Promise.all(probing.keys()) }
}
