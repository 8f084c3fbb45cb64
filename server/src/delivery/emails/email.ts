import { sql } from 'kysely'
import { z } from 'zod'
import { columns } from '../../db/columns.ts'
import { type Db, maybeOne, type Pool } from '../../db/index.ts'
import { readKeysetPage } from '../../http/core/paging.ts'
import { Timestamp } from '../../http/core/validate.ts'
import { countWithin, searchWithin } from '../../http/limits/bounded-read.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { CONTACT } from '../outbox/outcomes/contact-id.ts'
import { ERROR_CODE, ERROR_CODE_LIST } from '../outbox/outcomes/error-code.ts'
import { type EmailSelection, selectEmailIds, selectEmails } from './email-ids.ts'
import { ATTEMPTS, type EmailsQuery, SOURCE_TYPES, STATUS, STATUSES, WRITTEN_SUBJECT } from './filter.ts'

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
    to: z
      .string()
      .describe(
        'The address that was used. Before that, the one that is known: an email to a contact goes to the address that the contact has when it leaves.',
      ),
    toName: z.string().nullable(),
    replyTo: z.string().nullable(),
    sourceType: z.enum(SOURCE_TYPES),
    type: z.enum(['TRANSACTIONAL', 'MARKETING', 'HEADLESS']),
    templateId: z.uuid().nullable(),
    templateVersion: z.int().nullable().describe('The version of the template when the email was accepted.'),
    campaignId: z.uuid().nullable(),
    workflowExecutionId: z.uuid().nullable(),
    status: z.enum(STATUSES),
    sendAt: time.describe('When it is to be sent, if its request gave a time.'),
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
    requestId: z.string().nullable().describe('`X-Request-ID` of the call that sent it.'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Email' })

export type ShownEmail = z.output<typeof Email>

/** As rendered, once it is and differs. */
const SUBJECT = sql`coalesce(e.subject, c.subject)`

const shownColumns = (subject = SUBJECT) => sql`
  ${columns('emails', 'e', ['id', 'messageId', 'sourceType', 'campaignId', 'workflowExecutionId', 'opens', 'clicks', 'test', 'requestId'])},
  ${columns('emails', 'e', ['createdAt', 'sentAt', 'deliveredAt', 'openedAt', 'clickedAt', 'bouncedAt', 'complainedAt'])},
  ${columns('contents', 'c', ['type', 'templateId'])}, ${CONTACT} as "contactId", e.to_address as "to", c.from_address as "from",
  ${subject} as subject, ${STATUS} as status, ${ATTEMPTS} as attempts, ${ERROR_CODE} as "errorCode",
  case when e.state = 'cancelled' then 'cancelled' else e.error end as error`

/** Columns of an email `e` and its content `c`, in the list and in the export. */
export const SHOWN_COLUMNS = shownColumns()

const emailColumns = ({ isMasked }: { isMasked: boolean }) => sql`
  ${isMasked ? shownColumns(WRITTEN_SUBJECT) : SHOWN_COLUMNS},
  ${columns('emails', 'e', ['projectId', 'toName', 'resentFrom', 'updatedAt', 'sendAt'])}, e.unknown_since as "outcomeUnknownSince",
  ${columns('contents', 'c', ['fromName', 'replyTo', 'templateVersion'])}`

/** Totals are exact up to this number; beyond it, or when counting takes longer, they are estimates. */
const COUNT = { upTo: 10_000, ms: 1_000 }
/** Only few emails match, among very many: better refused than slow for everybody. */
const SEARCH = { ms: 3_000, advice: 'Narrow it by time, status or recipient.' }

type ListQuery = z.output<typeof EmailsQuery> & { isMasked: boolean }

/** Newest first. */
export async function listEmails(db: Pool, secrets: Secrets, projectId: string, query: ListQuery) {
  const { limit: _limit, cursor, ...filter } = query
  const selection = await selectEmails(db, projectId, filter)
  const page = await searchWithin(db, SEARCH, (tx) =>
    readKeysetPage(tx, secrets, {
      scope: JSON.stringify(['emails', projectId, filter]),
      query,
      select: ({ after, limit }) => sql<ShownEmail>`
        with found as materialized (${selectEmailIds(selection, { before: after?.[0] as string | undefined, limit })})
        select ${emailColumns(query)} from found join emails e on e.project_id = ${projectId} and e.id = found.id
        join contents c on c.project_id = e.project_id and c.id = e.content_id
        order by e.id desc
      `,
      positionOf: ({ id }) => [id],
    }),
  )
  return { ...page, total: cursor === undefined ? await countEmails(db, selection) : 0 }
}

/** Counts the same ids as the list. An estimate is that of the conditions as a whole. */
const countEmails = (db: Pool, selection: EmailSelection) =>
  countWithin(db, selectEmailIds(selection, { limit: COUNT.upTo }), {
    ...COUNT,
    estimated: selection.readsContent
      ? sql`select 1 from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id where ${selection.matches}`
      : sql`select 1 from emails e where ${selection.matches}`,
  })

export const findEmail = (db: Db, projectId: string, id: string, { isMasked = false } = {}) =>
  maybeOne<ShownEmail>(db)`
    select ${emailColumns({ isMasked })} from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id
    where e.project_id = ${projectId} and e.id = ${id}
  `
