import { type Pool, transact } from '../../../db/index.ts'
import { backoffMs } from '../../../lib/concurrency/backoff.ts'
import { createSemaphore } from '../../../lib/concurrency/semaphore.ts'
import type { Log } from '../../../lib/process/log.ts'
import { MINUTE } from '../../../lib/text/units.ts'
import {
  MAX_PAUSES,
  type PauseCause,
  type Paused,
  type PauseFacts,
  PROVIDER,
  readPauses,
  removePauses,
  reserveProbe,
  type StoredSendingPause,
  savePauses,
  wakePaused,
} from './stored-pauses.ts'

/**
 * A relay that restarts is back in seconds, a suspended account in hours, a corrected DNS record in minutes. `probeMs`: time after which another
 * worker may probe, because the worker that reserved the probe may have died. A second probe costs one email, so it is shorter than the longest
 * time a reply may take. `unknownMs`: interval of probes after unknown outcomes. It does not grow, as nothing was refused, and a probe without a
 * reply may need ten minutes to end. `transactionalFirstMs`: for this long only a transactional email may be such a probe. If its outcome is
 * unknown, too, it is sent once more; an email of a campaign fails.
 */
export const PAUSE_TIMING = {
  providerMs: 1_000,
  maxProviderMs: MINUTE,
  domainMs: MINUTE,
  maxDomainMs: 1_800_000,
  probeMs: MINUTE,
  unknownMs: 15_000,
  transactionalFirstMs: 2_000,
}

type Pause = PauseFacts & {
  /** By the monotonic clock of this process. */
  until: number
  /** Until then an email of this process is the probe. It may never report, since the process may give it back. */
  probingUntil: number
  /** Not yet written to the database. */
  unsaved: boolean
}

type PauseDetails = { fingerprint?: string | null | undefined; cause?: PauseCause }

const isProbing = ({ probingUntil }: Pause) => performance.now() < probingUntil

const isProvider = (paused: Paused) => paused.domain === PROVIDER.domain

const keyOf = ({ projectId, domain }: Paused) => `${projectId} ${domain}`

/**
 * Pauses of the provider and of sender domains after refusals. A pause takes effect in this process at once, and through the database in all
 * workers within a second. When its time is over, one email of one worker is sent as a probe: it ends the pause or doubles it.
 */
