import type { Duplex } from 'node:stream'
import { Kysely, PostgresDialect, type PostgresPoolClient, type RawBuilder, sql, type Transaction } from 'kysely'
import pg from 'pg'
import type { Log } from '../lib/process/log.ts'
import { DEFAULT_LIMITS, limitsInTransactions } from './connections/limits.ts'
import type { Outages } from './connections/outages.ts'
import { isRetryable } from './errors/sql-state.ts'
import { preparedName, type Statement } from './prepared.ts'
import type { Schema } from './schema.ts'

/** Held by the composition root, routes and job handlers. */
export type Pool = Kysely<Schema>
/** First parameter of every function that writes. The compiler refuses a Pool here. */
export type Tx = Transaction<Schema>
/** For reads that may run on either. */
export type Db = Pool | Tx

/**
 * `name`: of the pool, in metrics. `settings`: parameters of PostgreSQL for each of the connections. `pooler`: the URL leads through a pooler in
 * transaction mode, where a connection has nothing of its own; `names`: it knows prepared statements, as far as was found out.
 */
type PoolOptions = {
  url: string
  max: number
  log: Log
  name?: string
  settings?: Record<string, string>
  pooler?: { names: boolean } | undefined
  outages?: Outages | undefined
}

export function connect({ url, max, log, name = 'main', settings = {}, pooler, outages }: PoolOptions): Pool {
  const { url: connectionString, begin } = pooler ? limitsInTransactions(url) : { url, begin: 'begin' }
  const pool = new pg.Pool({
    connectionString,
    max,
    // Every wait is bounded: a request that gets no connection in time fails with 503.
    connectionTimeoutMillis: connectTimeoutOf(url),
    // Parameters of the URL have precedence over these.
    ...(pooler ? {} : DEFAULT_LIMITS),
    query_timeout: 15_000,
    keepAlive: true,
    application_name: 'sterna',
    pipeline: true,
  })
  // Without these listeners a database restart ends the process: pg emits 'error' on idle and on checked-out clients.
  const lost = (err: Error) => {
    if (pool.ending) return
    if (outages) outages.suspect(err.message)
    else log.warn({ reason: err.message }, 'lost a database connection')
  }
  const failed = (err: NodeJS.ErrnoException): never => {
    if (err.syscall === 'connect') outages?.suspect(err.message)
    throw err
  }
  pool.on('error', lost)
  pool.on('connect', (client) => {
    client.on('error', lost)
    if (pooler) return
    // Fails on the few systems where PostgreSQL cannot do it.
    client.query(`set client_connection_check_interval = '${CHECK_CLIENT}'`).catch(() => {})
    for (const [name, value] of Object.entries(settings)) client.query(`set ${name} = '${value}'`).catch(() => {})
  })
  const sending: Sending = { begin, pooler }
  sendings.set(pool, sending)
  const db = new Kysely<Schema>({
    dialect: new PostgresDialect({
      pool: {
        connect: async () => preparing(await pool.connect().catch(failed), sending),
        end: () => {
          open.delete(pool)
          return pool.end()
        },
      },
    }),
  })
  pools.set(db, pool)
  open.set(pool, name)
  return db
}

const CONNECT_TIMEOUT_MS = 2_000

/** How often PostgreSQL looks, during a statement, whether the connection is still there: without it, statements outlive a node that gave up or died. */
const CHECK_CLIENT = '1s'

/** `connect_timeout` of the URL, in seconds as libpq reads it. pg reads it for single connections only, not for a pool. */
const connectTimeoutOf = (url: string) => Number(new URLSearchParams(url.split('?')[1]).get('connect_timeout')) * 1000 || CONNECT_TIMEOUT_MS

/** How statements are sent. `begin`: the text that begins a transaction. */
type Sending = { begin: string; pooler: PoolOptions['pooler'] }

const pools = new WeakMap<Pool, pg.Pool>()
const sendings = new WeakMap<pg.Pool, Sending>()
const open = new Map<pg.Pool, string>()

/** Connections of this process, by the name of their pool. */
export const poolStates = () =>
  [...open].map(([{ totalCount: total, idleCount: idle, waitingCount: waiting }, name]) => ({ name, total, idle, waiting }))

function request(text: string, values: readonly unknown[], { pooler }: Sending) {
  const name = pooler?.names === false ? undefined : preparedName(text)
  return { text, values: [...values], ...(name ? { name } : {}) }
}

const adapted = new WeakMap<pg.PoolClient, PostgresPoolClient>()

function preparing(client: pg.PoolClient, sending: Sending): PostgresPoolClient {
  const known = adapted.get(client)
  if (known) return known
  const query = (text: string, values: readonly unknown[]) =>
    text === 'begin' ? begin(client, sending) : client.query(request(text, values, sending))
  // The type also requires Kysely's cursors, which we do not use.
  const adapter = { query, release: () => client.release() } as unknown as PostgresPoolClient
  adapted.set(client, adapter)
  return adapter
}

/** Sent together with the first statement instead of awaited: if it fails, so does that statement. */
async function begin(client: pg.PoolClient, { begin }: Sending) {
  client.query(begin).catch(() => {})
  return { command: 'BEGIN', rowCount: null, rows: [] }
}

/** Ends the transaction unless the condition is true. */
export const orFail = (condition: RawBuilder<unknown>) => sql`require_true(${condition})`

