import pg from 'pg'
import { every } from '../../lib/every.ts'
import type { Log } from '../../lib/log.ts'

/** Channel of queue notifications. The payload is the priority. */
export const QUEUE_CHANNEL = 'sterna_emails'
const RECONNECT_MS = 1_000

/** Listens for queued emails, so that intakes need not wait for their next poll. A lost notification costs a second. */
export async function listenToQueue(url: string, onQueued: (priority?: number) => void, log: Log) {
  let client: pg.Client | undefined
  const listening = every(
    RECONNECT_MS,
    'listen for queued emails',
    async () => {
      if (client) return
      const connecting = new pg.Client({ connectionString: url, application_name: 'sterna queue', connectionTimeoutMillis: 3_000 })
      connecting.on('error', () => {})
      connecting.once('end', () => (client = undefined))
      connecting.on('notification', ({ payload }) => onQueued(payload ? Number(payload) : undefined))
      await connecting.connect()
      await connecting.query(`listen ${QUEUE_CHANNEL}`)
      client = connecting
    },
    log,
  )
  return {
    async stop() {
      await listening.stop()
      await client?.end().catch(() => {})
    },
  }
}
