import { sql } from 'kysely'
import type { Tx } from '../../../db/index.ts'
import { listenForNotifications } from '../../../db/notifications.ts'
import type { Log } from '../../../lib/process/log.ts'

/** Channel of queue notifications. The payload is the priority. */
const QUEUE_CHANNEL = 'sterna_emails'

/** Tells all workers, when the transaction commits, that emails of this priority were queued. */
export const notifyQueuedSql = (priority: number) => sql`select pg_notify(${QUEUE_CHANNEL}, ${String(priority)})`
export const notifyQueued = (tx: Tx, priority: number) => notifyQueuedSql(priority).execute(tx)

/** Listens for queued emails, so that intakes need not wait for their next poll. A lost notification costs a second. */
export const listenToQueue = (url: string, onQueued: (priority?: number) => void, log: Log) =>
  listenForNotifications({
    url,
    channel: QUEUE_CHANNEL,
    onNotified: (payload) => onQueued(payload ? Number(payload) : undefined),
    log,
  })
