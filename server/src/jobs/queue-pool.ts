import pg from 'pg'
import type { Log } from '../lib/process/log.ts'

type Connected = (err: Error | undefined, client: pg.PoolClient | undefined, done: (broken?: boolean | Error) => void) => void

/**
 * The queue releases its listening connection twice when the database fails while it stops. The second release throws an error that is not
 * handled, and would end the process.
 */
class QueuePool extends pg.Pool {
  override connect(): Promise<pg.PoolClient>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<pg.PoolClient> | undefined {
    if (!callback) return super.connect()
    super.connect((err, client, done) => callback(err, client, once(done)))
  }
}

function once<Args extends unknown[]>(work: (...args: Args) => void) {
  let done = false
  return (...args: Args) => {
    if (!done) work(...args)
    done = true
  }
}

/** Deadline for a connection. Longer than that of requests: jobs can wait. */
const CONNECT_MS = 10_000

/**
 * The deadline is one of a client, not of the pool: the pool would also apply it to those that wait for a client, and the queue does not
 * handle that error while it stops.
 */
class QueueClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super({ ...config, connectionTimeoutMillis: CONNECT_MS })
  }
}

/** A pool of our own, so that we decide when it is closed, and a lost connection does not end the process. */
export function queuePool({ url, max, log }: { url: string; max: number; log: Log }): pg.Pool {
  const pool = new QueuePool({ connectionString: url, max, application_name: 'sterna jobs', Client: QueueClient })
  const lost = (err: Error) => {
    if (!pool.ending) log.warn({ reason: err.message }, 'the job queue lost a database connection')
  }
  pool.on('error', lost)
  pool.on('connect', (client) => client.on('error', lost))
  return pool
}
