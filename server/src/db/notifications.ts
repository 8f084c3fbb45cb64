import pg from 'pg'
import { every } from '../lib/concurrency/every.ts'
import type { Log } from '../lib/process/log.ts'

const RECONNECT_MS = 1_000

type Subscription = { url: string; channel: string; onNotified: (payload: string) => void; log: Log }

/** Channels that this process listens to, and has no connection for. */
const silent = new Set<object>()

/** Whether all notifications of PostgreSQL reach this process. */
export const hearsNotifications = () => silent.size === 0

/**
 * Calls back for each notification on a channel of PostgreSQL, and once per connection, because notifications are lost while there is none.
 * Callers poll as well.
 */
export function listenForNotifications({ url, channel, onNotified, log }: Subscription) {
  let client: pg.Client | undefined
  const channelOfThis = {}
  silent.add(channelOfThis)
  const listening = every(
    RECONNECT_MS,
    `listen to ${channel}`,
    async () => {
      if (client) return
      const connecting = new pg.Client({ connectionString: url, application_name: 'sterna queue', connectionTimeoutMillis: 3_000 })
      connecting.on('error', () => {})
      connecting.once('end', () => {
        client = undefined
        silent.add(channelOfThis)
      })
      connecting.on('notification', ({ payload }) => onNotified(payload ?? ''))
      await connecting.connect()
      await connecting.query(`listen ${channel}`)
      client = connecting
      silent.delete(channelOfThis)
      onNotified('')
    },
    log,
  )
  return {
    async stop() {
      await listening.stop()
      await client?.end().catch(() => {})
      silent.delete(channelOfThis)
    },
  }
}
