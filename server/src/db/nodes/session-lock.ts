import pg from 'pg'
import { SECOND } from '../../lib/text/units.ts'

/** Runs work that only one process may do at a time, for as long as it takes. Undefined, without running it, while another process does it. */
export async function withSessionLock<T>(url: string, lock: number, work: () => Promise<T>): Promise<T | undefined> {
  const client = new pg.Client({ connectionString: url, application_name: 'sterna-lock', connectionTimeoutMillis: 5 * SECOND })
  client.on('error', () => {}) // the lock is lost with the connection; the work is safe without it
  await client.connect()
  try {
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [lock])
    return rows[0]!.taken ? await work() : undefined
  } finally {
    await client.end()
  }
}
