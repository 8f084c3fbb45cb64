import { sql } from 'kysely'
import { type Db, maybeOne, scalar, type Tx } from '../db/index.ts'
import type { ServerIdentity } from './failover.ts'

/** The timeline on which this server writes. */
export const CURRENT_TIMELINE = sql<string>`left(pg_walfile_name(pg_current_wal_lsn()), 8)`

export const SERVER_IDENTITY = sql<ServerIdentity>`(select system_identifier from pg_control_system()) || '/' || ${CURRENT_TIMELINE}`

export const readServerIdentity = (db: Db) => scalar<ServerIdentity>(db)`select ${SERVER_IDENTITY}`

type KnownServer = { identity: ServerIdentity | null; isProven: boolean; isHeld: boolean; hasLeftLately: boolean }

/** Longer than nodes stand still for a planned switchover. */
const LATELY = sql`interval '1 hour'`

/** Locks the row of the installation: nodes that meet a new server take turns. */
export const lockKnownServer = (tx: Tx) =>
  maybeOne<KnownServer>(tx)`
    select database_identity as identity, database_proven as "isProven", sending_waits_before is not null as "isHeld",
      coalesce(workers_left_at > now() - ${LATELY}, true) as "hasLeftLately"
    from instance for update
  `

/** Another server than before, or the first one. */
export const recordServer = (tx: Tx, identity: ServerIdentity) =>
  sql`update instance set database_identity = ${identity}, database_changed_at = now(), database_proven = false`.execute(tx)

/** A worker stops in order. */
export const recordLeaving = (tx: Tx) => sql`update instance set workers_left_at = now()`.execute(tx)

/** A worker has found its counter on the present server. */
export const recordProof = (tx: Tx) => sql`update instance set database_proven = true where not database_proven`.execute(tx)
