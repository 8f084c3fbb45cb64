import { sql } from 'kysely'
import { countRows, type Pool, type Tx, transact } from '../../db/index.ts'
import { insertContents } from '../../delivery/outbox/enqueue.ts'
import { openStream } from '../../delivery/outbox/streams/streams.ts'
import { maySendSql, SUPPRESSION_JOINS } from '../../delivery/rules/may-send.ts'
import type { CallingProject } from '../../http/auth/key-lookup.ts'
import { requireSenderDomain } from '../../http/auth/scopes.ts'
import { nextRevision } from '../../http/core/if-match.ts'
import { LONG_STATEMENT_MS } from '../../http/limits/too-slow.ts'
import { fail } from '../../lib/errors/errors.ts'
import { newId } from '../../lib/id.ts'
import { overCap, readCaps, readRoom } from '../../projects/caps.ts'
import { scanContacts } from '../../projects/scans.ts'
import { recordFacts } from '../../webhooks/facts.ts'
import { audienceOf, audienceScanSql, type ResolvedAudience, resolveAudience } from '../draft/audience.ts'
import { type Actor, recordAction } from '../draft/audit.ts'
import { type CampaignKey, type CampaignRow, contentOfCampaign, failByStatus, getCampaign } from '../draft/campaign.ts'
import { lockVerifiedSender } from '../draft/lock-sender.ts'
import { lockCampaign } from '../draft/replace.ts'
import { firstPageOf } from './freeze.ts'

/** The caller who starts a campaign, and the key it uses. */
export type Starter = { caller: CallingProject; actor: Actor }

/**
 * Starts a campaign now. Content and audience are copied in the commit that makes it SENDING: changes of the template or of a segment no
 * longer change it. A worker writes the recipients.
 */
export async function sendNow(db: Pool, key: CampaignKey, { caller, actor }: Starter): Promise<CampaignRow> {
  await assertSendable(db, key)
  return transact(db, async (tx) => {
    const locked = await lockToStart(tx, key, caller)
    await lockVerifiedSender(tx, key.projectId, locked)
    return startCampaign(tx, locked, { actor, startedBy: actor })
  })
}

/** Fails unless the campaign could be sent now: its status, at least one recipient, and room for all of them. */
export async function assertSendable(db: Pool, key: CampaignKey) {
  const campaign = await getCampaign(db, key)
  assertStartable(campaign)
  await assertRecipients(db, campaign)
}

function assertStartable({ status }: Pick<CampaignRow, 'status'>) {
  if (status !== 'DRAFT' && status !== 'SCHEDULED') failByStatus(status, 'sent')
}

/** The campaign as it is once its row is locked: two requests at the same moment start it once. */
export async function lockToStart(tx: Tx, key: CampaignKey, caller: CallingProject): Promise<CampaignRow> {
  await lockCampaign(tx, key)
  const campaign = await getCampaign(tx, key)
  assertStartable(campaign)
  requireSenderDomain(caller, campaign.from)
  return campaign
}

/** At least one, and no more than the cap of the project allows. */
async function assertRecipients(db: Pool, campaign: CampaignRow) {
  const [cap] = await readCaps(db, [campaign.projectId], 'campaigns')
  const room = cap ? Math.max(0, cap.limit - cap.used) : undefined
  const recipients = await countRecipients(db, campaign, room === undefined ? 1 : room + 1)
  if (recipients === 0) fail('BAD_REQUEST', { message: 'This campaign has no recipients.', details: { recipients: 0 } })
  if (cap && recipients !== undefined && recipients > room!) throw overCap('campaigns', { limit: cap.limit, used: cap.used })
}

/** Whether a campaign has more recipients than the cap of its project allows. Unknown counts as no: the freeze finds out. */
export async function exceedsCap(db: Pool, campaign: CampaignRow): Promise<boolean> {
  const room = await readRoom(db, campaign.projectId, 'campaigns')
  if (room === Number.POSITIVE_INFINITY) return false
  const recipients = await countRecipients(db, campaign, room + 1)
  return recipients !== undefined && recipients > room
}

/** Counts recipients up to `limit`. Bounded: undefined if the audience takes too long to evaluate. */
async function countRecipients(db: Pool, campaign: CampaignRow, limit: number): Promise<number | undefined> {
  const { projectId, type } = campaign
  const audience = await resolveAudience(db, projectId, audienceOf(campaign))
  const { joins, matches } = await audienceScanSql(db, audience, { projectId })
  const recipients = sql`
    select 1 from contacts ${joins} ${SUPPRESSION_JOINS}
    where contacts.project_id = ${projectId} and ${matches} and ${maySendSql(type)} limit ${limit}`
  return scanContacts(db, { projectId, ms: LONG_STATEMENT_MS }, (tx) => countRows(tx, recipients))
}

type Start = {
  actor: Actor
  /** The person or key that sent or scheduled it. */
  startedBy: Pick<Actor, 'userId'> & { by: string }
}

/** Call it with the campaign locked. */
export async function startCampaign(tx: Tx, campaign: CampaignRow, { actor, startedBy }: Start): Promise<CampaignRow> {
  const { projectId, id } = campaign
  const audience = await resolveAudience(tx, projectId, audienceOf(campaign))
  const contentId = await copyContent(tx, campaign)
  await markStarted(tx, { projectId, id }, { contentId, audience, startedBy })
  await openStream(tx, { projectId, streamId: id, fromDomain: campaign.from.split('@')[1]!, ratePerMinute: campaign.ratePerMinute })
  await recordAction(tx, { projectId, id }, { action: 'started', actor })
  await recordFacts(tx, [{ projectId, type: 'campaign.started', data: { campaignId: id } }])
  return getCampaign(tx, { projectId, id })
}

/** The content that every email of the campaign refers to. It never changes. */
async function copyContent(tx: Tx, campaign: CampaignRow): Promise<string> {
  const id = newId()
  await insertContents(tx, [{ ...contentOfCampaign(campaign), projectId: campaign.projectId, id }])
  return id
}

type Frozen = { contentId: string; audience: ResolvedAudience; startedBy: Start['startedBy'] }

const markStarted = (tx: Tx, { projectId, id }: CampaignKey, { contentId, audience, startedBy }: Frozen) =>
  sql`
    update campaigns set status = 'SENDING', started_at = clock_timestamp(), started_by = ${JSON.stringify(startedBy)}::jsonb,
      content_id = ${contentId}, frozen_audience = ${audience && JSON.stringify(audience)}::jsonb, freeze_cursor = null, frozen_at = null,
      freeze_page = ${firstPageOf(audience)},
      scheduled_for = case when status = 'SCHEDULED' and scheduled_for <= clock_timestamp() then scheduled_for end,
      updated_at = ${nextRevision(sql.ref('updated_at'))}
    where project_id = ${projectId} and id = ${id} and status in ('DRAFT', 'SCHEDULED')
  `.execute(tx)