type InPlace<Result> = (text: TemplateStringsArray, ...values: unknown[]) => Promise<Result>

/** Runs a statement that is written in place, as in ``many<Row>(db)`select …` ``, or that was built elsewhere: `many(db, query)`. */
export function many<Row>(db: Db): InPlace<Row[]>
export function many<Row>(db: Db, query: Statement<Row>): Promise<Row[]>
export function many<Row>(db: Db, query?: Statement<Row>) {
  return run(query, async (statement) => (await statement.execute(db)).rows)
}

/** The first row. */
export function maybeOne<Row>(db: Db): InPlace<Row | undefined>
export function maybeOne<Row>(db: Db, query: Statement<Row>): Promise<Row | undefined>
export function maybeOne<Row>(db: Db, query?: Statement<Row>) {
  return run(query, async (statement) => (await many(db, statement))[0])
}

/** The first row of a statement that has one always. */
export function one<Row>(db: Db): InPlace<Row>
export function one<Row>(db: Db, query: Statement<Row>): Promise<Row>
export function one<Row>(db: Db, query?: Statement<Row>) {
  return run(query, async (statement) => (await maybeOne(db, statement)) ?? Promise.reject(new Error('statement returned no row')))
}

/** The number of rows that the statement inserted, updated or deleted. */
export function countAffected(tx: Tx): InPlace<number>
export function countAffected(tx: Tx, query: Statement<unknown>): Promise<number>
export function countAffected(tx: Tx, query?: Statement<unknown>) {
  return run(query, async (statement) => Number((await statement.execute(tx)).numAffectedRows ?? 0n))
}

const run = <Row, Result>(query: Statement<Row> | undefined, execute: (statement: Statement<Row>) => Promise<Result>) =>
  query ? execute(query) : (text: TemplateStringsArray, ...values: unknown[]) => execute(sql<Row>(text, ...values))

const firstValue = (row: unknown) => Object.values(row as object)[0]

/** The first column of a row that is always there. */
export function scalar<Value>(db: Db): InPlace<Value>
export function scalar<Value>(db: Db, query: Statement<unknown>): Promise<Value>
export function scalar<Value>(db: Db, query?: Statement<unknown>) {
  return run(query, async (statement) => firstValue(await one(db, statement)) as Value)
}

/** The first column of the first row, if there is one. */
export const maybeScalar =
  <Value>(db: Db): InPlace<Value | undefined> =>
  async (text, ...values) =>
    firstValue((await maybeOne(db)(text, ...values)) ?? {}) as Value | undefined

/** The first column of each row. */
export function scalars<Value>(db: Db): InPlace<Value[]>
export function scalars<Value>(db: Db, query: Statement<unknown>): Promise<Value[]>
export function scalars<Value>(db: Db, query?: Statement<unknown>) {
  return run(query, async (statement) => (await many(db, statement)).map((row) => firstValue(row) as Value))
}

/** The number of rows of a query, which limits how many are counted. */
export const countRows = (db: Db, query: RawBuilder<unknown>) => scalar<number>(db)`select count(*)::int from (${query}) as counted`

type LastStep = (tx: Tx, result: unknown) => Promise<unknown>
const lastSteps = new WeakMap<Pool, LastStep>()

/** The same pool for one caller: each of its transactions ends with `step`, which gets the result of the work before it. */
export function withLastStep(db: Pool, step: LastStep): Pool {
  const handle = db.withoutPlugins()
  pools.set(handle, pools.get(db)!)
  lastSteps.set(handle, step)
  return handle
}

const ATTEMPTS = 3

export async function transact<T>(db: Pool, given: (tx: Tx) => Promise<T>): Promise<T> {
  const step = lastSteps.get(db)
  const work = async (tx: Tx) => {
    const result = await given(tx)
    await step?.(tx, result)
    return result
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction().execute(work)
    } catch (err) {
      if (attempt === ATTEMPTS || !isRetryable(err)) throw err
    }
  }
}

export type RowsOf<Queries extends Statement<unknown>[]> = {
  [Index in keyof Queries]: Queries[Index] extends Statement<infer Row> ? Row[] : never
}

/**
 * A transaction whose statements do not need each other's results: all of them are sent in one round trip. On a hot path the round trips
 * cost more than the statements. If one fails, nothing was written.
 */
export async function transactAtOnce<Queries extends Statement<unknown>[]>(db: Pool, queries: [...Queries]): Promise<RowsOf<Queries>> {
  const pool = pools.get(db)!
  const sending = sendings.get(pool)!
  const requests = queries.map((query) => {
    const { sql: text, parameters } = query.compile(db)
    return request(text, parameters, sending)
  })
  const client = await pool.connect()
  let lost: Error | undefined
  try {
    const { stream } = (client as unknown as { connection: { stream: Duplex } }).connection
    stream.cork()
    const replies = Promise.allSettled([client.query(sending.begin), ...requests.map((each) => client.query(each)), client.query('commit')])
    stream.uncork()
    const results = (await replies).map((reply) => {
      if (reply.status === 'fulfilled') return reply.value
      // An error of PostgreSQL leaves the connection usable; any other error does not.
      if (!(reply.reason as { severity?: string }).severity) lost ??= reply.reason
      throw reply.reason
    })
    return results.slice(1, -1).map(({ rows }) => rows) as RowsOf<Queries>
  } finally {
    client.release(lost)
  }
}
