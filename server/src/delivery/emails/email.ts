import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { countRows, type Db, maybeOne } from '../../db/index.ts'
import { CursorQuery, readKeysetPage } from '../../http/paging.ts'
import { Timestamp } from '../../http/validate.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { CONTACT } from '../outbox/contact-id.ts'
import { ERROR_CODE, ERROR_CODE_LIST } from '../outbox/error-code.ts'

const STATUSES = ['PENDING', 'SENDING', 'SENT', 'DELIVERED', 'OPENED', 'CLICKED', 'BOUNCED', 'COMPLAINED', 'FAILED', 'SKIPPED'] as const

const time = Timestamp.nullable()

export const Email = z
  .object({
    id: z.uuid(),
    projectId: z.uuid(),
    contactId: z.uuid().nullable(),
    messageId: z.string(),
    subject: z.string().describe('As rendered. Before that, as written, with its variables.'),
    from: z.string(),
    fromName: z.string().nullable(),
    to: z.string(),
    toName: z.string().nullable(),
    replyTo: z.string().nullable(),
    sourceType: z.enum(['TRANSACTIONAL', 'CAMPAIGN', 'WORKFLOW', 'INBOUND']),
    type: z.enum(['TRANSACTIONAL', 'MARKETING', 'HEADLESS']),
    templateId: z.uuid().nullable(),
    templateVersion: z.int().nullable().describe('The version of the template when the email was accepted.'),
    campaignId: z.uuid().nullable(),
    workflowExecutionId: z.uuid().nullable(),
    status: z.enum(STATUSES),
    sentAt: time,
    deliveredAt: time,
    openedAt: time,
    clickedAt: time,
    bouncedAt: time,
    complainedAt: time,
    outcomeUnknownSince: time.describe('Since when the email is handed over without a reply. Null when the outcome is known.'),
    opens: z.int(),
    clicks: z.int(),
    error: z.string().nullable(),
    errorCode: z
      .enum(ERROR_CODE_LIST)
      .nullable()
      .describe('The class of `error`. docs/sending.md lists the classes for which a resend may help.'),
    attempts: z.int(),
    test: z.boolean().describe('A test email: not tracked, without events, and in no counts.'),
    resentFrom: z.uuid().nullable().describe('The failed email of which this one is a resend.'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Email' })

type EmailJson = z.output<typeof Email>
const TIMES = [
  'sentAt',
  'deliveredAt',
  'openedAt',
  'clickedAt',
  'bouncedAt',
  'complainedAt',
  'outcomeUnknownSince',
  'createdAt',
  'updatedAt',
] as const
type Row = Omit<EmailJson, (typeof TIMES)[number]> & Record<(typeof TIMES)[number], Date | null>

/** The outcome of sending counts first, then the latest fact. */
const STATUS = sql`case
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

const COLUMNS = sql`
  e.id, e.project_id as "projectId", ${CONTACT} as "contactId", e.message_id as "messageId", coalesce(e.subject, c.subject) as subject, c.from_address as "from",
  c.from_name as "fromName", e.to_address as "to", e.to_name as "toName", c.reply_to as "replyTo", e.source_type as "sourceType", c.type,
  c.template_id as "templateId", c.template_version as "templateVersion", e.campaign_id as "campaignId", e.workflow_execution_id as "workflowExecutionId", ${STATUS} as status,
  e.sent_at as "sentAt", e.delivered_at as "deliveredAt", e.opened_at as "openedAt", e.clicked_at as "clickedAt", e.bounced_at as "bouncedAt",
  e.complained_at as "complainedAt", e.unknown_since as "outcomeUnknownSince", e.opens, e.clicks,
  case when e.state = 'cancelled' then 'cancelled' else e.error end as error, ${ERROR_CODE} as "errorCode", e.attempts, e.test, e.resent_from as "resentFrom",
  e.created_at as "createdAt", e.updated_at as "updatedAt"`

function showEmail(row: Row): EmailJson {
  const times = Object.fromEntries(TIMES.map((name) => [name, row[name]?.toISOString() ?? null]))
  return { ...row, ...(times as Pick<EmailJson, (typeof TIMES)[number]>) }
}

export const EmailsQuery = CursorQuery.extend({
  contactId: z.string().max(100).optional(),
  campaignId: z.string().max(100).optional(),
  status: z.enum(STATUSES).optional(),
})

/** Totals are exact up to this number, and stop there. */
const COUNT_UP_TO = 10_000

/** Newest first. */
export function listEmails(db: Db, secrets: Secrets, projectId: string, query: z.output<typeof EmailsQuery>) {
  const { limit: _limit, cursor: _cursor, ...filter } = query
  const where = emailFilter(projectId, filter)
  return readKeysetPage(db, secrets, {
    scope: JSON.stringify(['emails', projectId, filter]),
    query,
    select: ({ after, limit }) => sql<Row>`
      select ${COLUMNS} from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id
      where ${where} ${after ? sql`and e.id < ${after[0]}` : sql``} order by e.id desc limit ${limit}
    `,
    positionOf: ({ id }) => [id],
    show: showEmail,
    count: () => countRows(db, sql`select 1 from emails e where ${where} limit ${COUNT_UP_TO}`),
  })
}

const isUuid = (text: string) => z.uuid().safeParse(text).success

function emailFilter(
  projectId: string,
  { contactId, campaignId, status }: { contactId?: string | undefined; campaignId?: string | undefined; status?: string | undefined },
) {
  const by = (column: RawBuilder<unknown>, id: string | undefined) =>
    id === undefined ? sql`` : isUuid(id) ? sql`and ${column} = ${id}` : sql`and false`
  return sql`e.project_id = ${projectId} ${by(sql`e.contact_id`, contactId)} ${by(sql`e.campaign_id`, campaignId)}
    ${status === undefined ? sql`` : sql`and ${INDEX_CONDITIONS[status] ?? sql`true`} and ${STATUS} = ${status}`}`
}

/** Conditions of partial indexes. Without one, a rare status would be searched among all emails of the project. */
const INDEX_CONDITIONS: Partial<Record<string, RawBuilder<unknown>>> = {
  FAILED: sql`e.state = 'failed'`,
  SKIPPED: sql`e.state in ('skipped', 'cancelled')`,
  BOUNCED: sql`(e.bounced_at is not null or e.state = 'failed')`,
  COMPLAINED: sql`e.complained_at is not null`,
  CLICKED: sql`e.clicked_at is not null`,
  OPENED: sql`e.opened_at is not null`,
}

export async function findEmail(db: Db, projectId: string, id: string) {
  const row = await maybeOne(
    db,
    sql<Row>`
      select ${COLUMNS} from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id
      where e.project_id = ${projectId} and e.id = ${id}
    `,
  )
  return row && showEmail(row)
}
