import { sql } from 'kysely'
import { one, type Tx } from '../../../db/index.ts'
import { prepared } from '../../../db/prepared.ts'
import { type FailoverMode, holdAfterSilence, type ServerIdentity, serverTimelineOf } from '../../../nodes/failover.ts'
import { isPresent } from '../../../nodes/presence.ts'
import { holdPartially } from '../../../nodes/sending-hold.ts'
import { CURRENT_TIMELINE, lockKnownServer, recordLeaving, SERVER_IDENTITY } from '../../../nodes/server-identity.ts'
import type { RateSlowdown } from '../streams/slowdowns.ts'

/**
 * SQL query, with a row for a worker that may claim: it has a lease, and all workers have compared their counters with this server. Until then an
 * email that another worker has sent may be queued here. The lock keeps others from declaring the worker dead meanwhile.
 */
export const leaseOf = (worker: number) => sql`
  select from senders where worker = ${worker} and lease_until > now()
    and not exists (select from senders other where other.timeline <> ${CURRENT_TIMELINE}) for key share`

/** SQL condition: false for a worker that has not compared its counter with this server. */
export const hasCompared = (worker: number) =>
  sql<boolean>`not exists (select from senders mine where mine.worker = ${worker} and mine.timeline <> ${CURRENT_TIMELINE})`

/** `isSilent`: gone without having compared its counter. Null: of an earlier version. */
export type DeadWorker = { worker: number; isSilent: boolean | null }

/** Since workers are gone that were running at a failover, part of what they settled last may be missing. */
export async function holdForSilent(tx: Tx, mode: FailoverMode) {
  const server = await lockKnownServer(tx)
  const needed = server && holdAfterSilence({ ...server, mode })
  if (needed) await holdPartially(tx, { ...needed, reason: SILENT })
}

const SILENT = 'a standby took over, and a worker that may know of lost commits is gone'

type Beat = { worker: number; leaseMs: number; slowedBy: RateSlowdown | null; counter: number; server: ServerIdentity }
type BeatAnswer = {
  found: ServerIdentity
  /** Null: without a lease, since the worker has lost its lock, or has met another server. */
  counter: string | null
  /** Whether other workers are dead, or have not compared their counters. */
  hasSilent: boolean
}

/**
 * Renews the lease of a worker and commits its counter, unless this is another server than the worker knows. Without lease and presence lock its
 * emails go to others. A worker that lost its lock without noticing gets no lease: it would claim again and again what others recover.
 */
export const beat = (tx: Tx, { worker, leaseMs, slowedBy, counter, server }: Beat) =>
  one(
    tx,
    prepared<BeatAnswer>`
    with here as materialized (
      select ${SERVER_IDENTITY} as found
    ), renewed as (
      insert into senders (worker, lease_until, slowed_by, counter, timeline)
      select ${worker}, now() + make_interval(secs => ${leaseMs / 1_000}), ${slowedBy}, ${counter}, ${serverTimelineOf(server)}
      from here where found = ${server} and ${isPresent(worker)}
      on conflict (worker) do update set lease_until = excluded.lease_until, slowed_by = excluded.slowed_by, counter = excluded.counter
      returning counter
    )
    select found, (select counter from renewed) as counter, exists (
      select from senders s where s.worker <> ${worker} and (s.lease_until < now() or s.timeline <> ${CURRENT_TIMELINE})) as "hasSilent"
    from here
  `,
  )

/** The counter of a worker as this server has it; undefined without one. Of others, the number that have not compared theirs. */
export async function readCounters(tx: Tx, worker: number): Promise<{ stored: number | undefined; silent: number }> {
  const row = await one<{ stored: string | null; silent: number }>(tx)`
    select (select counter from senders where worker = ${worker}) as stored,
      (select count(*)::int from senders where worker <> ${worker} and (timeline = ${CURRENT_TIMELINE}) is not true) as silent
  `
  return { stored: row.stored === null ? undefined : Number(row.stored), silent: row.silent }
}

/** Nobody is declared dead by a lease that ended while there was no server. */
export const extendLeases = (tx: Tx, leaseMs: number) =>
  sql`
    update senders set lease_until = greatest(lease_until, now() + make_interval(secs => ${leaseMs / 1_000}))
    where timeline <> ${CURRENT_TIMELINE}
  `.execute(tx)

/** The worker has repeated what it settled: from its side, claims may go on. */
export const recordCompared = (tx: Tx, worker: number) =>
  sql`update senders set timeline = ${CURRENT_TIMELINE} where worker = ${worker}`.execute(tx)

/** The last commit of a worker that stops in order. It shows later that nothing of it is missing. */
export async function leaveWorkers(tx: Tx, worker: number) {
  await recordLeaving(tx)
  await sql`
    delete from senders where worker = ${worker} and not exists (select from emails where state = 'sending' and worker = ${worker} order by worker)
  `.execute(tx)
}
