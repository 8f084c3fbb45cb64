import { sql } from 'kysely'
import { maybeOne, one, type Pool, type Tx, transact } from '../db/index.ts'
import { isDuplicate, isStatementTimeout } from '../db/sql-state.ts'
import { type EmailType, enqueueAudienceSql } from '../delivery/outbox/enqueue.ts'
import { notifyQueued } from '../delivery/outbox/queue-notifications.ts'
import { PRIORITIES } from '../delivery/outbox/stream-of.ts'
import { AppError } from '../lib/errors.ts'
import { NIL_ID } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import { hasCapSql } from '../projects/caps.ts'
import { hourSql, insertCountsSql } from '../projects/email-counts.ts'
import { audienceSql, type ResolvedAudience } from './audience.ts'
import { SYSTEM } from './audit.ts'
import type { CampaignKey } from './campaign.ts'
import { exclusionSql, SUPPRESSION_JOINS } from './exclusion.ts'
import { pauseCampaign } from './pause.ts'
import { reserveRecipients, returnReservation } from './reserve.ts'

/** Contacts that one transaction looks at, matching or not. */
const PAGE = 5_000
/** Fewer after a page took too long: requests to pause or cancel wait for the page, and give up after 2 s. */
const SMALLEST_PAGE = 100
const PAGE_MS = 1_800
const SMALLEST_PAGE_MS = 12_000

type Frozen = CampaignKey & {
  type: EmailType
  contentId: string
  from: string
  audience: ResolvedAudience
  startedAt: Date
  cursor: string | null
  hasCap: boolean
  /** Recipients that may still be written, for all pages or for the next one. */
  reserved: number | null
  reservedFor: 'all' | 'page' | null
}

/** The page has more recipients than were reserved, so it was not written. */
class BeyondReservationError extends Error {
  readonly isWhole: boolean
  constructor(isWhole: boolean) {
    super('a page has more recipients than were reserved')
    this.isWhole = isWhole
  }
}

/** Sizes of the next pages of campaigns whose condition is slow, in this process. */
const sizes = new Map<string, number>()
/** More than campaigns that are frozen at once; cancelled ones leave their entry. */
const MAX_SIZES = 1_000

/**
 * Writes recipients and excluded contacts of a page of contacts, and the position, in one commit. Any worker can write the next page.
 * Returns whether there may be another page.
 */
export async function freezeNextPage(db: Pool, key: CampaignKey, log: Log): Promise<boolean> {
  const size = sizes.get(key.id) ?? PAGE
  try {
    const page = await freezePageOnce(db, key, size)
    if (page === 'last') sizes.delete(key.id)
    return page === 'unreserved' ? await reserveOrPause(db, key, size) : page === 'more'
  } catch (err) {
    if (err instanceof BeyondReservationError) {
      await returnReservation(db, key)
      if (!err.isWhole) await pauseByCap(db, key)
      return err.isWhole
    }
    if (!isStatementTimeout(err) || size <= SMALLEST_PAGE) throw err
    if (sizes.size >= MAX_SIZES) sizes.clear()
    sizes.set(key.id, Math.max(SMALLEST_PAGE, Math.floor(size / 4)))
    log.warn({ projectId: key.projectId, campaignId: key.id, size }, 'a page of recipients took too long; the next ones are smaller')
    return true
  }
}

/** Position and rows are written together, so no row of a page exists. If one does, whatever the cause, it is left out. */
const freezePageOnce = (db: Pool, key: CampaignKey, size: number) =>
  transact(db, (tx) => freezePage(tx, key, { size, mayExist: false })).catch((err) => {
    if (!isDuplicate(err)) throw err
    return transact(db, (tx) => freezePage(tx, key, { size, mayExist: true }))
  })

async function reserveOrPause(db: Pool, key: CampaignKey, size: number): Promise<boolean> {
  const isReserved = await reserveRecipients(db, key, size)
  if (!isReserved) await pauseByCap(db, key)
  return isReserved
}

/** It may have been cancelled meanwhile. */
const pauseByCap = (db: Pool, key: CampaignKey) =>
  transact(db, (tx) => pauseCampaign(tx, key, { reason: 'billing_limit', actor: SYSTEM })).catch((err) => {
    if (!(err instanceof AppError)) throw err
  })

type PageOptions = { size: number; mayExist: boolean }

/**
 * `none`: nothing to write, or the row is locked at the moment, by another page or by its counters. `unreserved`: the project has a cap, and
 * nothing is reserved.
 */
