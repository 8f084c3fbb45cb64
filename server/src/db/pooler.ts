import type pg from 'pg'
import { ConfigError } from '../lib/errors/config-error.ts'
import { limitsInTransactions } from './connections/limits.ts'
import { type ClientOptions, withClient } from './with-client.ts'

/** A pooler between a node and PostgreSQL: none, one that gives each client a connection of its own, or one that gives it another per transaction. */
export type Pooler = 'none' | 'session' | 'transaction'

/** Other clients may take the connection that would show the mode. */
const TRIES = 5

/**
 * A pooler makes up the process id of a connection. In transaction mode another client gets the connection of one that is between two
 * transactions.
 */
const detectPooler = (url: string, options: ClientOptions = {}): Promise<Pooler> =>
  connecting(url, options, async (client) => {
    const first = await backendOf(client)
    if (first === (client as unknown as { processID: number }).processID) return 'none'
    for (let tried = 0; tried < TRIES; tried++) {
      const other = await connecting(url, options, async (second) => {
        await second.query('begin')
        return backendOf(second)
      })
      if (other === first || (await backendOf(client)) !== first) return 'transaction'
    }
    return 'session'
  })

async function backendOf(client: pg.Client) {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]!.pid
}

const NAMED = { name: 'sterna_pooler', text: 'select pg_backend_pid() as pid' }

/**
 * Whether a pooler in transaction mode knows prepared statements: PgBouncer from 1.21 on, with `max_prepared_statements`. Two other clients keep the
 * connection on which the statement was prepared, and a further one.
 */
export const keepsPreparedStatements = (url: string): Promise<boolean> =>
  connecting(url, {}, async (client) => {
    const prepared = (await client.query<{ pid: number }>(NAMED)).rows[0]!.pid
    return holding(url, prepared, async () => {
      try {
        return (await client.query<{ pid: number }>(NAMED)).rows[0]!.pid !== prepared
      } catch {
        return false
      }
    })
  })

/** Runs work while transactions of other clients occupy a connection of the pooler. */
async function holding<T>(url: string, pid: number, work: () => Promise<T>, depth = 0): Promise<T | false> {
  if (depth === TRIES) return false
  return connecting(url, {}, async (other) => {
    await other.query('begin')
    return (await backendOf(other)) === pid ? work() : holding(url, pid, work, depth + 1)
  })
}

/** A pooler that does not know a setting refuses the connection. */
const REFUSED_SETTING = '08P01'

/** Time limits in the URL are not sent: behind a pooler they are part of transactions. */
const connecting = <T>(url: string, options: ClientOptions, work: (client: pg.Client) => Promise<T>) =>
  withClient(limitsInTransactions(url).url, 'sterna-check', work, options).catch((err: NodeJS.ErrnoException) => {
    if (err.code === REFUSED_SETTING && /startup parameter/.test(err.message)) throw new ConfigError(refusedSetting(err.message))
    throw err
  })

const refusedSetting = (message: string) =>
  `DATABASE_URL leads to a pooler that refuses the settings of a connection (${message}). ` +
  'In transaction mode, set DATABASE_DIRECT_URL to the PostgreSQL server behind it. In session mode, let the pooler ignore them: see ' +
  'docs/operating.md, connection poolers.'

/** Refuses a pooler in transaction mode where a connection of its own is needed: locks and notifications belong to it. */
export async function refuseTransactionMode(url: string, { isBehindPooler, options }: { isBehindPooler: boolean; options: ClientOptions }) {
  if ((await detectPooler(url, options)) !== 'transaction') return
  throw new ConfigError(
    isBehindPooler
      ? 'DATABASE_DIRECT_URL leads to a pooler in transaction mode. Set it to the PostgreSQL server itself.'
      : 'DATABASE_URL leads to a pooler in transaction mode. Set DATABASE_DIRECT_URL to the PostgreSQL server behind it as well.',
  )
}

/** Refuses two URLs that lead to different databases. */
export async function refuseOtherDatabase(url: string, directUrl: string) {
  const read = (each: string) =>
    connecting(each, {}, async (client) => {
      const { rows } = await client.query<{ id: string }>(
        `select current_database() || ' ' || (select system_identifier from pg_control_system()) as id`,
      )
      return rows[0]!.id
    })
  if ((await read(url)) !== (await read(directUrl)))
    throw new ConfigError('DATABASE_DIRECT_URL leads to another database than DATABASE_URL. Both must lead to the same one.')
}
