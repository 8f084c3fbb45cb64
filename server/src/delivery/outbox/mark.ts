import { sql } from 'kysely'
import { many, type Pool, prepared } from '../../db/index.ts'
import { createBatcher } from '../../lib/batch.ts'
import { crash } from '../../lib/crash-point.ts'
import { type Permit, permitSince } from '../transport/transport.ts'
import type { ClaimedEmail } from './claim.ts'
import { isSuppressedSql } from './sending-rules.ts'
import { isStopped } from './stream-allowance.ts'

type EmailToMark = Pick<ClaimedEmail, 'projectId' | 'id' | 'attempts'> & {
  /** Marketing email: the contact must be subscribed and not suppressed at this moment. */
  needsConsent: boolean
  /** For bulk: the stream must be neither paused nor cancelled at this moment, and the project enabled. */
  streamId: string | null
  /** The rendered subject, if it differs from the content's. */
  subject?: string | undefined
}

/**
 * Marks an email as handed over and returns the permit for its last byte; undefined when it must not leave. This is what prevents sending
 * twice: the mark is durably committed before the last byte; only the worker that still has the email gets it; and it must be fresh when the
 * last byte is written, or a process that was suspended meanwhile would send an email that others have sent already.
 *
 * A pause that has been answered is not followed by a mark. The lock on the row of the stream makes the statement see its latest version, and a
 * pause wait for marks under way. A row that is being changed is skipped, so that no mark waits for a request: its emails are queued again.
 */
export function createMark(db: Pool, worker: number) {
  const { submit } = createBatcher<EmailToMark, boolean>({
    run: (emails) => mark(db, worker, emails),
    mayBeOneItem: () => false,
    weigh: () => 1,
    maxItems: 200,
    maxWeight: 200,
    maxWaitMs: 1,
    lanes: 2,
    maxPending: 10_000,
    maxPendingWeight: 10_000,
  })
  return async (email: EmailToMark): Promise<Permit | undefined> => {
    const askedAt = performance.now()
    const marked = await submit(email)
    crash('marked')
    return marked ? permitSince(askedAt) : undefined
  }
}

async function mark(db: Pool, worker: number, emails: EmailToMark[]) {
  // A single statement is its own transaction, committed when its result arrives.
  const marked = await many(
    db,
    sql<{ id: string }>`${prepared}
      with emails_to_mark as materialized (
        select * from jsonb_to_recordset(${JSON.stringify(emails)}::jsonb)
          as m("projectId" uuid, id uuid, attempts int, "needsConsent" boolean, "streamId" uuid, subject text)
      ), open_streams as materialized (
        select "streamId" from (select distinct "projectId", "streamId" from emails_to_mark where "streamId" is not null) as m
        where (select not p.disabled from projects p where p.id = m."projectId")
          -- Only campaigns, and workflows of a project that is being reset, have a row.
          and case when (select true from streams t where t.project_id = m."projectId" and t.id = m."streamId") then (
            select true from streams t where t.project_id = m."projectId" and t.id = m."streamId" and not ${isStopped}
            for share skip locked) else true end
      )
      update emails e set handed_over_at = clock_timestamp(), subject = coalesce(m.subject, e.subject)
      from emails_to_mark m
      where e.project_id = m."projectId" and e.id = m.id and e.attempts = m.attempts
        -- One expression, or the planner scans the index of everything this worker has held lately.
        and case when e.state = 'sending' then e.worker end = ${worker}
        and (m."streamId" is null or m."streamId" = any(array(select "streamId" from open_streams)))
        -- MAIL, RCPT and the message may have taken minutes, in which the contact unsubscribed.
        and case when m."needsConsent" then
          exists (select from contacts c where c.project_id = e.project_id and c.id = e.contact_id and c.subscribed)
          and not ${isSuppressedSql(sql`e.project_id`, sql`e.to_address`)} else true end
      returning e.id
    `,
  )
  const ours = new Set(marked.map(({ id }) => id))
  return emails.map(({ id }) => ({ value: ours.has(id) }))
}
