import { sql } from 'kysely'
import { isDuplicate, isReadTimeout, isStatementTimeout } from '../../db/errors/sql-state.ts'
import { maybeOne, maybeScalar, type Pool, scalar, type Tx, transact } from '../../db/index.ts'
import { enqueueAudienceSql } from '../../delivery/outbox/enqueue.ts'
import { insertAcceptedSql } from '../../delivery/outbox/outcomes/email-ledger.ts'
import { notifyQueued } from '../../delivery/outbox/streams/queue-notifications.ts'
import { PRIORITIES } from '../../delivery/outbox/streams/stream-of.ts'
import { type EmailType, SUPPRESSION_JOINS, verdictSql } from '../../delivery/rules/may-send.ts'
import { backoffSql } from '../../lib/concurrency/backoff.ts'
import { NIL_ID } from '../../lib/id.ts'
import type { Log } from '../../lib/process/log.ts'
import { MINUTE, SECOND } from '../../lib/text/units.ts'
import { hasCapSql } from '../../projects/caps.ts'
import { PAGE_FACTOR, sizeAfterPage } from '../../projects/page-size.ts'
import { inScanTurn } from '../../projects/scans.ts'
import { audienceSql, type ResolvedAudience } from '../draft/audience.ts'
import type { CampaignKey } from '../draft/campaign.ts'
import { findDue } from './due.ts'
import { pauseBySystem, UNFROZEN } from './pause.ts'
import { reserveRecipients, returnReservation } from './reserve.ts'

/** Contacts that one transaction looks at, matching or not. */
const LARGEST_PAGE = 5_000
/** While the time of a contact is unknown. */
const FIRST_PAGE = 20
/** Requests to pause or cancel wait for the page, and give up after 2 s. */
const PAGE_MS = 1_800
const ONE_CONTACT_MS = 12_000
/** Failed attempts in a row after which a person decides: about six minutes after the first, so that an outage pauses nothing. */
const MAX_ATTEMPTS = 10
const REST_MS = { first: SECOND, longest: 2 * MINUTE }

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
  /** `page` also before the next page is reserved. */
  reservedFor: 'all' | 'page' | null
  /** Contacts of the next page. */
  size: number
}

/** The page has more recipients than were reserved, so it was not written. */
class BeyondReservationError extends Error {
  readonly isWhole: boolean
  constructor(isWhole: boolean) {
    super('a page has more recipients than were reserved')
    this.isWhole = isWhole
  }
}

/**
 * Writes recipients and excluded contacts of a page of contacts, and the position, in one commit. Any worker can write the next page.
 * `none`: nothing was written, because the page is retried later or the campaign is frozen, paused or over.
 */
export async function freezeNextPage(db: Pool, key: CampaignKey, log: Log): Promise<'more' | 'last' | 'none'> {
  try {
    const page = await freezeInTurn(db, key)
    return page === 'unreserved' ? await goOnOrPause(db, key, await reserveRecipients(db, key)) : page
  } catch (err) {
    if (err instanceof BeyondReservationError) {
      await returnReservation(db, key)
      return goOnOrPause(db, key, err.isWhole)
    }
    await postponePage(db, key, { err, log })
    return 'none'
  }
}

/** Campaigns whose next page is due. */
export const findUnfrozen = (db: Pool, except: string[]) => findDue(db, { which: UNFROZEN, dueAt: sql.ref('freeze_due_at'), except })

/** Pages of all contacts need no turn: they evaluate no condition. */
async function freezeInTurn(db: Pool, key: CampaignKey) {
  const page = await findNextPage(db, key)
  if (!page) return 'none'
  const freeze = () => freezePageOnce(db, key)
  return page.hasCondition ? inScanTurn(db, { projectId: key.projectId, isLong: page.size === 1 }, freeze, () => 'none' as const) : freeze()
}

const findNextPage = (db: Pool, { projectId, id }: CampaignKey) =>
  maybeOne<{ hasCondition: boolean; size: number }>(db)`
    select frozen_audience is not null as "hasCondition", freeze_page as size from campaigns where project_id = ${projectId} and id = ${id}
  `

/** Position and rows are written together, so no row of a page exists. If one does, whatever the cause, it is left out. */
const freezePageOnce = (db: Pool, key: CampaignKey) =>
  transact(db, (tx) => freezePage(tx, key, { mayExist: false })).catch((err) => {
    if (!isDuplicate(err)) throw err
    return transact(db, (tx) => freezePage(tx, key, { mayExist: true }))
  })

async function goOnOrPause(db: Pool, key: CampaignKey, hasRoom: boolean) {
  if (hasRoom) return 'more'
  await pauseBySystem(db, key, 'billing_limit')
  return 'none'
}

/** The page is tried again later, after 1 s, 2 s, 4 s, …; a smaller one if it took too long. The last attempt pauses the campaign. */
async function postponePage(db: Pool, key: CampaignKey, { err, log }: { err: unknown; log: Log }) {
  const isTooSlow = isStatementTimeout(err) || isReadTimeout(err)
  const postponed = await transact(db, (tx) => recordFailure(tx, key, isTooSlow))
  if (!postponed) return
  const fields = { projectId: key.projectId, campaignId: key.id, ...postponed }
  if (isTooSlow && postponed.size > 1) log.warn(fields, 'a page of recipients took too long; the next one is smaller')
  else log.error({ err, ...fields }, 'a page of recipients cannot be written; retrying later')
  if (postponed.attempts < MAX_ATTEMPTS) return
  await pauseBySystem(db, key, 'audience_failed')
  log.error(fields, 'the recipients of a campaign cannot be written; it is paused')
}

