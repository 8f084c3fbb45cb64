import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { withNames } from '../../contacts/fields/name-fields.ts'
import type { Db, Pool } from '../../db/index.ts'
import { ATTEMPTS, isToAddressSql, STATUS, STATUSES } from '../../delivery/emails/filter.ts'
import { CONTACT } from '../../delivery/outbox/outcomes/contact-id.ts'
import { EMAIL_OUTCOMES } from '../../delivery/outbox/outcomes/email-ledger.ts'
import { ERROR_CODE, ERROR_CODE_LIST } from '../../delivery/outbox/outcomes/error-code.ts'
import { CAUSED_BY_HUMAN } from '../../events/last-events.ts'
import { CursorQuery, readKeysetPage } from '../../http/core/paging.ts'
import { Timestamp } from '../../http/core/validate.ts'
import { countWithin, searchWithin } from '../../http/limits/bounded-read.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { readAddress } from '../../lib/text/address.ts'
import { addressPattern } from '../../lib/text/like-pattern.ts'
import type { CampaignKey, CampaignRow } from '../draft/campaign.ts'

export const OUTCOMES = ['sent', 'failed', 'skipped', 'open'] as const

/** Filters by what recipients did, or what happened to their email; `not…`: recipients that got the email and did not. */
const { sent, failed: _failed, skipped: _skipped, ...FACTS } = EMAIL_OUTCOMES
const ACTIVITIES = {
  ...FACTS,
  notOpened: sql`${sent} and e.opened_at is null`,
  notClicked: sql`${sent} and e.clicked_at is null`,
} satisfies Record<string, RawBuilder<unknown>>
type Activity = keyof typeof ACTIVITIES

export const CampaignRecipient = z
  .object({
    id: z.uuid().describe('The id of the email.'),
    contactId: z.uuid().nullable().describe('Null if the contact was deleted.'),
    email: z.string().describe('The address that was used. Before that, the address at the start of the campaign.'),
    name: z.string().nullable().describe('The name of the contact now, by `nameFields` of the project.'),
    status: z.enum(STATUSES),
    outcome: z.enum(OUTCOMES).describe('Each recipient has one; they add up to the counters of the campaign.'),
    reason: z.enum(ERROR_CODE_LIST).nullable().describe('Why it failed, was skipped, or has to wait.'),
    attempts: z.int(),
    queuedAt: Timestamp,
    sentAt: Timestamp.nullable(),
    deliveredAt: Timestamp.nullable(),
  })
  .meta({ id: 'CampaignRecipient' })

/** Filters of the list and of its export. */
export const RecipientFilter = {
  status: z.enum(STATUSES).optional(),
  outcome: z.enum(OUTCOMES).optional(),
  reason: z.enum(ERROR_CODE_LIST).optional(),
  activity: z
    .enum(Object.keys(ACTIVITIES) as [Activity, ...Activity[]])
    .optional()
    .describe('The recipients behind a counter: `opened` lists `openedCount` recipients, also those that clicked later.'),
  link: z.string().max(2_000).optional().describe('Recipients that clicked this link, without machines.'),
  search: z.string().max(255).optional().describe('An address, or part of it.'),
}
export type RecipientSelection = z.output<z.ZodObject<typeof RecipientFilter>>

export const RecipientsQuery = CursorQuery.extend(RecipientFilter)

type RecipientRow = Omit<z.output<typeof CampaignRecipient>, 'name'> & { position: string }

export const OUTCOME = sql`case e.state when 'sent' then 'sent' when 'failed' then 'failed' when 'skipped' then 'skipped' when 'cancelled' then 'skipped' else 'open' end`

/** States of each outcome. Written out, so that an index of a rare state can be used. */
const STATES: Record<(typeof OUTCOMES)[number], RawBuilder<unknown>> = {
  sent: sql`e.state = 'sent'`,
  failed: sql`e.state = 'failed'`,
  skipped: sql`e.state in ('skipped', 'cancelled')`,
  open: sql`e.state in ('queued', 'deferred', 'sending', 'unknown')`,
}

