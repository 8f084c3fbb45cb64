import { randomBytes } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import type { CamelRow } from '../../db/columns.ts'
import type { Tx } from '../../db/index.ts'
import { prepared } from '../../db/prepared.ts'
import { insertRows, recordset } from '../../db/rows.ts'
import { type NewActivity, recordActivities } from '../../events/activities.ts'
import { randomDigits, uuidFromHex } from '../../lib/id.ts'
import { KB } from '../../lib/text/units.ts'
import { METERED } from '../../projects/email-counts.ts'
import type { NewContent } from './contents/new-content.ts'
import { insertAcceptedSql } from './outcomes/email-ledger.ts'
import { type EmailSource, PRIORITIES, streamOf } from './streams/stream-of.ts'

export type NewAttachment = CamelRow<'attachments'>
type EmailColumn = 'projectId' | 'id' | 'contentId' | 'contactId' | 'toAddress' | 'toName'
export type NewEmail = EmailSource &
  Pick<CamelRow<'emails'>, EmailColumn> & {
    vars: Record<string, unknown>
    /** Why the email is not sent, if that is already decided. */
    skipped?: string | null
    /** X-Request-ID of the call. */
    requestId?: string | null
    fromDomain: string
    /** The Message-ID that its message already has. */
    messageId?: string | undefined
    /** The variables are `vars` alone, which are then OwnVariables (own-variables.ts). */
    onlyVars?: boolean
    /** Goes to the address that the contact has when the email is handed over. Otherwise to the given one. */
    followsContact?: boolean
    /** When to send it, if not at once. */
    sendAt?: Date | null
  }

/** Larger messages are a parameter of their own, as files are; smaller ones share a statement. */
const MAX_SHARED = 64 * KB

export const isLargeRaw = ({ raw }: Pick<NewContent, 'raw'>) => raw !== undefined && raw.bytes.length > MAX_SHARED

export async function insertContents(tx: Tx, contents: NewContent[]) {
  const shared = contents.filter((content) => !isLargeRaw(content))
  if (shared.length) await insertContentsSql(shared).execute(tx)
  for (const content of contents.filter(isLargeRaw)) await insertContentsSql([content], content.raw!.bytes).execute(tx)
}

/** `large`: the message of the only content. */
export const insertContentsSql = (contents: NewContent[], large?: Buffer) => {
  const rows = contents.map((content) => contentRow(content, large !== undefined))
  const raw = large ? sql`${large}::bytea` : sql`decode(r.raw, 'base64')`
  return prepared`${insertRows('contents', rows, CONTENT_COLUMNS, { set: { raw }, more: { raw: 'text' } })}`
}

const CONTENT_COLUMNS = [
  ...(['projectId', 'id', 'type', 'subject', 'body', 'fromAddress', 'fromName', 'replyTo', 'headers'] as const),
  ...(['templateId', 'templateVersion', 'previewText', 'rawForm', 'rawTracked'] as const),
]

const contentRow = ({ raw, ...content }: NewContent, isLarge: boolean) => ({
  ...content,
  ...(raw && { raw: isLarge ? null : raw.bytes.toString('base64'), rawForm: raw.form, rawTracked: raw.isTracked }),
})

/** One statement per file: ten megabytes gain nothing from sharing one. */
export async function insertAttachments(tx: Tx, attachments: NewAttachment[]) {
  for (const { projectId, contentId, position, filename, contentType, cid, inline, bytes } of attachments) {
    await sql`
      insert into attachments (project_id, content_id, position, filename, content_type, cid, inline, bytes)
      values (${projectId}, ${contentId}, ${position}, ${filename}, ${contentType}, ${cid}, ${inline}, ${bytes})
    `.execute(tx)
  }
}

/**
 * Unguessable: receivers drop a second message with the same Message-ID, so a guessed one could suppress ours. It begins with the id of the
 * email, which finds the email without an index.
 */
export const newMessageId = (emailId: string, domain: string) => `${emailId.replaceAll('-', '')}${randomDigits(RANDOM_DIGITS)}@${domain}`
const RANDOM_DIGITS = 20

/** The email that a Message-ID of ours names. Undefined for those of others. */
export function emailOfMessageId(messageId: string): string | undefined {
  const [, id] = /^([0-9a-f]{32})[0-9a-f]{20}@[^@\s]+$/.exec(messageId) ?? []
  return id && uuidFromHex(id)
}

/** Emails of a request, whose contacts are found by their addresses. */
type RequestedEmail = Pick<NewEmail, Exclude<EmailColumn, 'contactId'> | 'vars' | 'requestId' | 'fromDomain' | 'messageId'>

/**
 * CTEs that enqueue emails of requests to contacts of the same statement, given as rows of (project_id, id, email) and matched by address, and
 * count them. The caller locks the caps before and checks them after it: `requireRoomSql`.
 */
export const enqueueCte = (contacts: RawBuilder<unknown>, emails: RequestedEmail[]) => {
  const rows = emails.map(({ fromDomain, messageId, ...email }) => ({
    ...email,
    messageId: messageId ?? newMessageId(email.id, fromDomain),
  }))
  return sql`queued as (
      insert into emails (project_id, id, content_id, contact_id, to_address, to_name, vars, source_type, message_id, lane, stream_id,
        request_id, metered)
      select e."projectId", e.id, e."contentId", p.id, e."toAddress", e."toName", e.vars, 'TRANSACTIONAL', e."messageId",
        ${sql.lit(PRIORITIES.transactional)}, e."projectId", e."requestId", ${METERED}
      from ${recordset('emails', rows, ['projectId', 'id', 'contentId', 'toAddress', 'toName', 'vars', 'messageId', 'requestId'])} as e
      join ${contacts} as p on p.project_id = e."projectId" and p.email = e."toAddress"
      returning project_id, source_type, metered
    ), accepted as (
      ${insertAcceptedSql(sql`select project_id, source_type from queued where metered`)}
    )`
}

