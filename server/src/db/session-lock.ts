import { withClient } from './with-client.ts'

/** Runs work that only one process may do at a time, for as long as it takes. Undefined, without running it, while another process does it. */
export const withSessionLock = <T>(url: string, lock: number, work: () => Promise<T>): Promise<T | undefined> =>
  // The lock is lost with the connection; the work is safe without it.
  withClient(url, 'sterna-lock', async (client) => {
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [lock])
    return rows[0]!.taken ? work() : undefined
  })
