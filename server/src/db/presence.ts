import { randomInt } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import pg from 'pg'
import type { Log } from '../lib/log.ts'
import { type Db, one } from './index.ts'

/** First half of every liveness lock. The second half of the shared one says what the process is, of its own one which. */
const CLASS = 7_357_002
const OWN_CLASS = 7_357_004
const KINDS = { api: 1, worker: 2 } as const
const RECONNECT_MS = 500

export type Presence = { key: number; leave(): Promise<void> }

/**
 * Holds a shared session lock for as long as this process lives: PostgreSQL frees it within milliseconds of a kill -9,
 * so counting the holders counts the living. Comes back by itself after the database was away.
 */
export async function announce({ url, kind, log }: { url: string; kind: keyof typeof KINDS; log: Log }): Promise<Presence> {
  const key = randomInt(2 ** 31)
  let client: pg.Client | undefined
  let retry: NodeJS.Timeout | undefined
  let left = false

  const join = async () => {
    const joining = new pg.Client({
      connectionString: url,
      application_name: `sterna-${kind}:${process.pid}`,
      keepAlive: true,
      connectionTimeoutMillis: 3_000,
      // A machine that loses its power says no goodbye; the server must find out in seconds, or its lock outlives it by hours.
      options: '-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3',
    })
    joining.on('error', (err) => left || log.warn({ reason: err.message }, 'lost the liveness connection'))
    joining.once('end', rejoin)
    client = joining
    await joining.connect()
    await joining.query('select pg_advisory_lock_shared($1, $2), pg_advisory_lock($3, $4)', [CLASS, KINDS[kind], OWN_CLASS, key])
  }
  const rejoin = () => {
    if (left) return
    clearTimeout(retry)
    retry = setTimeout(() => join().catch(giveUp), RECONNECT_MS).unref()
  }

  /** Half a presence is none: the connection goes, and its end starts the next try. */
  const giveUp = () => {
    client?.end().catch(() => {})
    rejoin()
  }

  await join()
  return {
    key,
    async leave() {
      left = true
      clearTimeout(retry)
      await client?.end().catch(() => {})
    },
  }
}

export async function countPresent(db: Db, kind: keyof typeof KINDS) {
  const { count } = await one(
    db,
    sql<{ count: number }>`
      select count(*)::int as count from pg_locks
      where locktype = 'advisory' and classid = ${CLASS} and objid = ${KINDS[kind]}
        and database = (select oid from pg_database where datname = current_database())
    `,
  )
  return count
}

/** True in a statement for a process that is gone: its own lock can be had. Held until the transaction ends. */
export const isGone = (key: RawBuilder<number>) => sql<boolean>`pg_try_advisory_xact_lock(${OWN_CLASS}::int, ${key}::int)`

const STEADY = sql`interval '1.5 s'`

/**
 * True in a statement when that process has held its lock for a while. After a restart of the database all locks are free until their
 * holders are back: whoever has only just come back must not take the others for dead.
 */
export const isSteady = (key: number) => sql<boolean>`exists (
  select from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where l.locktype = 'advisory' and l.classid = ${OWN_CLASS} and l.objid::bigint = ${key}::bigint and l.granted
    and l.database = (select oid from pg_database where datname = current_database())
    and a.backend_start < now() - ${STEADY})`