/** Once committed, the emails are sent whatever happens to this process. Counts them, except for those that are skipped and tests. */
export async function enqueueEmails(tx: Tx, emails: NewEmail[]) {
  if (!emails.length) return
  const metered = sql`case when r.error is null and not r.test then ${METERED} end`
  await prepared`
    with queued as (
      ${insertRows('emails', emails.map(emailRow), EMAIL_COLUMNS, { set: { metered } })}
      returning project_id, source_type, metered
    )
    ${insertAcceptedSql(sql`select project_id, source_type from queued where metered`)}
  `.execute(tx)
  const skips = emails.filter(({ skipped, test }) => skipped && !test)
  await recordActivities(tx, skips.map(activityOf))
}

const EMAIL_COLUMNS = [
  ...([
    'projectId',
    'id',
    'contentId',
    'contactId',
    'toAddress',
    'toName',
    'vars',
    'sourceType',
    'campaignId',
    'workflowExecutionId',
  ] as const),
  ...(['workflowId', 'messageId', 'state', 'error', 'errorCode', 'lane', 'streamId', 'test', 'requestId', 'onlyVars'] as const),
  ...(['followsContact', 'sendAt', 'dueAt'] as const),
]

function emailRow({ fromDomain, messageId, skipped, vars, onlyVars = false, followsContact = false, ...email }: NewEmail) {
  const { priority: lane, streamId } = streamOf(email, email.projectId)
  const { test = false, sendAt = null } = email
  return {
    ...email,
    ...{ test, sendAt, lane, streamId, onlyVars, followsContact },
    messageId: messageId ?? newMessageId(email.id, fromDomain),
    ...(skipped
      ? { state: 'skipped', error: skipped, errorCode: skipped }
      : { state: sendAt ? 'deferred' : 'queued', vars, dueAt: sendAt }),
  }
}

const activityOf = ({ projectId, id, contactId, skipped, sourceType }: NewEmail): NewActivity => ({
  projectId,
  type: 'email.skipped',
  contactId,
  data: { emailId: id, sourceType, reason: skipped },
})

type AudiencePage = {
  projectId: string
  campaignId: string
  contentId: string
  /** Domain of the from address. */
  fromDomain: string
  contacts: number
  mayExist?: boolean
}

/**
 * Enqueues the emails of a campaign to a page of its audience, given as rows of (contact_id, address), about `contacts` of them. Ids are made here, in
 * the order of the rows, so that they are appended to the indexes: UUIDv7 of the current millisecond, with a sequence number of 12 bits that carries
 * over into the next milliseconds; 28672 is the version, 7, before it. The random digits of ids and Message-IDs are bytes that come with the statement:
 * a random UUID for each row took a quarter of its time. With `mayExist` a contact that has an email of the campaign is left out; without it the
 * statement fails, and otherwise costs less. A statement; append `returning`, and count the rows (`insertAcceptedSql`).
 */
export const enqueueAudienceSql = (
  audience: RawBuilder<unknown>,
  { projectId, campaignId, contentId, fromDomain, contacts, mayExist }: AudiencePage,
) => sql`
  insert into emails (project_id, id, content_id, contact_id, to_address, source_type, campaign_id, message_id, lane, stream_id, follows_contact, metered)
  select ${projectId}::uuid, digits::uuid, ${contentId}::uuid, contact_id, address, 'CAMPAIGN', ${campaignId}::uuid,
    digits || left(random, ${sql.lit(RANDOM_DIGITS)}) || ${`@${fromDomain}`}::text, ${sql.lit(PRIORITIES.bulk)}, ${campaignId}::uuid, true, ${METERED}
  from (
    select contact_id, address, random,
      lpad(to_hex((((select floor(extract(epoch from statement_timestamp()) * 1000)::bigint) + (number >> 12)) << 16) | 28672 | (number & 4095)), 16, '0')
        || '8' || right(random, ${sql.lit(RANDOM_DIGITS_OF_ID)}) as digits
    from (
      select contact_id, address, number,
        -- More rows than expected: contacts of the page may have been added meanwhile.
        case when number <= ${contacts} then encode(substring(${randomBytes(contacts * RANDOM_BYTES)}::bytea, number * ${RANDOM_BYTES} - ${RANDOM_BYTES - 1}, ${RANDOM_BYTES}), 'hex')
          else translate(gen_random_uuid()::text || gen_random_uuid()::text, '-', '') end as random
      from (select contact_id, address, (row_number() over ())::int as number from ${audience}) as numbered
      offset 0 -- each row has its random value once
    ) as page
    offset 0 -- and its digits
  ) as page
  ${mayExist ? sql`on conflict (project_id, campaign_id, contact_id) where campaign_id is not null do nothing` : sql``}`

/** The first digit after the time and the sequence number is the variant. */
const RANDOM_DIGITS_OF_ID = 15
/** Enough for both, in whole bytes. */
const RANDOM_BYTES = (RANDOM_DIGITS + RANDOM_DIGITS_OF_ID + 1) / 2
