import { sql } from 'kysely'
import { many, type Pool } from '../../db/index.ts'
import { given, prepared } from '../../db/prepared.ts'
import { fewRows, recordset } from '../../db/rows.ts'
import { createBatcher } from '../../lib/concurrency/batch.ts'
import { crash } from '../../lib/crash-point.ts'
import { isSuppressedSql } from '../rules/may-send.ts'
import { type Permit, permitSince } from '../transport/transport.ts'
import type { ClaimedEmail } from './claim.ts'
import { isStopped } from './streams/stream-allowance.ts'

type EmailToMark = Pick<ClaimedEmail, 'projectId' | 'id' | 'attempts' | 'toAddress'> & {
  /** Marketing email: the contact must be subscribed and not suppressed at this moment. */
  needsConsent: boolean
  /** For bulk: the stream must be neither paused nor cancelled at this moment, and the project enabled and not deleted. */
  streamId: string | null
  /** The rendered subject, if it differs from the content's. */
  subject?: string | undefined
}

const BATCHES = { maxWaitMs: 1, lanes: 2 }
/** Larger batches for bulk: a few milliseconds more are nothing beside the reply of a receiver. */
const BULK_BATCHES = { maxWaitMs: 5, lanes: 1 }

/**
 * Marks an email as handed over and returns the permit for its last byte; undefined when it must not leave. This is what prevents sending
 * twice: the mark is durably committed before the last byte; only the worker that still has the email gets it; and it must be fresh when the
 * last byte is written, or a process that was suspended meanwhile would send an email that others have sent already.
 *
 * An email that follows its contact is marked only if the contact still has the address to which it is being sent. With its first mark it stops
 * following: whatever becomes of it, it never goes to a second address.
 *
 * A pause, an unsubscription or the disabling of a project that has been answered is not followed by a mark. Shared locks on the rows of stream,
 * contact and project make the statement see their latest versions, not those of its snapshot, and make requests that change them wait for marks
 * under way. A row that is being changed is skipped, so that no mark waits for a request: its emails are queued again. Contacts are locked last,
 * after which the statement waits for nothing: others lock an email first and then its contact.
 */
export function createMark(db: Pool, worker: number) {
  const batches = (pace: typeof BATCHES) =>
    createBatcher<EmailToMark, boolean>({
      name: 'mark',
      run: (emails) => mark(db, worker, emails),
      mayBeOneItem: () => false,
      maxItems: 200,
      maxPending: 10_000,
      ...pace,
    })
  const bulk = batches(BULK_BATCHES)
  const others = batches(BATCHES)
  return async (email: EmailToMark): Promise<Permit | undefined> => {
    const askedAt = performance.now()
    const marked = await (email.streamId === null ? others : bulk).submit(email)
    crash('marked')
    return marked ? permitSince(askedAt) : undefined
  }
}

const isHeldByOther = sql`exists (
  select from contacts o where o.project_id = h.project_id and o.email = h."toAddress" and o.id <> h.contact_id)`

type Marking = { emails: EmailToMark[]; count: number; worker: number }
const marking = given<Marking>()

const MARK = prepared<{ id: string; attempts: number }, Marking>`
    with emails_to_mark as materialized (
      select * from ${fewRows(
        recordset('emails', marking.emails, ['projectId', 'id', 'attempts', 'toAddress', 'subject'], {
          needsConsent: 'boolean',
          streamId: 'uuid',
        }),
        marking.count,
      )} as m
    ), open_streams as materialized (
      select "streamId" from (select distinct "projectId", "streamId" from emails_to_mark where "streamId" is not null) as m
      where (select true from projects p where p.id = m."projectId" and not p.disabled and p.deleted_at is null for share skip locked)
        -- Only campaigns, and workflows of a project that is being reset, have a row.
        and case when (select true from streams t where t.project_id = m."projectId" and t.id = m."streamId") then (
          select true from streams t where t.project_id = m."projectId" and t.id = m."streamId" and not ${isStopped}
          for share skip locked) else true end
    ), held as materialized (
      select e.project_id, e.id, e.contact_id, e.follows_contact, m."toAddress", m."needsConsent", m.subject
      from emails_to_mark m join emails e on e.project_id = m."projectId" and e.id = m.id
      where e.attempts = m.attempts and e.handed_over_at is null
        -- One expression, or the planner scans the index of everything this worker has held lately.
        and case when e.state = 'sending' then e.worker end = ${marking.worker}
        and (m."streamId" is null or m."streamId" = any(array(select "streamId" from open_streams)))
      order by e.project_id, e.id for no key update -- consistent lock order: avoids deadlocks
    ), allowed as materialized (
      -- MAIL, RCPT and the message may have taken minutes, in which the contact unsubscribed or got another address.
      select h.* from held h where case when h."needsConsent" or h.follows_contact then (
          select true from contacts c where c.project_id = h.project_id and c.id = h.contact_id
            and (c.subscribed or not h."needsConsent") and (c.email = h."toAddress" or not h.follows_contact)
          for share skip locked) else true end
        and case when h."needsConsent" then not ${isSuppressedSql(sql`h.project_id`, sql`h."toAddress"`)} else true end
        -- The address of an email that does not follow may belong to another contact by now.
        and case when h."needsConsent" and not h.follows_contact and ${isHeldByOther} then (
          select true from contacts o where o.project_id = h.project_id and o.email = h."toAddress" and o.subscribed
          for share skip locked) else true end
    )
    update emails e set handed_over_at = clock_timestamp(), subject = coalesce(a.subject, e.subject), to_address = a."toAddress",
      follows_contact = false
    from allowed a where e.project_id = a.project_id and e.id = a.id
    returning e.id, e.attempts`

const attemptOf = ({ id, attempts }: { id: string; attempts: number }) => `${id} ${attempts}`

async function mark(db: Pool, worker: number, emails: EmailToMark[]) {
  // A single statement is its own transaction, committed when its result arrives.
  const marked = await many(db, MARK.with({ emails, count: emails.length, worker }))
  // A worker that lost its lease may have an earlier attempt of the same email in hand: only the one that is marked leaves, and once.
  const unused = new Set(marked.map(attemptOf))
  return emails.map((email) => ({ value: unused.delete(attemptOf(email)) }))
}
