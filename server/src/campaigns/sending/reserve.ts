import { sql } from 'kysely'
import { isReadTimeout } from '../../db/errors/sql-state.ts'
import { countRows, type Db, maybeOne, type Pool, type Tx, transact } from '../../db/index.ts'
import { type EmailType, maySendSql, SUPPRESSION_JOINS } from '../../delivery/rules/may-send.ts'
import { NIL_ID } from '../../lib/id.ts'
import { lockCaps, readRoom } from '../../projects/caps.ts'
import { scanContacts } from '../../projects/scans.ts'
import { audienceSql, type ResolvedAudience } from '../draft/audience.ts'
import type { CampaignKey } from '../draft/campaign.ts'
import { UNFROZEN } from './pause.ts'

/** Time of counting the recipients: other campaigns wait meanwhile. */
const COUNT_MS = 1_800

type Unreserved = { type: EmailType; audience: ResolvedAudience; startedAt: Date; cursor: string | null; size: number; isByPage: boolean }

/**
 * Reserves the recipients that are left, in a short transaction that holds the cap of the project, so that the pages need no lock. If they
 * take too long to count, those of the next page are reserved, and from then on each page by itself. A reservation is in the row of the
 * campaign and counts while its recipients are being written: whatever ends that, returns it, also if this process dies. False if there is
 * no room.
 */
export async function reserveRecipients(db: Pool, key: CampaignKey): Promise<boolean> {
  const campaign = await findUnreserved(db, key)
  if (!campaign) return true
  const counted = campaign.isByPage ? undefined : await countLeft(db, key, campaign, (await readRoom(db, key.projectId, 'campaigns')) + 1)
  return transact(db, async (tx) => {
    await lockCaps(tx, [key.projectId], 'campaigns')
    // Another worker may have reserved them meanwhile.
    if ((await findUnreserved(tx, key))?.cursor !== campaign.cursor) return true
    const room = await readRoom(tx, key.projectId, 'campaigns')
    // Without room too: the page may have no recipients.
    const wanted = counted ?? Math.min(campaign.size, room)
    if (wanted > room) return false
    await saveReservation(tx, key, { wanted, isWhole: counted !== undefined })
    return true
  })
}

const findUnreserved = (db: Db, { projectId, id }: CampaignKey) =>
  maybeOne<Unreserved>(db)`
    select type, frozen_audience as audience, started_at as "startedAt", freeze_cursor as cursor, freeze_page as size,
      reserved_for is not distinct from 'page' as "isByPage"
    from campaigns where project_id = ${projectId} and id = ${id} and ${UNFROZEN} and reserved is null
  `

/** Counted up to `limit`. Undefined if that takes too long. Without a cap, which may have been removed meanwhile, nothing is counted. */
async function countLeft(db: Pool, { projectId, id }: CampaignKey, { type, audience, startedAt, cursor }: Unreserved, limit: number) {
  if (limit === Number.POSITIVE_INFINITY) return 0
  const matches = await audienceSql(db, audience, { projectId, at: startedAt })
  const recipients = sql`
    select 1 from contacts ${SUPPRESSION_JOINS}
    where contacts.project_id = ${projectId} and contacts.id > ${cursor ?? NIL_ID}
      and contacts.created_at <= (select started_at from campaigns where project_id = ${projectId} and id = ${id})
      and ${matches} and ${maySendSql(type)}
    limit ${limit}`
  return scanContacts(db, { projectId, ms: COUNT_MS }, (tx) => countRows(tx, recipients)).catch((err) =>
    isReadTimeout(err) ? undefined : Promise.reject(err),
  )
}

/** Unless the row is locked, by its counters or a request: it holds the cap, so it does not wait. */
const saveReservation = (tx: Tx, { projectId, id }: CampaignKey, { wanted, isWhole }: { wanted: number; isWhole: boolean }) =>
  sql`
    update campaigns set reserved = ${wanted}, reserved_for = ${isWhole ? 'all' : 'page'}
    where (project_id, id) in (
      select project_id, id from campaigns
      where project_id = ${projectId} and id = ${id} and ${UNFROZEN} and reserved is null
      for no key update skip locked)
  `.execute(tx)

/** A contact may have become a recipient since they were counted: the rest is counted again. */
export const returnReservation = (db: Pool, { projectId, id }: CampaignKey) =>
  transact(db, (tx) =>
    sql`update campaigns set reserved = null, reserved_for = null where project_id = ${projectId} and id = ${id}`.execute(tx),
  )
