import { sql } from 'kysely'
import { type Db, many, type Pool, type Tx, transact } from '../../../db/index.ts'
import { ownerSql } from '../../../ledger/owner-sql.ts'
import { createSemaphore } from '../../../lib/concurrency/semaphore.ts'
import { NIL_ID } from '../../../lib/id.ts'
import type { Log } from '../../../lib/log.ts'
import { storable } from '../../../lib/text/storable.ts'
import { MINUTE } from '../../../lib/text/units.ts'

/** The subject of a pause: a sender domain of a project, or the provider, which has neither. */
export type Paused = { projectId: string; domain: string }
export const PROVIDER: Paused = { projectId: NIL_ID, domain: '' }

/** `probeMs`: time after which another worker may probe, because the worker that reserved the probe may have died. */
export type PauseTiming = { providerMs: number; maxProviderMs: number; domainMs: number; maxDomainMs: number; probeMs: number }
/**
 * A relay that restarts is back in seconds, a suspended account in hours, a corrected DNS record in minutes. A second probe costs one email,
 * so `probeMs` is shorter than the longest time a reply may take.
 */
export const PAUSE_TIMING: PauseTiming = {
  providerMs: 1_000,
  maxProviderMs: MINUTE,
  domainMs: MINUTE,
  maxDomainMs: 1_800_000,
  probeMs: MINUTE,
}

/** What a pause is known to come from; null if only a reply is known. */
type PauseCause = 'quota' | null

type Pause = Paused & {
  reason: string
  fingerprint: string | null
  cause: PauseCause
  failedProbes: number
  /** Paused for equal refusals: `verify.ts` chooses the probes and ends the pause, in the database. Here it only keeps emails back. */
  verifies: boolean
  /** By the monotonic clock of this process. */
  until: number
  /** Until then an email of this process is the probe. It may never report, since the process may give it back. */
  probingUntil: number
  /** Not yet written to the database. */
  unsaved: boolean
}

/** Bounds memory; far beyond any real number of pauses. */
const MAX_PAUSES = 10_000

const isProbing = ({ probingUntil }: Pause) => performance.now() < probingUntil

const keyOf = ({ projectId, domain }: Paused) => `${projectId} ${domain}`

/**
 * Pauses of the provider and of sender domains after refusals. A pause takes effect in this process at once, and through the database in all
 * workers within a second. When its time is over, one email of one worker is sent as a probe: it ends the pause or doubles it.
 */
export function createPauseStore({ db, log, timing = PAUSE_TIMING }: { db: Pool; log: Log; timing?: PauseTiming }) {
  const pauses = new Map<string, Pause>()
  const ended = new Map<string, Paused>()
  const inTurn = createSemaphore(1)

  const find = (paused: Paused) => pauses.get(keyOf(paused))
  const isProvider = (paused: Paused) => paused.domain === PROVIDER.domain

  function durationOf(paused: Paused, failedProbes: number) {
    const [first, longest] = isProvider(paused) ? [timing.providerMs, timing.maxProviderMs] : [timing.domainMs, timing.maxDomainMs]
    return Math.min(longest, first * 2 ** Math.min(failedProbes, 30))
  }

  /** Refusals during a pause do not prolong it: they belong to emails that were on the wire already. A refused probe does. */
  function pause(paused: Paused, reason: string, { fingerprint = null, cause = null }: PauseDetails = {}) {
    const known = find(paused)
    if (known && (known.verifies || !isProbing(known))) return
    if (!known && pauses.size >= MAX_PAUSES && !isProvider(paused)) return
    const failedProbes = known ? known.failedProbes + 1 : 0
    const until = performance.now() + durationOf(paused, failedProbes)
    const { projectId, domain } = paused
    const state = { failedProbes, verifies: false, until, probingUntil: 0, unsaved: true }
    pauses.set(keyOf(paused), { projectId, domain, reason, fingerprint, cause, ...state })
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
          await save(tx, unsaved)
          await remove(tx, over)
        })
      for (const each of unsaved) each.unsaved = false
      for (const each of over) ended.delete(keyOf(each))
      adopt(await readPauses(db))
      // Optional: if it fails, these emails are due when their wait is over.
      if (over.length)
        await transact(db, (tx) => wakePaused(tx, over)).catch((err) => log.warn({ err }, 'could not wake emails after a pause'))
    })

  /** Changes of this process since the read are newer than the rows read. */
  function adopt(stored: StoredPause[]) {
    const read = new Set(stored.map(keyOf))
    for (const [key, each] of pauses) if (!read.has(key) && !each.unsaved && !isProbing(each)) pauses.delete(key)
    for (const { secondsLeft, projectId, domain, reason, fingerprint, cause, failedProbes, verifies } of stored) {
      const known = pauses.get(keyOf({ projectId, domain }))
      if (known?.unsaved || (known && isProbing(known)) || ended.has(keyOf({ projectId, domain }))) continue
      const until = performance.now() + secondsLeft * 1_000
      pauses.set(keyOf({ projectId, domain }), {
        projectId,
        domain,
        reason,
        fingerprint,
        cause,
        failedProbes,
        verifies,
        until,
        probingUntil: 0,
        unsaved: false,
      })
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
        if (!known || known.unsaved || !(await reserveProbe(db, paused, timing.probeMs))) return false
        known.probingUntil = performance.now() + timing.probeMs
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
    isPaused: (paused: Paused) => pauses.size > 0 && find(paused) !== undefined,
    reasonOf: (paused: Paused) => find(paused)?.reason ?? '',
    fingerprintOf: (paused: Paused) => find(paused)?.fingerprint ?? null,
    isDue: (paused: Paused) => performance.now() >= (find(paused)?.until ?? Number.POSITIVE_INFINITY),
    secondsLeft: (paused: Paused) => Math.max(0, ((find(paused)?.until ?? 0) - performance.now()) / 1_000),
    hasPausedDomain: (projectId: string) => pauses.size > 0 && [...pauses.values()].some((each) => each.projectId === projectId),
    isVerifying: () => pauses.size > 0 && [...pauses.values()].some(({ verifies }) => verifies),
    /** Sender domains of two projects are paused for equal refusals. */
    hasEqualPauses: () => {
      const domains = pauses.size > 1 ? [...pauses.values()].filter((each) => !isProvider(each) && each.fingerprint !== null) : []
      return new Set(domains.map(({ fingerprint }) => fingerprint)).size < domains.length
    },
  }
}

