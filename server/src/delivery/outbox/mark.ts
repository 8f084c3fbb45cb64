import { sql } from 'kysely'
import { many, type Pool, prepared } from '../../db/index.ts'
import { createBatcher } from '../../lib/batch.ts'
import { crash } from '../../lib/crash-point.ts'
import { type Permit, permitSince } from '../transport/transport.ts'
import type { ClaimedEmail } from './claim.ts'

type EmailToMark = Pick<ClaimedEmail, 'projectId' | 'id' | 'attempts'> & {
  /** Marketing email: the contact must be subscribed and not suppressed at this moment. */
  needsConsent: boolean
  /** The rendered subject, if it differs from the content's. */
  subject?: string | undefined
}

/**
 * Marks an email as handed over and returns the permit for its last byte; undefined when it must not leave. This is what prevents sending
 * twice: the mark is durably committed before the last byte; only the worker that still has the email gets it; and it must be fresh when the
 * last byte is written, or a process that was suspended meanwhile would send an email that others have sent already.
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
      update emails e set handed_over_at = clock_timestamp(), subject = coalesce(m.subject, e.subject)
      from jsonb_to_recordset(${JSON.stringify(emails)}::jsonb) as m("projectId" uuid, id uuid, attempts int, "needsConsent" boolean, subject text)
      where e.project_id = m."projectId" and e.id = m.id and e.attempts = m.attempts
        -- One expression, or the planner scans the index of everything this worker has held lately.
        and case when e.state = 'sending' then e.worker end = ${worker}
        -- MAIL, RCPT and the message may have taken minutes, in which the contact unsubscribed.
        and case when m."needsConsent" then
          exists (select from contacts c where c.project_id = e.project_id and c.id = e.contact_id and c.subscribed)
          and not exists (select from suppressions s where s.project_id = e.project_id
            and s.address in (e.to_address, '@' || split_part(e.to_address, '@', 2))) else true end
      returning e.id
    `,
  )
  const ours = new Set(marked.map(({ id }) => id))
  return emails.map(({ id }) => ({ value: ours.has(id) }))
}