export function createPauseStore({ db, log, timing = PAUSE_TIMING }: { db: Pool; log: Log; timing?: typeof PAUSE_TIMING | undefined }) {
  const pauses = new Map<string, Pause>()
  const ended = new Map<string, Paused>()
  const inTurn = createSemaphore(1)

  const find = (paused: Paused) => pauses.get(keyOf(paused))

  function durationOf(paused: Paused, failedProbes: number, cause: PauseCause) {
    if (cause === 'unknown') return timing.unknownMs
    const [first, longest] = isProvider(paused) ? [timing.providerMs, timing.maxProviderMs] : [timing.domainMs, timing.maxDomainMs]
    return backoffMs(failedProbes, { first, longest })
  }

  /** Refusals during a pause do not prolong it: they belong to emails that were on the wire already. A refused probe does. */
  function pause(paused: Paused, reason: string, { fingerprint = null, cause = null }: PauseDetails = {}) {
    const known = find(paused)
    if (known && (known.verifies || !isProbing(known))) return
    if (!known && pauses.size >= MAX_PAUSES && !isProvider(paused)) return
    const failedProbes = known ? known.failedProbes + 1 : 0
    const until = performance.now() + durationOf(paused, failedProbes, cause)
    const { projectId, domain } = paused
    const facts = { projectId, domain, reason, fingerprint, cause, failedProbes, verifies: false }
    pauses.set(keyOf(paused), { ...facts, until, probingUntil: 0, unsaved: true })
    ended.delete(keyOf(paused))
    const seconds = Math.round((until - performance.now()) / 1_000)
    const subject = isProvider(paused) ? 'all sending' : 'a sender domain'
    log.error({ ...(isProvider(paused) ? {} : paused), reason, seconds, failedProbes }, `${subject} is refused and paused`)
    void sync().catch(() => {}) // the next periodic sync reports the error
  }

  function end(paused: Paused) {
    if (!pauses.delete(keyOf(paused))) return
    ended.set(keyOf(paused), paused)
    log.info(isProvider(paused) ? {} : paused, 'a sending pause is over')
    void sync().catch(() => {})
  }

  /** Writes the changes of this process and reads those of others. */
  const sync = () =>
    inTurn(async () => {
      const unsaved = [...pauses.values()].filter((each) => each.unsaved)
      const over = [...ended.values()]
      if (unsaved.length || over.length)
        await transact(db, async (tx) => {
          await savePauses(tx, unsaved)
          await removePauses(tx, over)
        })
      for (const each of unsaved) each.unsaved = false
      for (const each of over) ended.delete(keyOf(each))
      adopt(await readPauses(db))
      // Optional: if it fails, these emails are due when their wait is over.
      if (over.length)
        await transact(db, (tx) => wakePaused(tx, over)).catch((err) => log.warn({ err }, 'could not wake emails after a pause'))
    })

  /** Changes of this process since the read are newer than the rows read. */
  function adopt(stored: StoredSendingPause[]) {
    const read = new Set(stored.map(keyOf))
    for (const [key, each] of pauses) if (!read.has(key) && !each.unsaved && !isProbing(each)) pauses.delete(key)
    for (const { secondsLeft, since: _, ...row } of stored) {
      const key = keyOf(row)
      const known = pauses.get(key)
      if (known?.unsaved || (known && isProbing(known)) || ended.has(key)) continue
      pauses.set(key, { ...row, until: performance.now() + secondsLeft * 1_000, probingUntil: 0, unsaved: false })
    }
  }

  let isSyncAhead = false
  /** Several requests while one is ahead are one. */
  function syncSoon() {
    if (isSyncAhead) return
    isSyncAhead = true
    setImmediate(() => {
      isSyncAhead = false
      void sync().catch(() => {}) // the next periodic sync reports the error
    })
  }

  return {
    pause,
    sync,
    syncSoon,
    /** Reserves the probe. False when another worker has it, or before the pause is over. */
    async takeProbe(paused: Paused): Promise<boolean> {
      const due = () => {
        const known = find(paused)
        return known && !known.verifies && !isProbing(known) && performance.now() >= known.until ? known : undefined
      }
      if (!due()) return false
      return inTurn(async () => {
        const known = due()
        if (!known || known.unsaved) return false
        const probeMs = known.cause === 'unknown' ? timing.unknownMs : timing.probeMs
        if (!(await transact(db, (tx) => reserveProbe(tx, paused, probeMs)))) return false
        known.probingUntil = performance.now() + probeMs
        return true
      })
    },
    /** `works`: the pause is over. `undecided`: the probe showed nothing, so another may follow. */
    probed(paused: Paused, result: 'works' | 'undecided') {
      const known = find(paused)
      if (!known || known.verifies) return
      // A success counts however late it is reported.
      if (result === 'works') return end(paused)
      if (!isProbing(known)) return
      Object.assign(known, { probingUntil: 0, unsaved: true, until: performance.now() })
    },
    /** On shutdown: the probes of this process will not report, so other workers may take them at once. */
    release() {
      for (const each of pauses.values())
        if (isProbing(each)) Object.assign(each, { probingUntil: 0, unsaved: true, until: performance.now() })
      return sync()
    },
    ...questionsAbout(pauses),
  }
}

/** Read on every email, so that they cost nothing while there are no pauses. */
function questionsAbout(pauses: ReadonlyMap<string, Pause>) {
  const find = (paused: Paused) => pauses.get(keyOf(paused))
  return {
    isPaused: (paused: Paused) => pauses.size > 0 && find(paused) !== undefined,
    reasonOf: (paused: Paused) => find(paused)?.reason ?? '',
    causeOf: (paused: Paused) => find(paused)?.cause ?? null,
    fingerprintOf: (paused: Paused) => find(paused)?.fingerprint ?? null,
    isDue: (paused: Paused) => performance.now() >= (find(paused)?.until ?? Number.POSITIVE_INFINITY),
    secondsLeft: (paused: Paused) => Math.max(0, ((find(paused)?.until ?? 0) - performance.now()) / 1_000),
    hasPausedDomain: (projectId: string) => pauses.size > 0 && [...pauses.values()].some((each) => each.projectId === projectId),
    hasPauses: () => pauses.size > 0,
    isVerifying: () => pauses.size > 0 && [...pauses.values()].some(({ verifies }) => verifies),
    /** Sender domains of two projects are paused for equal refusals. */
    hasEqualPauses: () => {
      const domains = pauses.size > 1 ? [...pauses.values()].filter((each) => !isProvider(each) && each.fingerprint !== null) : []
      return new Set(domains.map(({ fingerprint }) => fingerprint)).size < domains.length
    },
  }
}
