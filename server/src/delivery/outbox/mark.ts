import { sql } from 'kysely'
import { many, type Pool, prepared } from '../../db/index.ts'
import { createBatcher } from '../../lib/batch.ts'
import { crash } from '../../lib/crash-point.ts'
import { type Permit, permitSince } from '../transport/transport.ts'
import type { ClaimedEmail } from './claim.ts'

type EmailToMark = Pick<ClaimedEmail, 'projectId' | 'id' | 'attempts'> & {
  /** Marketing email: only to contacts that are subscribed and not suppressed at this moment. */
  needsConsent: boolean
  /** As rendered, when it differs from the content's. */
  subject?: string | undefined
}

/**
 * Puts on record that a mail is about to be handed over; undefined when it may not be. This is the heart of sending nothing twice: it is
 * committed, for good, before the last byte; it holds only for the process that still has the mail; and it must be fresh when
 * the last byte is written, or a process that slept meanwhile would send what others have sent already.
 */
export function createMark(db: Pool, worker: number) {
  const { submit } = createBatcher<EmailToMark, boolean>({
    run: (mails) => mark(db, worker, mails),
    mayBeOneItem: () => false,
    weigh: () => 1,
    maxItems: 200,
    maxWeight: 200,
    maxWaitMs: 1,
    lanes: 2,
    maxPending: 10_000,
    maxPendingWeight: 10_000,
  })
  return async (mail: EmailToMark): Promise<Permit | undefined> => {
    const asked = performance.now()
    const marked = await submit(mail)
    crash('marked')
    return marked ? permitSince(asked) : undefined
  }
}

async function mark(db: Pool, worker: number, mails: EmailToMark[]) {
  // One statement is its own transaction: committed when it is answered.
  const marked = await many(
    db,
    sql<{ id: string }>`${prepared}
      update emails e set handed_over_at = clock_timestamp(), subject = coalesce(m.subject, e.subject)
      from jsonb_to_recordset(${JSON.stringify(mails)}::jsonb) as m("projectId" uuid, id uuid, attempts int, "needsConsent" boolean, subject text)
      where e.project_id = m."projectId" and e.id = m.id and e.attempts = m.attempts
        -- In one expression, or the planner goes through the index of all that this process has held lately.
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
  return mails.map(({ id }) => ({ value: ours.has(id) }))
}