/** `size`: of the page that failed. */
const recordFailure = (tx: Tx, { projectId, id }: CampaignKey, isTooSlow: boolean) =>
  maybeOne<{ attempts: number; size: number }>(tx)`
    with failed as (
      select project_id, id, freeze_page from campaigns
      where project_id = ${projectId} and id = ${id} and status = 'SENDING' and frozen_at is null
      for no key update
    )
    update campaigns c set freeze_attempts = freeze_attempts + 1,
      freeze_due_at = clock_timestamp() + ${backoffSql(sql`freeze_attempts`, REST_MS)},
      freeze_page = ${isTooSlow ? sql`greatest(1, c.freeze_page / ${PAGE_FACTOR})` : sql`c.freeze_page`}
    from failed f where c.project_id = f.project_id and c.id = f.id
    returning freeze_attempts as attempts, f.freeze_page as size
  `

/**
 * `none`: nothing to write, or the row is locked at the moment, by another page or by its counters. `unreserved`: the project has a cap, and
 * nothing is reserved.
 */
async function freezePage(tx: Tx, key: CampaignKey, { mayExist }: { mayExist: boolean }): Promise<'more' | 'last' | 'none' | 'unreserved'> {
  const campaign = await lockUnfrozen(tx, key)
  if (!campaign) return 'none'
  if (campaign.hasCap && campaign.reserved === null) return 'unreserved'
  const { size } = campaign
  await sql`set local statement_timeout = ${sql.lit(size > 1 ? PAGE_MS : ONE_CONTACT_MS)}`.execute(tx)
  const startedAt = performance.now()
  const after = campaign.cursor ?? NIL_ID
  const end = await findPageEnd(tx, { projectId: key.projectId, after, size })
  // If the database crashes it may lose this page and the position after it, both together; the page is then written again. No email of a lost page
  // was sent: the mark that comes before sending is flushed to disk, and with it everything committed earlier.
  if (end !== undefined) await sql`set local synchronous_commit = off`.execute(tx)
  const recipients = await writePage(tx, campaign, { after, end, mayExist })
  if (campaign.hasCap && recipients > campaign.reserved!) throw new BeyondReservationError(campaign.reservedFor === 'all')
  await resizePage(tx, campaign, performance.now() - startedAt)
  await notifyQueued(tx, PRIORITIES.bulk)
  return end === undefined ? 'last' : 'more'
}

async function resizePage(tx: Tx, { projectId, id, size }: Frozen, ms: number) {
  const next = sizeAfterPage(size, { ms, largest: LARGEST_PAGE })
  if (next !== size) await sql`update campaigns set freeze_page = ${next} where project_id = ${projectId} and id = ${id}`.execute(tx)
}

/** Contacts of the first page of an audience. */
export const firstPageOf = (audience: ResolvedAudience) => (audience ? FIRST_PAGE : LARGEST_PAGE)

/** Undefined when it is frozen, cancelled, paused by a cap or by failures, or another worker writes a page of it. */
const lockUnfrozen = (tx: Tx, { projectId, id }: CampaignKey) =>
  maybeOne<Frozen>(tx)`
    select project_id as "projectId", id, type, content_id as "contentId", from_address as "from", frozen_audience as audience,
      started_at as "startedAt", freeze_cursor as cursor, freeze_page as size, ${hasCapSql(projectId, 'campaigns')} as "hasCap", reserved,
      reserved_for as "reservedFor"
    from campaigns c where project_id = ${projectId} and id = ${id} and ${UNFROZEN}
      -- Started while its project was being reset: it is deleted with the rest.
      and not exists (select from project_wipes w where w.project_id = c.project_id and w.requested_at >= c.created_at)
    for no key update skip locked
  `

type Range = { after: string; end: string | undefined; mayExist: boolean }

/** The last contact of the page; undefined if the page is the last one. Reads only the index. */
const findPageEnd = (tx: Tx, { projectId, after, size }: { projectId: string; after: string; size: number }) =>
  maybeScalar<string>(tx)`select id from contacts where project_id = ${projectId} and id > ${after} order by id offset ${size - 1} limit 1`

/** Contacts created after the start are never among them, nor are events and memberships after it. Returns the number of recipients. */
async function writePage(tx: Tx, campaign: Frozen, { after, end, mayExist }: Range): Promise<number> {
  const { projectId, id, type, contentId, from, audience, startedAt, size } = campaign
  const matches = await audienceSql(tx, audience, { projectId, at: startedAt })
  const judged = sql`
    select contacts.id as contact_id, contacts.email as address, ${verdictSql(type)} as reason
    from contacts ${SUPPRESSION_JOINS}
    where contacts.project_id = ${projectId} and contacts.id > ${after} ${end ? sql`and contacts.id <= ${end}` : sql``}
      and contacts.created_at <= (select started_at from campaigns where project_id = ${projectId} and id = ${id})
      and ${matches}`
  const recipients = sql`(select contact_id, address from judged where reason is null order by contact_id) as recipients`
  const page = { projectId, campaignId: id, contentId, fromDomain: from.split('@')[1]!, contacts: size, mayExist }
  return scalar<number>(tx)`
    with judged as materialized (${judged}),
    queued as (${enqueueAudienceSql(recipients, page)} returning project_id, source_type, metered),
    counted as (
      ${insertAcceptedSql(sql`select project_id, source_type from queued where metered`)}
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
      reserved_for = case when ${end !== undefined} then reserved_for end,
      freeze_cursor = ${end ?? null}, frozen_at = ${end ? sql`null` : sql`clock_timestamp()`},
      freeze_attempts = 0, freeze_due_at = clock_timestamp()
    where project_id = ${projectId} and id = ${id}
    returning (select count(*)::int from queued)
  `
}