type PauseDetails = { fingerprint?: string | null | undefined; cause?: PauseCause }

type StoredPause = Paused & {
  reason: string
  fingerprint: string | null
  cause: PauseCause
  failedProbes: number
  verifies: boolean
  since: Date
  secondsLeft: number
}

/** Newest first. A pause with a probe under way counts as not yet due. */
export const readPauses = (db: Db) =>
  many<StoredPause>(db)`
    select project_id as "projectId", domain, reason, fingerprint, cause, failed_probes as "failedProbes", verifies, since,
      extract(epoch from greatest(until, probe_until) - now())::float8 as "secondsLeft"
    from sending_pauses order by since desc limit ${MAX_PAUSES}
  `

async function save(tx: Tx, pauses: Pause[]) {
  if (!pauses.length) return
  const rows = pauses.map(({ projectId, domain, reason, fingerprint, cause, failedProbes, until }) => ({
    projectId,
    domain,
    // storable after slice, which may split a surrogate pair.
    reason: storable(reason.slice(0, 1_000)),
    fingerprint: fingerprint === null ? null : storable(fingerprint),
    cause,
    failedProbes,
    seconds: (until - performance.now()) / 1_000,
  }))
  await sql`
    insert into sending_pauses as p (project_id, domain, reason, fingerprint, cause, failed_probes, until)
    select "projectId", domain, reason, fingerprint, cause, "failedProbes", now() + make_interval(secs => seconds)
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r(
      "projectId" uuid, domain text, reason text, fingerprint text, cause text, "failedProbes" int, seconds float8)
    order by 1, 2 -- consistent lock order: avoids deadlocks
    on conflict (project_id, domain) do update set reason = excluded.reason, fingerprint = coalesce(excluded.fingerprint, p.fingerprint),
      cause = excluded.cause, failed_probes = greatest(p.failed_probes, excluded.failed_probes), until = excluded.until, probe_until = null
    where not p.verifies
  `.execute(tx)
}

/** Emails made due at once when a pause ends. The rest are due when their wait is over. */
const MAX_WOKEN = 5_000

async function remove(tx: Tx, paused: Paused[]) {
  if (!paused.length) return
  const rows = JSON.stringify(paused.map(({ projectId, domain }) => ({ projectId, domain })))
  await sql`
    delete from sending_pauses p using jsonb_to_recordset(${rows}::jsonb) as r("projectId" uuid, domain text)
    where p.project_id = r."projectId" and p.domain = r.domain and not p.verifies
  `.execute(tx)
}

/** Makes emails due at once that were deferred because of the pause. */
export async function wakePaused(tx: Tx, paused: Paused[]) {
  const rows = JSON.stringify(paused.map(({ projectId }) => ({ projectId })))
  await sql`
    update emails set due_at = now()
    where (project_id, id) in (
      select project_id, id from emails
      where state = 'deferred' and error_code = 'domain_paused' and due_at > now()
        and project_id in (select "projectId" from jsonb_to_recordset(${rows}::jsonb) as r("projectId" uuid))
      order by due_at limit ${MAX_WOKEN} for update skip locked)
  `.execute(tx)
}

const reserveProbe = async (db: Pool, { projectId, domain }: Paused, probeMs: number) =>
  (
    await transact(
      db,
      (tx) =>
        many(tx)`
        update sending_pauses set probe_until = now() + make_interval(secs => ${probeMs / 1_000})
        where project_id = ${projectId} and domain = ${domain} and not verifies and until <= now() + interval '100 ms'
          and (probe_until is null or probe_until < now())
        returning 1
      `,
    )
  ).length > 0

/**
 * Reasons to pause the provider: domains of two owners were paused for equal refusals within a minute. Each pause counts once, so that a provider
 * that works again is not paused for what is over. One owner never pauses it, with however many domains.
 */
export const takeReasonsToPauseProvider = (tx: Tx) =>
  many<{ reason: string; fingerprint: string }>(tx)`
    update sending_pauses p set escalated = true
    from (
      select s.fingerprint from sending_pauses s
      where s.domain <> '' and s.fingerprint is not null and not s.escalated and s.since > now() - interval '1 minute'
      group by 1 having count(distinct ${ownerSql(sql`s.project_id`)}) >= 2
    ) as equal
    where p.domain <> '' and p.fingerprint = equal.fingerprint and not p.escalated and p.since > now() - interval '1 minute'
    returning p.reason, p.fingerprint
  `

/** How long a pause without probes is kept: its project may have stopped sending. */
const KEPT_DAYS = 7

/** Deletes pauses of deleted domains, and those without a probe for long. */
export const dropOldPauses = (tx: Tx) =>
  sql`
    delete from sending_pauses p
    where p.domain <> '' and (until < now() - make_interval(days => ${KEPT_DAYS})
      or not exists (select from domains d where d.project_id = p.project_id and d.domain = p.domain))
  `.execute(tx)
