import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { FilterTime, readMoment } from '../../contacts/filter.ts'
import { type Db, maybeOne } from '../../db/index.ts'
import { CursorQuery } from '../../http/paging.ts'
import { readAddress, readDomain } from '../../lib/address.ts'
import { idTime, isId, lowestId } from '../../lib/id.ts'
import { DAY, HOUR, MINUTE } from '../../lib/units.ts'
import { emailOfMessageId } from '../outbox/enqueue.ts'

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
export const SOURCE_TYPES = ['TRANSACTIONAL', 'CAMPAIGN', 'WORKFLOW', 'INBOUND'] as const

/** `status=FAILED&status=BOUNCED`, or `status=FAILED,BOUNCED`. */
const Statuses = z.preprocess(
  (given) => (given === undefined ? undefined : [given].flat().flatMap((part) => (typeof part === 'string' ? part.split(',') : [part]))),
  z.array(z.enum(STATUSES)).min(1).max(STATUSES.length).optional(),
)

export const EmailsQuery = CursorQuery.extend({
  contactId: z.string().max(100).optional(),
  campaignId: z.string().max(100).optional(),
  templateId: z.string().max(100).optional(),
  status: Statuses.describe('One or several, also separated by commas.'),
  sourceType: z.enum(SOURCE_TYPES).optional(),
  domain: z.string().max(255).optional().describe('Domain of the recipient, without its subdomains.'),
  createdFrom: FilterTime.optional(),
  createdTo: FilterTime.optional(),
  q: z
    .string()
    .max(255)
    .optional()
    .describe(
      'An address or part of it, part of the subject, the id of an email, a Message-ID, or the `X-Request-ID` of the call that sent it.',
    ),
})
export type EmailFilter = Omit<z.output<typeof EmailsQuery>, 'limit' | 'cursor'>

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

/** Conditions of partial indexes. Without one, a rare status would be searched among all emails of the project. */
const INDEX_CONDITIONS: Partial<Record<string, RawBuilder<unknown>>> = {
  FAILED: sql`e.state = 'failed'`,
  SKIPPED: sql`e.state in ('skipped', 'cancelled')`,
  BOUNCED: sql`(e.bounced_at is not null or e.state = 'failed')`,
  COMPLAINED: sql`e.complained_at is not null`,
  CLICKED: sql`e.clicked_at is not null`,
  OPENED: sql`e.opened_at is not null`,
}

/** True for filters that an index may not answer: they run under a time limit, and few at a time. */
export const isSearch = ({ contactId: _contact, ...others }: EmailFilter) =>
  Object.values(others).some((value) => value !== undefined && value !== '')

/** Conditions on the email `e` and its content `c`. */
export async function emailMatchesSql(db: Db, projectId: string, filter: EmailFilter): Promise<RawBuilder<unknown>> {
  const conditions = [
    sql`e.project_id = ${projectId}`,
    byId(sql`e.contact_id`, filter.contactId),
    byId(sql`e.campaign_id`, filter.campaignId),
    byId(sql`c.template_id`, filter.templateId),
    filter.status && byStatus(filter.status),
    filter.sourceType && sql`e.source_type = ${filter.sourceType}`,
    filter.domain ? byDomain(filter.domain) : undefined,
    ...byTime(filter),
    filter.q?.trim() ? await matchesText(db, projectId, filter.q.trim()) : undefined,
  ].filter((condition) => condition !== undefined)
  return sql.join(conditions, sql` and `)
}

const byId = (column: RawBuilder<unknown>, id: string | undefined) =>
  id === undefined ? undefined : isId(id) ? sql`${column} = ${id}` : sql`false`

function byStatus(statuses: readonly string[]) {
  const indexed = statuses.map((status) => INDEX_CONDITIONS[status])
  const condition = indexed.every((each) => each !== undefined) ? sql`(${sql.join(indexed, sql` or `)})` : sql`true`
  return sql`${condition} and ${STATUS} = any(${statuses}::text[])`
}

function byDomain(given: string) {
  const domain = readDomain(given.replace(/^@/, ''))
  return domain ? sql`right(e.to_address, ${domain.length + 1}) = ${`@${domain}`}` : sql`false`
}

/** Also as a range of ids, which is that of the primary key. Ids have the time of a node: the range is a day wider on both sides. */
function byTime({ createdFrom, createdTo }: EmailFilter) {
  const [from, to] = [readMoment(createdFrom), readMoment(createdTo)]
  return [
    from && sql`e.created_at >= ${new Date(from.start)} and e.id >= ${lowestId(new Date(Math.max(0, from.start - DAY)))}`,
    to && sql`e.created_at < ${new Date(to.end)} and e.id < ${lowestId(new Date(to.end + DAY))}`,
  ]
}

/** How long a request may take from its id to the ids of its emails, and how far the clocks of two nodes may be apart. */
const REQUEST_MS = HOUR

/** What looks like an id is looked up by an index, everything else is searched among the emails, the newest first. */
async function matchesText(db: Db, projectId: string, text: string): Promise<RawBuilder<unknown>> {
  // Not narrowed: a text that is no id is still a string.
  const isUuid: boolean = isId(text)
  if (isUuid) return matchesId(text.toLowerCase())
  const bare = text.replace(/^<(.*)>$/, '$1')
  const emailId = emailOfMessageId(bare)
  if (emailId) return sql`e.id = ${emailId} and e.message_id = ${bare}`
  const address = readAddress(bare)
  const contact = address === null ? undefined : await findContactId(db, projectId, address)
  if (contact) return sql`e.contact_id = ${contact.id}`
  const isReference = sql`e.message_id = ${bare} or e.provider_id = ${bare} or e.request_id = ${text}`
  if (address) return sql`(e.to_address = ${address} or ${isReference})`
  const pattern = `%${text.replace(/[\\%_]/g, '\\$&')}%`
  return sql`(e.to_address like ${pattern.normalize('NFC').toLowerCase()} or coalesce(e.subject, c.subject) ilike ${pattern} or ${isReference})`
}

const findContactId = (db: Db, projectId: string, email: string) =>
  maybeOne(db, sql<{ id: string }>`select id from contacts where project_id = ${projectId} and email = ${email}`)

/** An email, or the call that sent it. The ids of our own requests have a time, near which its emails are. */
function matchesId(id: string) {
  if (id[14] !== '7') return sql`(e.id = ${id} or e.request_id = ${id})`
  const at = idTime(id).getTime()
  const [from, to] = [new Date(Math.max(0, at - MINUTE)), new Date(at + REQUEST_MS)]
  return sql`(e.id = ${id} or e.id >= ${lowestId(from)} and e.id < ${lowestId(to)} and e.request_id = ${id})`
}
