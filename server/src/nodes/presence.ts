import { randomInt } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import pg from 'pg'
import type { Outages } from '../db/connections/outages.ts'
import { type Db, scalar, scalars } from '../db/index.ts'
import type { TransportKind } from '../lib/config.ts'
import type { Log } from '../lib/process/log.ts'
import { createRareWarning } from '../lib/process/rare-warning.ts'

/** Lock classes. The second key of the shared lock is the kind of the process, that of its own lock the process. */
const CLASS = 7_357_002
const OWN_CLASS = 7_357_004
const KINDS = { api: 1, worker: 2 } as const
const RECONNECT_MS = 500
/** Heartbeat interval, and the deadline for every reply: a network that drops packets reports no error. */
type Timing = { heartbeatMs: number; deadlineMs: number }
const TIMING: Timing = { heartbeatMs: 2_000, deadlineMs: 3_000 }
const LEAVE_MS = 1_000

export type Presence = {
  key: number
  /** False while this process counts as dead. It must not claim work then: other processes would take it over. */
  isHeld(): boolean
  leave(): Promise<void>
}

type Options = {
  url: string
  kind: keyof typeof KINDS
  /** A node that serves the API may be a worker too. */
  isWorker?: boolean
  transport?: TransportKind | undefined
  log: Log
  timing?: Timing
  outages?: Outages | undefined
}

/**
 * Holds a session lock for as long as this process lives. PostgreSQL releases it within milliseconds of a kill -9, so its holders are the
 * living processes. A heartbeat detects a dead connection; then the lock is taken on a new one.
 */
export async function announce({
  url,
  kind,
  isWorker = kind === 'worker',
  transport,
  log,
  timing = TIMING,
  outages,
}: Options): Promise<Presence> {
  const key = randomInt(2 ** 31)
  const over = new AbortController()
  let client: pg.Client | undefined
  let held = false
  const inTime = <T>(work: Promise<T>) => within(timing.deadlineMs, work)

  async function join({ again = false } = {}) {
    const joining = new pg.Client({
      connectionString: url,
      application_name: `sterna-${isWorker && kind === 'api' ? 'api+worker' : kind}:${process.pid}`,
      keepAlive: true,
      connectionTimeoutMillis: timing.deadlineMs,
      // A machine that loses power closes no connection; the server must detect that in seconds, or the lock outlives it by hours.
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
      // While the lock is held: no other node can change the transport now.
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
      outages?.suspect(reason)
      log.warn({ reason }, 'lost the liveness connection; claiming nothing until it is restored')
      // Only now: if the server was just slow, the lock passes to the new connection without a gap.
      await rejoin().finally(() => destroy(former))
    }
  }

  async function rejoin() {
    const warn = createRareWarning(log)
    while (!held) {
      await pause(RECONNECT_MS, over.signal)
      if (over.signal.aborted) return
      await join({ again: true }).catch((err: Error) => warn({ reason: err.message }, 'could not take the liveness lock; retrying'))
    }
    log.info({}, 'the liveness connection is restored')
  }

  await join()
  const staying = stay()
  return {
    key,
    isHeld: () => held,
    async leave() {
      over.abort()
      held = false
      await Promise.race([releaseAndClose(client!).catch(() => {}), sleep(LEAVE_MS, undefined, { ref: false })])
      destroy(client)
      await staying
    },
  }
}

/** Unlocks first: closing the connection would release the lock a moment later. */
async function releaseAndClose(client: pg.Client) {
  await client.query('select pg_advisory_unlock_all()')
  await client.end()
}

/** Sends heartbeats until the connection is lost; returns the reason. */
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

/** After a blocked event loop the timer fires before the reply is read, so the reply gets one more turn of the loop. */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => setImmediate(reject, new Error('no reply in time')), ms).unref()
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

/** Closes the socket without the protocol's termination message, which a dead network would not deliver. */
function destroy(client: pg.Client | undefined) {
  const { connection } = (client ?? {}) as { connection?: { stream?: Duplex } }
  connection?.stream?.destroy()
}

const takeLocks = (client: pg.Client, kind: keyof typeof KINDS, key: number) =>
  client.query('select pg_advisory_lock_shared($1, $2), pg_advisory_lock($3, $4)', [CLASS, KINDS[kind], OWN_CLASS, key])

/** Ends a former connection of this process that the server has not found dead yet: it would still hold the lock. */
const freeOwnLock = (client: pg.Client, key: number) =>
  client.query(
    `select pg_terminate_backend(pid) from pg_locks
      where locktype = 'advisory' and classid = $1 and objid::bigint = $2 and pid <> pg_backend_pid()
        and database = (select oid from pg_database where datname = current_database())`,
    [OWN_CLASS, key],
  )

/** While this process counted as dead, another node may have changed the transport. `for share` waits for a change in progress. */
async function requireTransport(client: pg.Client, ours: TransportKind) {
  const { rows } = await client.query<{ transport: TransportKind }>('select transport from instance for share')
  const stored = rows[0]?.transport
  if (stored !== ours)
    throw new Error(`the transport of this installation is now ${stored}, not ${ours}; restart this node with the same settings`)
}

const HERE = sql`database = (select oid from pg_database where datname = current_database())`

export const countPresent = (db: Db, kind: keyof typeof KINDS) =>
  scalar<number>(db)`
    select count(*)::int from pg_locks where locktype = 'advisory' and classid = ${CLASS} and objid = ${KINDS[kind]} and ${HERE}
  `

const MAX_LISTED = 10

/** Running nodes, as role, process id and address. */
export const listPresent = (db: Db) =>
  scalars<string>(db)`
    select a.application_name || coalesce(' at ' || host(a.client_addr), '')
    from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.classid = ${CLASS} and l.granted and ${HERE}
    order by 1 limit ${MAX_LISTED}
  `

/** SQL condition: the process is dead, as its own lock could be taken. The lock is held until the transaction ends. */
export const isGone = (key: RawBuilder<number>) => sql<boolean>`pg_try_advisory_xact_lock(${OWN_CLASS}::int, ${key}::int)`

/** SQL condition: the process holds its own lock, whatever its own state says. */
export const isPresent = (key: number) => sql<boolean>`exists (
  select from pg_locks
  where locktype = 'advisory' and classid = ${OWN_CLASS} and objid::bigint = ${key}::bigint and granted and ${HERE})`

const STEADY = sql`interval '1.5 s'`

/**
 * SQL condition: the process has held its lock for a while. After a restart of the database all locks are free until their holders have
 * reconnected: a process that has just reconnected must not take the others for dead.
 */
export const isSteady = (key: number) => sql<boolean>`exists (
  select from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where l.locktype = 'advisory' and l.classid = ${OWN_CLASS} and l.objid::bigint = ${key}::bigint and l.granted
    and ${HERE}
    and a.backend_start < now() - ${STEADY})`
