import { sql } from 'kysely'
import { countAffected, type Pool, prepared, type Tx, transact } from '../../../db/index.ts'
import { isBadData } from '../../../db/sql-state.ts'
import { createBatcher } from '../../../lib/batch.ts'
import { crash } from '../../../lib/crash-point.ts'
import { MB } from '../../../lib/units.ts'

/** As it came, under the id its sender gave it. */
type Notification = { id: string; message: string }

/** Keeps notifications, many in one commit, each once. What they mean is found out later. */
export const createAccept = (db: Pool) =>
  createBatcher<Notification, void>({
    async run(notifications) {
      await transact(db, async (tx) => {
        await keep(tx, notifications)
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

const keep = (tx: Tx, notifications: Notification[]) =>
  sql`${prepared}
    insert into provider_notifications (id, message)
    select id, message from jsonb_to_recordset(${JSON.stringify(notifications)}::jsonb) as n(id text, message text)
    order by id -- as everybody does, so that nobody waits in a circle
    on conflict do nothing
  `.execute(tx)

/** Who repeats an older one is refused before it gets here. */
export const dropOldNotifications = (tx: Tx, limit: number) =>
  countAffected(
    tx,
    sql`
      delete from provider_notifications where id in (
        select id from provider_notifications where received_at < now() - interval '30 days' order by received_at limit ${limit})
    `,
  )
