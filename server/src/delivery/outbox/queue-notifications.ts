import pg from 'pg'
import { every } from '../../lib/every.ts'
import type { Log } from '../../lib/log.ts'

/** Its payload is the lane. */
export const QUEUE_CHANNEL = 'sterna_emails'
const AGAIN_MS = 1_000

/** A hint that something was queued, so that nobody waits for the next poll. Losing it costs a second. */
export async function listenToQueue(url: string, onWork: (lane?: number) => void, log: Log) {
  let client: pg.Client | undefined
  const listening = every(
    AGAIN_MS,
    'listen for queued mails',
    async () => {
      if (client) return
      const joining = new pg.Client({ connectionString: url, application_name: 'sterna queue', connectionTimeoutMillis: 3_000 })
      joining.on('error', () => {})
      joining.once('end', () => (client = undefined))
      joining.on('notification', ({ payload }) => onWork(payload ? Number(payload) : undefined))
      await joining.connect()
      await joining.query(`listen ${QUEUE_CHANNEL}`)
      client = joining
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
