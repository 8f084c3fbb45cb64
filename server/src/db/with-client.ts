import pg from 'pg'
import { SECOND } from '../lib/text/units.ts'

/** Runs work on a connection of its own, outside of the pools. */
export async function withClient<T>(url: string, name: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: name, connectionTimeoutMillis: 5 * SECOND })
  client.on('error', () => {}) // the failing query reports it
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}
