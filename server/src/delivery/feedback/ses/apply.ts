import { sql } from 'kysely'
import { many, type Pool, type Tx, transact } from '../../../db/index.ts'
import { prepared } from '../../../db/prepared.ts'
import { updateFrom } from '../../../db/rows.ts'
import { every } from '../../../lib/concurrency/every.ts'
import { crash } from '../../../lib/crash-point.ts'
import type { Log } from '../../../lib/process/log.ts'
import { applyReports, emailKey, type LockedEmail, lockReportedEmails } from '../reports/report.ts'
import { type Notification, type ParsedNotification, readNotification } from './read.ts'

type DueNotification = { id: string; message: string; tries: number }

/** The result for a notification. `error`: it had no effect. `waitSeconds`: it is tried again. */
type Result = { kind?: string; projectId?: string; emailId?: string; details?: object; error?: string; waitSeconds?: number }

const POLL_MS = 250
const CHUNK = 500
const MINUTE = 60
const HOUR = 60 * MINUTE
/** Seconds between tries, about a week in all, for a notification whose email, or the provider's id of it, is not known yet. */
const WAITS = [5, 30, 5 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR, 48 * HOUR, 72 * HOUR]

/** Applies stored notifications until stopped. Any number of processes may run it. */
export function startNotifications({ db, log }: { db: Pool; log: Log }, pollMs = POLL_MS, isDue = () => true) {
  const applyAll = async () => {
    if (isDue()) while ((await applyDue(db, log)) === CHUNK);
  }
  return every(pollMs, 'apply notifications', applyAll, log)
}

/** Returns the number of notifications it claimed. One that cannot be applied must not block the others. */
async function applyDue(db: Pool, log: Log) {
  try {
    return await transact(db, async (tx) => {
      const due = await claim(tx, CHUNK)
      await apply(tx, due)
      if (due.length) crash('notifications-applied')
      return due.length
    })
  } catch (err) {
    log.warn({ err }, 'could not apply a chunk of notifications; applying them one by one')
    return applyOneByOne(db, log)
  }
}

async function applyOneByOne(db: Pool, log: Log) {
  for (let count = 0; count < CHUNK; count++) {
    let claimed: DueNotification | undefined
    try {
      await transact(db, async (tx) => {
        ;[claimed] = await claim(tx, 1)
        if (claimed) await apply(tx, [claimed])
      })
      if (!claimed) return count
    } catch (err) {
      if (!claimed) throw err
      const { id, tries } = claimed
      log.error({ err, notification: id }, 'could not apply a notification')
      await transact(db, (tx) => writeResults(tx, [{ id, error: 'It could not be applied.', ...retry(tries) }]))
    }
  }
  return CHUNK
}

const claim = (tx: Tx, limit: number) =>
  many(
    tx,
    prepared<DueNotification>`
    select id, message, tries from provider_notifications where due_at <= now()
    order by due_at limit ${limit} for update skip locked
  `,
  )

/** Each fact is recorded once and independently of the others, so neither order nor repetition matters. */
async function apply(tx: Tx, due: DueNotification[]) {
  if (!due.length) return
  const notifications = due.map(({ id, message, tries }) => ({ id, tries, parsed: readNotification(message) }))
  const named = notifications.flatMap(({ parsed }) => ('notification' in parsed ? [parsed.notification.email] : []))
  const emails = await lockReportedEmails(tx, named)
  const results: (Result & { id: string })[] = []
  const applicable: Notification[] = []
  for (const { id, tries, parsed } of notifications) {
    const result = check(parsed, tries, emails)
    results.push({ id, ...result })
    if ('notification' in parsed && !result.error) applicable.push(parsed.notification)
  }
  await applyReports(tx, applicable)
  await writeResults(tx, results)
}

/** Checks that the notification is about an email that exists, and about the same email by all of its ids. */
function check(parsed: ParsedNotification, tries: number, emails: Map<string, LockedEmail>): Result {
  if (!('notification' in parsed)) return { error: parsed.irrelevant, ...(parsed.kind ? { kind: parsed.kind } : {}) }
  const { kind, email, details } = parsed.notification
  const row = emails.get(emailKey(email.projectId, email.emailId))
  if (!row) return { kind, error: 'The email does not exist.', ...retry(tries) }
  const isSameEmail = row.providerId === email.providerId || email.messageIds.includes(row.messageId)
  if (isSameEmail) return { kind, projectId: row.projectId, emailId: row.id, ...(details ? { details } : {}) }
  // It may have arrived before the reply to the handover, which has the provider's id of the email.
  const mayMatchLater = row.providerId === null && !email.messageIds.length
  return { kind, error: 'Its ids are those of another email.', ...(mayMatchLater ? retry(tries) : {}) }
}

const retry = (tries: number): { waitSeconds?: number } => (tries < WAITS.length ? { waitSeconds: WAITS[tries]! } : {})

const writeResults = (tx: Tx, results: (Result & { id: string })[]) =>
  prepared`${updateFrom('provider_notifications', results, {
    keys: ['id'],
    names: ['kind', 'projectId', 'emailId', 'details', 'error'],
    set: { dueAt: sql`now() + make_interval(secs => r."waitSeconds")`, tries: sql`t.tries + 1` },
    more: { waitSeconds: 'float8' },
  })}`.execute(tx)
