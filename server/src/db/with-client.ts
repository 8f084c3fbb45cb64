import pg from 'pg'
import { SECOND } from '../lib/text/units.ts'

export type ClientOptions = Pick<pg.ClientConfig, 'statement_timeout' | 'lock_timeout' | 'idle_in_transaction_session_timeout'>

/** Runs work on a connection of its own, outside of the pools. */
export async function withClient<T>(
  url: string,
  name: string,
  work: (client: pg.Client) => Promise<T>,
  options: ClientOptions = {},
): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: name, connectionTimeoutMillis: 5 * SECOND, ...options })
  client.on('error', () => {}) // the failing query reports it
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}
