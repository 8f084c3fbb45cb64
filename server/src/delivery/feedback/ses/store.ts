import { isBadData } from '../../../db/errors/sql-state.ts'
import { countAffected, type Pool, type Tx, transact } from '../../../db/index.ts'
import { prepared } from '../../../db/prepared.ts'
import { insertRows } from '../../../db/rows.ts'
import { createBatcher } from '../../../lib/concurrency/batch.ts'
import { crash } from '../../../lib/crash-point.ts'
import { MB } from '../../../lib/text/units.ts'

/** As received, under the id that SNS gave it. */
type StoredNotification = { id: string; message: string }

/** Stores notifications, many in one commit, each id once. A worker applies them later. */
export const createNotificationStore = (db: Pool) =>
  createBatcher<StoredNotification, void>({
    name: 'notifications',
    async run(notifications) {
      await transact(db, async (tx) => {
        await insertNotifications(tx, notifications)
        crash('notification-written')
      })
      crash('notification-kept')
      return notifications.map(() => ({ value: undefined }))
    },
    mayBeOneItem: isBadData,
    weigh: ({ message }) => message.length,
    maxItems: 200,
    maxWeight: 4 * MB,
    maxWaitMs: 4,
    lanes: 2,
    maxPending: 5_000,
    maxPendingWeight: 64 * MB,
  })

const insertNotifications = (tx: Tx, notifications: StoredNotification[]) =>
  prepared`
    ${insertRows('provider_notifications', notifications, ['id', 'message'])}
    order by r.id -- consistent lock order: avoids deadlocks
    on conflict do nothing
  `.execute(tx)

/** Older notifications need no deduplication: the envelope reader refuses them. */
export const dropOldNotifications = (tx: Tx, limit: number) =>
  countAffected(tx)`
    delete from provider_notifications where id in (
      select id from provider_notifications where received_at < now() - interval '30 days' order by received_at limit ${limit})
  `