export const RECIPIENT_COLUMNS = sql`
  e.id, e.contact_id as position, ${CONTACT} as "contactId", e.to_address as email, ${STATUS} as status, ${OUTCOME} as outcome,
  ${ERROR_CODE} as reason, ${ATTEMPTS} as attempts, e.created_at as "queuedAt", e.sent_at as "sentAt", e.delivered_at as "deliveredAt"`

/** The emails `e` of a campaign, without the tests. */
export const ofCampaignSql = ({ projectId, id }: CampaignKey) => sql`e.project_id = ${projectId} and e.campaign_id = ${id} and not e.test`

/** Condition on the email `e`. */
export async function recipientMatchesSql(db: Db, projectId: string, filter: RecipientSelection): Promise<RawBuilder<unknown>> {
  const { status, outcome, reason, activity, link, search = '' } = filter
  const conditions = [
    outcome && STATES[outcome],
    status && sql`${STATUS} = ${status}`,
    reason && sql`${ERROR_CODE} = ${reason}`,
    activity && ACTIVITIES[activity],
    link ? clickedSql(link) : undefined,
    search.trim() ? await bySearch(db, projectId, search.trim()) : undefined,
  ].filter((condition) => condition !== undefined)
  return conditions.length ? sql.join(conditions, sql` and `) : sql`true`
}

/** By contact and name, which have an index. */
const clickedSql = (link: string) => sql`e.clicked_at is not null and exists (
  select from events where events.project_id = e.project_id and events.contact_id = e.contact_id and events.name = 'email.click'
    and events.email_id = e.id and events.data ->> 'link' = ${link} and ${CAUSED_BY_HUMAN})`

async function bySearch(db: Db, projectId: string, text: string) {
  const address = readAddress(text)
  const isToAddress = address === null ? undefined : await isToAddressSql(db, projectId, address)
  if (isToAddress) return isToAddress
  return sql`e.to_address like ${addressPattern(text)}`
}

/** Totals are exact up to this number; beyond it, or when counting takes longer, they are estimates. */
const COUNT = { upTo: 10_000, ms: 1_000 }
const SEARCH = { ms: 3_000, advice: 'Filter by outcome, or search for a whole address.' }

/** In the order of the contacts. */
export async function listRecipients(db: Pool, secrets: Secrets, campaign: CampaignRow, query: z.output<typeof RecipientsQuery>) {
  const { projectId, id } = campaign
  const { limit: _limit, cursor, ...filter } = query
  const where = sql`${ofCampaignSql({ projectId, id })} and ${await recipientMatchesSql(db, projectId, filter)}`
  const page = await searchWithin(db, SEARCH, (tx) =>
    readKeysetPage(tx, secrets, {
      scope: JSON.stringify(['recipients', projectId, id, filter]),
      query,
      select: ({ after, limit }) => sql<RecipientRow>`
        select ${RECIPIENT_COLUMNS} from emails e
        where ${where} ${after ? sql`and e.contact_id > ${after[0]}` : sql``} order by e.contact_id limit ${limit}
      `,
      positionOf: ({ position }) => [position],
    }),
  )
  const named = { ...page, data: await withNames(db, projectId, page.data) }
  if (cursor !== undefined) return named
  return { ...named, total: knownTotal(campaign, filter) ?? (await countWithin(db, sql`select 1 from emails e where ${where}`, COUNT)) }
}

/** From the counters, which hold the total of each outcome. */
function knownTotal(campaign: CampaignRow, { outcome, search, ...others }: RecipientSelection): number | undefined {
  // Once the counters are closed, the recipients are fewer.
  if (campaign.countersClosedAt || search?.trim() || Object.values(others).some(Boolean)) return undefined
  const { totalRecipients, sentCount, failedCount, skippedCount } = campaign
  if (!outcome) return totalRecipients
  const open = totalRecipients - sentCount - failedCount - skippedCount
  return { sent: sentCount, failed: failedCount, skipped: skippedCount, open: Math.max(0, open) }[outcome]
}