async function freezePage(tx: Tx, key: CampaignKey, { size, mayExist }: PageOptions): Promise<'more' | 'last' | 'none' | 'unreserved'> {
  await sql`set local statement_timeout = ${sql.lit(size > SMALLEST_PAGE ? PAGE_MS : SMALLEST_PAGE_MS)}`.execute(tx)
  const campaign = await lockUnfrozen(tx, key)
  if (!campaign) return 'none'
  if (campaign.hasCap && campaign.reserved === null) return 'unreserved'
  const after = campaign.cursor ?? NIL_ID
  const end = await findPageEnd(tx, { projectId: key.projectId, after, size })
  const recipients = await writePage(tx, campaign, { after, end, mayExist })
  if (campaign.hasCap && recipients > campaign.reserved!) throw new BeyondReservationError(campaign.reservedFor === 'all')
  await notifyQueued(tx, PRIORITIES.bulk)
  return end === undefined ? 'last' : 'more'
}

/** Undefined when it is frozen, cancelled, paused by a cap, or another worker writes a page of it. */
const lockUnfrozen = (tx: Tx, { projectId, id }: CampaignKey) =>
  maybeOne(
    tx,
    sql<Frozen>`
      select project_id as "projectId", id, type, content_id as "contentId", from_address as "from", frozen_audience as audience,
        started_at as "startedAt", freeze_cursor as cursor, ${hasCapSql(projectId, 'campaigns')} as "hasCap", reserved, reserved_for as "reservedFor"
      from campaigns c where project_id = ${projectId} and id = ${id} and status = 'SENDING' and frozen_at is null
        and paused_reason is distinct from 'billing_limit'
        -- Started while its project was being reset: it is deleted with the rest.
        and not exists (select from project_wipes w where w.project_id = c.project_id and w.requested_at >= c.created_at)
      for no key update skip locked
    `,
  )

type Range = { after: string; end: string | undefined; mayExist: boolean }

/** The last contact of the page; undefined if the page is the last one. Reads only the index. */
async function findPageEnd(tx: Tx, { projectId, after, size }: { projectId: string; after: string; size: number }) {
  const row = await maybeOne(
    tx,
    sql<{ id: string }>`select id from contacts where project_id = ${projectId} and id > ${after} order by id offset ${size - 1} limit 1`,
  )
  return row?.id
}

/** Contacts created after the start are never among them, nor are events and memberships after it. Returns the number of recipients. */
async function writePage(tx: Tx, campaign: Frozen, { after, end, mayExist }: Range): Promise<number> {
  const { projectId, id, type, contentId, from, audience, startedAt } = campaign
  const matches = await audienceSql(tx, audience, { projectId, at: startedAt })
  const judged = sql`
    select contacts.id as contact_id, contacts.email as address, ${exclusionSql(type)} as reason
    from contacts ${SUPPRESSION_JOINS}
    where contacts.project_id = ${projectId} and contacts.id > ${after} ${end ? sql`and contacts.id <= ${end}` : sql``}
      and contacts.created_at <= (select started_at from campaigns where project_id = ${projectId} and id = ${id})
      and ${matches}`
  const recipients = sql`(select contact_id, address from judged where reason is null order by contact_id) as recipients`
  const page = { projectId, campaignId: id, contentId, fromDomain: from.split('@')[1]!, mayExist }
  const { recipients: written } = await one(
    tx,
    sql<{ recipients: number }>`
      with judged as materialized (${judged}),
      queued as (${enqueueAudienceSql(recipients, page)} returning metered),
      counted as (
        ${insertCountsSql(sql`select ${projectId}::uuid as project_id, 'campaigns' as kind, ${hourSql(sql`now()`)} as hour, 1 as n from queued where metered`)}
      ), excluded as (
        insert into campaign_excluded (project_id, campaign_id, contact_id, address, reason)
        select ${projectId}, ${id}, contact_id, address, reason from judged where reason is not null
        order by contact_id
        ${mayExist ? sql`on conflict do nothing` : sql``}
        returning reason
      )
      update campaigns set
        total_recipients = total_recipients + (select count(*) from queued),
        excluded_unsubscribed = excluded_unsubscribed + (select count(*) from excluded where reason = 'unsubscribed'),
        excluded_suppressed = excluded_suppressed + (select count(*) from excluded where reason = 'suppressed'),
        excluded_invalid = excluded_invalid + (select count(*) from excluded where reason = 'invalid'),
        -- The rest is returned by the last page, or by each page.
        reserved = case when ${end !== undefined} and reserved_for = 'all' then reserved - (select count(*) from queued) end,
        reserved_for = case when ${end !== undefined} and reserved_for = 'all' then reserved_for end,
        freeze_cursor = ${end ?? null}, frozen_at = ${end ? sql`null` : sql`clock_timestamp()`}
      where project_id = ${projectId} and id = ${id}
      returning (select count(*)::int from queued) as recipients
    `,
  )
  return written
}
