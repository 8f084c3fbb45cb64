import { sql } from 'kysely'
import { columns, type RowOf } from '../../../db/columns.ts'
import { countAffected, type Db, many, type Tx } from '../../../db/index.ts'
import { insertRows, recordset } from '../../../db/rows.ts'
import { ownerSql } from '../../../ledger/owner-sql.ts'
import { NIL_ID } from '../../../lib/id.ts'
import { storable } from '../../../lib/text/storable.ts'

/** The subject of a pause: a sender domain of a project, or the provider, which has neither. */
export type Paused = { projectId: string; domain: string }
export const PROVIDER: Paused = { projectId: NIL_ID, domain: '' }

/** What a pause is known to come from; null if only a reply is known. `unknown`: outcomes in a row that were unknown. */
export type PauseCause = 'quota' | 'unknown' | null

/** `verifies`: for equal refusals; `verify.ts` chooses the probes and ends the pause, in the database. A worker only keeps emails back. */
const FACTS = columns('sending_pauses', '', ['projectId', 'domain', 'reason', 'fingerprint', 'cause', 'failedProbes', 'verifies'])
export type PauseFacts = RowOf<typeof FACTS> & { cause: PauseCause }
export type StoredSendingPause = PauseFacts & { since: Date; secondsLeft: number }

/** Bounds memory; far beyond any real number of pauses. */
export const MAX_PAUSES = 10_000

/** Newest first. A pause with a probe under way counts as not yet due. */
export const readPauses = (db: Db) =>
  many<StoredSendingPause>(db)`
    select ${FACTS}, since,
      extract(epoch from greatest(until, probe_until) - now())::float8 as "secondsLeft"
    from sending_pauses order by since desc limit ${MAX_PAUSES}
  `

/** `until`: by the monotonic clock of this process. */
export async function savePauses(tx: Tx, pauses: (PauseFacts & { until: number })[]) {
  if (!pauses.length) return
  const rows = pauses.map(({ reason, fingerprint, until, ...pause }) => ({
    ...pause,
    // storable after slice, which may split a surrogate pair.
    reason: storable(reason.slice(0, 1_000)),
    fingerprint: fingerprint === null ? null : storable(fingerprint),
    seconds: (until - performance.now()) / 1_000,
  }))
  await sql`
    ${insertRows('sending_pauses', rows, ['projectId', 'domain', 'reason', 'fingerprint', 'cause', 'failedProbes'], {
      set: { until: sql`now() + make_interval(secs => r.seconds)` },
      more: { seconds: 'float8' },
    })}
    order by 1, 2 -- consistent lock order: avoids deadlocks
    on conflict (project_id, domain) do update set reason = excluded.reason, fingerprint = coalesce(excluded.fingerprint, t.fingerprint),
      cause = excluded.cause, failed_probes = greatest(t.failed_probes, excluded.failed_probes), until = excluded.until, probe_until = null
    where not t.verifies
  `.execute(tx)
}

/** Emails made due at once when a pause ends. The rest are due when their wait is over. */
const MAX_WOKEN = 5_000

export async function removePauses(tx: Tx, paused: Paused[]) {
  if (!paused.length) return
  await sql`
    delete from sending_pauses p using ${recordset('sending_pauses', paused, ['projectId', 'domain'])} as r
    where p.project_id = r."projectId" and p.domain = r.domain and not p.verifies
  `.execute(tx)
}

/** Makes emails due at once that were deferred because of the pause. */
export async function wakePaused(tx: Tx, paused: Paused[]) {
  await sql`
    update emails set due_at = now()
    where (project_id, id) in (
      select project_id, id from emails
      where state = 'deferred' and error_code = 'domain_paused' and due_at > now()
        and project_id in (select "projectId" from ${recordset('sending_pauses', paused, ['projectId'])} as r)
      order by due_at limit ${MAX_WOKEN} for update skip locked)
  `.execute(tx)
}

/** False when another worker has it, or before the pause is over. */
export async function reserveProbe(tx: Tx, { projectId, domain }: Paused, probeMs: number) {
  const reserved = await countAffected(tx)`
    update sending_pauses set probe_until = now() + make_interval(secs => ${probeMs / 1_000})
    where project_id = ${projectId} and domain = ${domain} and not verifies and until <= now() + interval '100 ms'
      and (probe_until is null or probe_until < now())
  `
  return reserved > 0
}

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
