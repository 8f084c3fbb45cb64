import pg from 'pg'
import { every } from '../lib/concurrency/every.ts'
import type { Log } from '../lib/process/log.ts'

const RECONNECT_MS = 1_000

type Subscription = { url: string; channel: string; onNotified: (payload: string) => void; log: Log }
type Subscribed = Pick<Subscription, 'channel' | 'onNotified'>

/** Subscriptions whose channel this process does not listen to. */
const silent = new Set<object>()

/** Whether all notifications of PostgreSQL reach this process. */
export const hearsNotifications = () => silent.size === 0

/** One connection for all channels of a database. */
const listeners = new Map<string, ReturnType<typeof startListener>>()

/**
 * Calls back for each notification on a channel of PostgreSQL, and once per connection, because notifications are lost while there is none.
 * Callers poll as well.
 */
export function listenForNotifications({ url, channel, onNotified, log }: Subscription) {
  const listener = listeners.get(url) ?? startListener(url, log)
  listeners.set(url, listener)
  return listener.subscribe({ channel, onNotified })
}

function startListener(url: string, log: Log) {
  const subscribed = new Set<Subscribed>()
  /** Subscribers whose channel the present connection listens to. */
  let heard = new Set<Subscribed>()
  let client: pg.Client | undefined
  let working: Promise<unknown> = Promise.resolve()

  async function connect() {
    const connecting = new pg.Client({ connectionString: url, application_name: 'sterna queue', connectionTimeoutMillis: 3_000 })
    connecting.on('error', () => {})
    connecting.once('end', () => {
      if (client !== connecting) return
      client = undefined
      for (const each of heard) silent.add(each)
      heard = new Set()
    })
    connecting.on('notification', ({ channel, payload = '' }) => {
      for (const each of heard) if (each.channel === channel) each.onNotified(payload)
    })
    await connecting.connect()
    client = connecting
  }

  async function listen() {
    if (!client) await connect()
    for (const each of subscribed) {
      if (heard.has(each) || !client) continue
      await client.query(`listen ${each.channel}`)
      if (!client || !subscribed.has(each)) continue
      heard.add(each)
      silent.delete(each)
      each.onNotified('')
    }
  }

  /** One after the other. */
  const listenInTurn = () => (working = working.catch(() => {}).then(listen))
  const listening = every(RECONNECT_MS, 'listen to notifications', listenInTurn, log)

  const listener = {
    subscribe(given: Subscribed) {
      const each = { ...given }
      subscribed.add(each)
      silent.add(each)
      // A failure is logged by the next turn.
      listenInTurn().catch(() => {})
      return {
        async stop() {
          subscribed.delete(each)
          heard.delete(each)
          silent.delete(each)
          if (subscribed.size || listeners.get(url) !== listener) return
          listeners.delete(url)
          await listening.stop()
          await working.catch(() => {})
          await client?.end().catch(() => {})
        },
      }
    },
  }
  return listener
}
