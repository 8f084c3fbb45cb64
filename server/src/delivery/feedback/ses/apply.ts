import { sql } from 'kysely'
import { many, type Pool, prepared, type Tx, transact } from '../../../db/index.ts'
import { crash } from '../../../lib/crash-point.ts'
import { every } from '../../../lib/every.ts'
import type { Log } from '../../../lib/log.ts'
import { failByEvidence, settleByEvidence } from '../../outbox/evidence.ts'
import { recordFeedbacks } from '../record.ts'
import { type Notification, type ParsedNotification, readNotification } from './read.ts'

type Due = { id: string; message: string; tries: number }
/** What became of a notification. With `waitSeconds` it is tried again. */
type End = { id: string; kind?: string; projectId?: string; emailId?: string; details?: object; error?: string; waitSeconds?: number }

const POLL_MS = 250
const CHUNK = 500
const MINUTE = 60
const HOUR = 60 * MINUTE
/** For those about a mail we do not know, or not yet by that name: for a week. */
const WAITS = [5, 30, 5 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR, 48 * HOUR, 72 * HOUR]

/** Does what notifications ask for, as long as it runs; in any number of processes. */
export const startNotifications = ({ db, log }: { db: Pool; log: Log }) =>
  every(POLL_MS, 'apply notifications', async () => void (await untilNone(() => applyDue(db, log))), log)

async function untilNone(work: () => Promise<number>) {
  while ((await work()) === CHUNK);
}

/** Returns how many it took. One that cannot be applied must not keep the others from it. */
async function applyDue(db: Pool, log: Log) {
  try {
    return await transact(db, async (tx) => {
      const due = await take(tx, CHUNK)
      await apply(tx, due)
      if (due.length) crash('notifications-applied')
      return due.length
    })
  } catch (err) {
    log.warn({ err }, 'could not apply notifications together; trying one by one')
    return applyOneByOne(db, log)
  }
}

async function applyOneByOne(db: Pool, log: Log) {
  for (let count = 0; count < CHUNK; count++) {
    let taken: Due | undefined
    try {
      await transact(db, async (tx) => {
        ;[taken] = await take(tx, 1)
        if (taken) await apply(tx, [taken])
      })
      if (!taken) return count
    } catch (err) {
      if (!taken) throw err
      const { id, tries } = taken
      log.error({ err, notification: id }, 'could not apply a notification')
      await transact(db, (tx) => end(tx, [{ id, error: 'It could not be applied.', ...later(tries) }]))
    }
  }
  return CHUNK
}

const take = (tx: Tx, limit: number) =>
  many(
    tx,
    sql<Due>`${prepared}
      select id, message, tries from provider_notifications where due_at <= now()
      order by due_at limit ${limit} for update skip locked
    `,
  )

/** Every fact counts once and stands for itself, so the order does not matter, nor what was applied before. */
async function apply(tx: Tx, due: Due[]) {
  if (!due.length) return
  const readings = due.map((each) => ({ due: each, reading: readNotification(each.message) }))
  const known = await findMails(
    tx,
    readings.flatMap(({ reading }) => ('said' in reading ? [reading.said.mail] : [])),
  )
  const ends: End[] = []
  const valid: Notification[] = []
  for (const { due: each, reading } of readings) {
    const verdict = judge(each, reading, known)
    ends.push({ id: each.id, ...verdict })
    if ('said' in reading && !verdict.error) valid.push(reading.said)
  }
  await act(tx, valid)
  await end(tx, ends)
}

type Named = Pick<Notification['mail'], 'projectId' | 'emailId'>
type LockedEmail = { projectId: string; id: string; providerId: string | null; messageId: string }

