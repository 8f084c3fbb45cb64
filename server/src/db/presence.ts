import { randomInt } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import pg from 'pg'
import type { TransportKind } from '../lib/config.ts'
import type { Log } from '../lib/log.ts'
import { createRareWarning } from '../lib/rare-warning.ts'
import { type Db, many, one } from './index.ts'

/** First half of every liveness lock. The second half of the shared one says what the process is, of its own one which. */
const CLASS = 7_357_002
const OWN_CLASS = 7_357_004
const KINDS = { api: 1, worker: 2 } as const
const RECONNECT_MS = 500
/** Heartbeat interval, and the deadline for every answer: a network that drops packets reports no error. */
type Timing = { heartbeatMs: number; deadlineMs: number }
const TIMING: Timing = { heartbeatMs: 2_000, deadlineMs: 3_000 }
const GOODBYE_MS = 1_000

export type Presence = {
  key: number
  /** False while this process counts as dead. It must not claim anything then: others would take it away again. */
  isHeld(): boolean
  leave(): Promise<void>
}

type Options = { url: string; kind: keyof typeof KINDS; transport?: TransportKind | undefined; log: Log; timing?: Timing }

/**
 * Holds a shared session lock for as long as this process lives: PostgreSQL frees it within milliseconds of a kill -9,
 * so counting the holders counts the living. A heartbeat finds out when the connection is dead; then the lock is taken on another one.
 */
export async function announce({ url, kind, transport, log, timing = TIMING }: Options): Promise<Presence> {
  const key = randomInt(2 ** 31)
  const over = new AbortController()
  let client: pg.Client | undefined
  let held = false
  const inTime = <T>(work: Promise<T>) => within(timing.deadlineMs, work)

  async function join({ again = false } = {}) {
    const joining = new pg.Client({
      connectionString: url,
      application_name: `sterna-${kind}:${process.pid}`,
      keepAlive: true,
      connectionTimeoutMillis: timing.deadlineMs,
      // A machine that loses its power says no goodbye; the server must find out in seconds, or its lock outlives it by hours.
      options: '-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3',
    })
    const lost = () => {
      if (client === joining) held = false
    }
    joining.on('error', lost)
    joining.once('end', lost)
    client = joining
    try {
      await joining.connect()
      if (again) await inTime(freeOwnLock(joining, key))
      await inTime(takeLocks(joining, kind, key))
      // With the lock in hand: from now on no other node changes the transport.
      if (again && transport) await inTime(requireTransport(joining, transport))
      held = true
    } catch (err) {
      destroy(joining)
      throw err
    }
  }

  async function stay() {
    while (!over.signal.aborted) {
      const former = client!
      const reason = await beatUntilLost(former, timing, over.signal)
      held = false
      if (over.signal.aborted) return
      log.warn({ reason }, 'lost the liveness connection; nothing is claimed until it is back')
      // Not before: should the server only be slow, the lock passes to the new connection without a gap.
      await rejoin().finally(() => destroy(former))
    }
  }

  async function rejoin() {
    const warn = createRareWarning(log)
    while (!held) {
      await pause(RECONNECT_MS, over.signal)
      if (over.signal.aborted) return
      await join({ again: true }).catch((err: Error) => warn({ reason: err.message }, 'could not take the liveness lock; trying again'))
    }
    log.info({}, 'the liveness connection is back')
  }

  await join()
  const staying = stay()
  return {
    key,
    isHeld: () => held,
    async leave() {
      over.abort()
      held = false
      await Promise.race([sayGoodbye(client!).catch(() => {}), sleep(GOODBYE_MS, undefined, { ref: false })])
      destroy(client)
      await staying
    },
  }
}

/** The lock is free when this returns; the end of a connection would free it a moment later. */
async function sayGoodbye(client: pg.Client) {
  await client.query('select pg_advisory_unlock_all()')
  await client.end()
}

