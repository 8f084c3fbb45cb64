import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { findContactsOfAddress } from '../../contacts/record/former-addresses.ts'
import { FilterTime, readMoment } from '../../contacts/selection/filter.ts'
import { type Db, maybeOne } from '../../db/index.ts'
import { CursorQuery, severalOf } from '../../http/core/paging.ts'
import { idTime, isId, lowestId } from '../../lib/id.ts'
import { readAddress, readDomain } from '../../lib/text/address.ts'
import { likePattern } from '../../lib/text/like-pattern.ts'
import { DAY, HOUR, MINUTE } from '../../lib/text/units.ts'
import { emailOfMessageId } from '../outbox/enqueue.ts'
import { FACT_TIMES, type FactKind, IS_COUNTED } from '../outbox/outcomes/email-ledger.ts'
import { IS_SCHEDULED } from '../outbox/scheduled.ts'

export const STATUSES = [
  'PENDING',
  'SENDING',
  'SENT',
  'DELIVERED',
  'OPENED',
  'CLICKED',
  'BOUNCED',
  'COMPLAINED',
  'FAILED',
  'SKIPPED',
] as const
export type EmailStatus = (typeof STATUSES)[number]
export const SOURCE_TYPES = ['TRANSACTIONAL', 'CAMPAIGN', 'WORKFLOW', 'INBOUND'] as const

/** Facts by which emails are found, those of analytics. */
const FACTS = ['sent', 'delivered', 'opened', 'clicked', 'bounced', 'complained', 'unsubscribed'] as const satisfies FactKind[]
export type EmailFact = (typeof FACTS)[number]

/** Filters of the list and of its export, without the status: that is written differently in a query and in a body. */
export const EMAIL_FILTERS = {
  contactId: z.string().max(100).optional(),
  campaignId: z.string().max(100).optional(),
  templateId: z.string().max(100).optional(),
  sourceType: z.enum(SOURCE_TYPES).optional(),
  domain: z.string().max(255).optional().describe('Domain of the recipient, without its subdomains.'),
  createdFrom: FilterTime.optional(),
  createdTo: FilterTime.optional(),
  fact: z
    .enum(FACTS)
    .optional()
    .describe(
      'Emails to which this happened; opens and clicks by people. As in the figures of analytics, without test emails and received ones.',
    ),
  factFrom: FilterTime.optional().describe('The fact happened at this time or later. Counts only with `fact`.'),
  factTo: FilterTime.optional().describe('The fact happened at this time or earlier. Counts only with `fact`.'),
  batch: z.string().max(100).optional().describe('Emails of one message of SMTP submission, by the batch of its reply.'),
  scheduled: z.enum(['true']).optional().describe('Emails that wait for the time that their request gave.'),
  search: z
    .string()
    .max(255)
    .optional()
    .describe(
      'An address or part of it, part of the subject, the id of an email, a Message-ID, or the `X-Request-ID` of the call that sent it.',
    ),
}

export const EmailsQuery = CursorQuery.extend({
  ...EMAIL_FILTERS,
  status: severalOf(STATUSES).describe('One or several, also separated by commas.'),
  q: z.string().max(255).optional().describe('The same as `search`, which counts if both are given.'),
})
/** `isMasked`: rendered subjects are not searched. */
export type EmailFilter = Omit<z.output<typeof EmailsQuery>, 'limit' | 'cursor'> & { isMasked?: boolean }

/** The subject of the email `e`, unless it was rendered with values of its own. */
export const WRITTEN_SUBJECT = sql`case when e.campaign_id is null then c.subject else coalesce(e.subject, c.subject) end`

/** The outcome of sending counts first, then the latest fact. */
export const STATUS = sql`case
  when e.complained_at is not null then 'COMPLAINED'
  when e.bounced_at is not null or e.state = 'failed' and e.error_code = 'bounced' then 'BOUNCED'
  when e.state = 'failed' then 'FAILED'
  when e.state in ('skipped', 'cancelled') then 'SKIPPED'
  when e.clicked_at is not null then 'CLICKED'
  when e.opened_at is not null then 'OPENED'
  when e.delivered_at is not null then 'DELIVERED'
  when e.state = 'sent' then 'SENT'
  when e.state in ('sending', 'unknown') then 'SENDING'
  else 'PENDING' end`

/** Attempts of the email `e`, without those that ended because it was not permitted to leave. */
export const ATTEMPTS = sql`e.attempts - e.put_back`

/** True for filters that an index may not answer: they run under a time limit, and few at a time. */
export const isSearch = ({ contactId: _contact, isMasked: _mask, ...others }: EmailFilter) =>
  Object.values(others).some((value) => value !== undefined && value !== '')

const textOf = ({ search, q }: EmailFilter) => (search ?? q ?? '').trim()

/** Whether the conditions mention the content `c`. */
export const readsContent = (filter: EmailFilter) => filter.templateId !== undefined || textOf(filter) !== ''

/** Conditions on the email `e` and its content `c`. */
export async function emailMatchesSql(db: Db, projectId: string, filter: EmailFilter): Promise<RawBuilder<unknown>> {
  const text = textOf(filter)
  const conditions = [
    sql`e.project_id = ${projectId}`,
    byId(sql`e.contact_id`, filter.contactId),
    byId(sql`e.campaign_id`, filter.campaignId),
    byId(sql`c.template_id`, filter.templateId),
    byId(sql`e.content_id`, filter.batch),
    filter.status && sql`${STATUS} = any(${filter.status}::text[])`,
    filter.sourceType && sql`e.source_type = ${filter.sourceType}`,
    filter.domain ? byDomain(filter.domain) : undefined,
    ...isWithin(sql`e.created_at`, filter.createdFrom, filter.createdTo),
    filter.scheduled && IS_SCHEDULED,
    ...byFact(filter),
    emailRangeSql(filter),
    text ? await matchesText(db, projectId, { text, isMasked: filter.isMasked }) : undefined,
  ].filter((condition) => condition !== undefined)
  return sql.join(conditions, sql` and `)
}