/** Locks them, in the order of their ids, so that two who apply at once do not wait for each other in a circle. */
async function findMails(tx: Tx, mails: Named[]) {
  const wanted = mails.map(({ projectId, emailId }) => ({ projectId, id: emailId }))
  const rows = await many(
    tx,
    sql<LockedEmail>`${prepared}
      select e.project_id as "projectId", e.id, e.provider_id as "providerId", e.message_id as "messageId"
      from emails e
      where (e.project_id, e.id) in (
        select "projectId", id from jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) as m("projectId" uuid, id uuid))
      order by 1, 2 for no key update
    `,
  )
  return new Map(rows.map((row) => [nameOf(row.projectId, row.id), row]))
}

const nameOf = (projectId: string, id: string) => `${projectId} ${id}`.toLowerCase()

/** An `error` where nothing follows. */
function judge({ tries }: Due, reading: ParsedNotification, known: Map<string, LockedEmail>): Omit<End, 'id'> {
  if (!('said' in reading)) return { error: reading.irrelevant, ...(reading.kind ? { kind: reading.kind } : {}) }
  const { kind, mail, details } = reading.said
  const row = known.get(nameOf(mail.projectId, mail.emailId))
  if (!row) return { kind, error: 'There is no such mail.', ...later(tries) }
  const isItsOwn = row.providerId === mail.providerId || mail.messageIds.includes(row.messageId)
  if (isItsOwn) return { kind, projectId: row.projectId, emailId: row.id, ...(details ? { details } : {}) }
  // It may have come before the answer to the hand-over, which says by what name the provider knows the mail.
  const mayBecomeKnown = row.providerId === null && !mail.messageIds.length
  return { kind, error: 'It is about another mail than it says.', ...(mayBecomeKnown ? later(tries) : {}) }
}

const later = (tries: number): { waitSeconds?: number } => (tries < WAITS.length ? { waitSeconds: WAITS[tries]! } : {})

/** What was told of a mail, and by what name the other side knows the mail if it has one. */
export type EmailReport = Omit<Notification, 'mail'> & { mail: Named & { providerId?: string } }

/** Each mail has so many kept at most: who has the address of one may write to it without end. */
const MAX_REPORTS = 20

/** What was proven to be about a mail of ours otherwise: done and kept in one go. False when there is no such mail. */
export async function applyReport(tx: Tx, { id, message, told }: { id: string; message: string; told: EmailReport }) {
  const { kind, details, mail } = told
  const known = await findMails(tx, [mail])
  if (!known.size) return false
  await sql`
    insert into provider_notifications (id, message, due_at, kind, project_id, email_id, details)
    select ${id}, ${message}, null, ${kind}, ${mail.projectId}, ${mail.emailId}, ${details ? JSON.stringify(details) : null}::jsonb
    where (select count(*) from provider_notifications where project_id = ${mail.projectId} and email_id = ${mail.emailId}) < ${MAX_REPORTS}
    on conflict do nothing
  `.execute(tx)
  await act(tx, [told])
  return true
}

/** Whatever is told of a mail, the other side has taken it; only a refusal says that it has not. */
async function act(tx: Tx, said: EmailReport[]) {
  await settleByEvidence(
    tx,
    said.flatMap(({ refused, mail: { emailId, ...mail } }) => (refused ? [] : [{ ...mail, id: emailId }])),
  )
  await recordFeedbacks(
    tx,
    said.flatMap(({ mail, feedback }) => (feedback ? [{ projectId: mail.projectId, id: mail.emailId, feedback }] : [])),
  )
  await failByEvidence(
    tx,
    said.flatMap(({ mail, rejected }) => (rejected ? [{ projectId: mail.projectId, id: mail.emailId, reason: rejected }] : [])),
  )
}

const end = (tx: Tx, ends: End[]) =>
  sql`${prepared}
    update provider_notifications n set
      due_at = now() + make_interval(secs => e."waitSeconds"),
      tries = n.tries + 1,
      kind = e.kind,
      project_id = e."projectId",
      email_id = e."emailId",
      details = e.details,
      error = e.error
    from jsonb_to_recordset(${JSON.stringify(ends)}::jsonb)
      as e(id text, kind text, "projectId" uuid, "emailId" uuid, details jsonb, error text, "waitSeconds" float8)
    where n.id = e.id
  `.execute(tx)