/** Returns the reason. */
async function beatUntilLost(client: pg.Client, { heartbeatMs, deadlineMs }: Timing, signal: AbortSignal): Promise<string> {
  const ended = new Promise<string>((resolve) => client.once('end', () => resolve('the connection was closed')))
  const beat = async () => {
    for (;;) {
      await pause(heartbeatMs, signal)
      if (signal.aborted) return 'left'
      await within(deadlineMs, client.query('select 1'))
    }
  }
  return Promise.race([ended, beat().catch((err: Error) => err.message)])
}

const pause = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal, ref: false }).catch(() => {})

/** After a blocked event loop the deadline fires before the answer is read, so the answer gets one more turn of the loop. */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => setImmediate(reject, new Error('no answer in time')), ms).unref()
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

/** At once, without a goodbye that a dead network would never carry. */
function destroy(client: pg.Client | undefined) {
  const { connection } = (client ?? {}) as { connection?: { stream?: Duplex } }
  connection?.stream?.destroy()
}

const takeLocks = (client: pg.Client, kind: keyof typeof KINDS, key: number) =>
  client.query('select pg_advisory_lock_shared($1, $2), pg_advisory_lock($3, $4)', [CLASS, KINDS[kind], OWN_CLASS, key])

/** The server may not know yet that the former connection is dead; until then it would keep this process from its own lock. */
const freeOwnLock = (client: pg.Client, key: number) =>
  client.query(
    `select pg_terminate_backend(pid) from pg_locks
      where locktype = 'advisory' and classid = $1 and objid::bigint = $2 and pid <> pg_backend_pid()
        and database = (select oid from pg_database where datname = current_database())`,
    [OWN_CLASS, key],
  )

/** While this process counted as dead, another node may have changed how email leaves. `for share` waits for one that is about to. */
async function requireTransport(client: pg.Client, ours: TransportKind) {
  const { rows } = await client.query<{ transport: TransportKind }>('select transport from instance for share')
  const stored = rows[0]?.transport
  if (stored !== ours) throw new Error(`this installation now sends by ${stored}, not ${ours}; restart this node with the same settings`)
}

const HERE = sql`database = (select oid from pg_database where datname = current_database())`

export async function countPresent(db: Db, kind: keyof typeof KINDS) {
  const { count } = await one(
    db,
    sql<{ count: number }>`
      select count(*)::int as count from pg_locks
      where locktype = 'advisory' and classid = ${CLASS} and objid = ${KINDS[kind]} and ${HERE}
    `,
  )
  return count
}

/** Enough to find them. */
const LISTED = 10

/** Every node that lives, as role, process id and address. */
export async function listPresent(db: Db) {
  const rows = await many(
    db,
    sql<{ name: string }>`
      select a.application_name || coalesce(' at ' || host(a.client_addr), '') as name
      from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.classid = ${CLASS} and l.granted and ${HERE}
      order by 1 limit ${LISTED}
    `,
  )
  return rows.map(({ name }) => name)
}

/** True in a statement for a process that is gone: its own lock can be had. Held until the transaction ends. */
export const isGone = (key: RawBuilder<number>) => sql<boolean>`pg_try_advisory_xact_lock(${OWN_CLASS}::int, ${key}::int)`

/** True in a statement while that process holds its own lock, whatever it believes itself. */
export const isPresent = (key: number) => sql<boolean>`exists (
  select from pg_locks
  where locktype = 'advisory' and classid = ${OWN_CLASS} and objid::bigint = ${key}::bigint and granted and ${HERE})`

const STEADY = sql`interval '1.5 s'`

/**
 * True in a statement when that process has held its lock for a while. After a restart of the database all locks are free until their
 * holders are back: whoever has only just come back must not take the others for dead.
 */
export const isSteady = (key: number) => sql<boolean>`exists (
  select from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where l.locktype = 'advisory' and l.classid = ${OWN_CLASS} and l.objid::bigint = ${key}::bigint and l.granted
    and ${HERE}
    and a.backend_start < now() - ${STEADY})`