const byId = (column: RawBuilder<unknown>, id: string | undefined) =>
  id === undefined ? undefined : isId(id) ? sql`${column} = ${id}` : sql`false`

/** By the expression of an index. */
function byDomain(given: string) {
  const domain = readDomain(given.replace(/^@/, ''))
  return domain ? sql`split_part(e.to_address, '@', 2) = ${domain}` : sql`false`
}

function isWithin(at: RawBuilder<unknown>, givenFrom: string | undefined, givenTo: string | undefined) {
  const [from, to] = [readMoment(givenFrom), readMoment(givenTo)]
  return [from && sql`${at} >= ${new Date(from.start)}`, to && sql`${at} < ${new Date(to.end)}`]
}

const byFact = ({ fact, factFrom, factTo }: EmailFilter) =>
  fact ? [sql`${FACT_TIMES[fact]} is not null and ${IS_COUNTED}`, ...isWithin(FACT_TIMES[fact], factFrom, factTo)] : []

/** Ids have the time of a node: a range of ids is a day wider than the range of times. */
const RANGE_MARGIN_MS = DAY

/**
 * The range of the primary key that has all emails of a filter; undefined without one. By time, and by the campaign, whose id has a time too: no
 * email is older than its campaign. Nothing happens to an email before it is there.
 */
export function emailRangeSql({ createdFrom, createdTo, campaignId, fact, factTo }: EmailFilter): RawBuilder<unknown> | undefined {
  const starts = [
    readMoment(createdFrom)?.start,
    campaignId && isId(campaignId) && campaignId[14] === '7' ? idTime(campaignId).getTime() : 0,
  ]
  const start = Math.max(...starts.map((at = 0) => at))
  const ends = [readMoment(createdTo)?.end, fact && readMoment(factTo)?.end].filter((at) => typeof at === 'number')
  const end = ends.length ? Math.min(...ends) : undefined
  const bounds = [
    ...(start ? [sql`e.id >= ${lowestId(new Date(Math.max(0, start - RANGE_MARGIN_MS)))}`] : []),
    ...(end === undefined ? [] : [sql`e.id < ${lowestId(new Date(end + RANGE_MARGIN_MS))}`]),
  ]
  return bounds.length ? sql.join(bounds, sql` and `) : undefined
}

/** How long a request may take from its id to the ids of its emails, and how far the clocks of two nodes may be apart. */
const REQUEST_MS = HOUR

type Search = { text: string; isMasked: boolean | undefined }

/** A text that looks like an id is looked up by an index; any other is searched among the emails, the newest first. */
async function matchesText(db: Db, projectId: string, { text, isMasked }: Search): Promise<RawBuilder<unknown>> {
  // Not narrowed: a text that is no id is still a string.
  const isUuid: boolean = isId(text)
  if (isUuid && text[14] === '7') return matchesId(text.toLowerCase())
  if (await isGivenRequest(db, projectId, text)) return givenRequest(text)
  if (isUuid) return sql`e.id = ${text}`
  const bare = text.replace(/^<(.*)>$/, '$1')
  const emailId = emailOfMessageId(bare)
  if (emailId) return sql`e.id = ${emailId} and e.message_id = ${bare}`
  const address = readAddress(bare)
  const isToAddress = address === null ? undefined : await isToAddressSql(db, projectId, address)
  if (isToAddress) return isToAddress
  const isReference = sql`e.message_id = ${bare} or e.provider_id = ${bare}`
  if (address) return sql`(e.to_address = ${address} or ${isReference})`
  const pattern = likePattern(text)
  const subject = isMasked ? WRITTEN_SUBJECT : sql`coalesce(e.subject, c.subject)`
  return sql`(e.to_address like ${pattern.normalize('NFC').toLowerCase()} or ${subject} ilike ${pattern} or ${isReference})`
}

/**
 * A whole address is found by its contacts, for which there is an index: all emails of the contact that has it, and of those that had it the
 * emails that went there. Undefined if no contact has it.
 */
export async function isToAddressSql(db: Db, projectId: string, address: string): Promise<RawBuilder<unknown> | undefined> {
  const found = await findContactsOfAddress(db, projectId, address)
  if (!found?.former.length) return found && sql`e.contact_id = ${found.holder}`
  const { holder, former } = found
  return sql`e.contact_id = any(${[holder, ...former]}::uuid[]) and (e.contact_id = ${holder} or e.to_address = ${address})`
}

/** The condition of the index of request ids that callers gave. */
const givenRequest = (text: string) => sql`e.request_id = ${text} and e.request_id !~ '^[0-9a-f]{8}-[0-9a-f]{4}-7'`

const isGivenRequest = async (db: Db, projectId: string, text: string) =>
  (await maybeOne(db)`select 1 from emails e where e.project_id = ${projectId} and ${givenRequest(text)} limit 1`) !== undefined

/** An email, or the call that sent it. The ids of our own requests have a time, near which its emails are. */
function matchesId(id: string) {
  const at = idTime(id).getTime()
  const [from, to] = [new Date(Math.max(0, at - MINUTE)), new Date(at + REQUEST_MS)]
  return sql`(e.id = ${id} or e.id >= ${lowestId(from)} and e.id < ${lowestId(to)} and e.request_id = ${id})`
}
