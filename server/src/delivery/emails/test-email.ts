import { z } from 'zod'
import { type Pool, type Tx, transact } from '../../db/index.ts'
import { assertVerified } from '../../domains/verified.ts'
import type { createQuotaCounter } from '../../http/limits/quotas.ts'
import { newId } from '../../lib/id.ts'
import type { NewContent } from '../outbox/contents/new-content.ts'
import { enqueueEmails, insertContents, type NewEmail } from '../outbox/enqueue.ts'
import { notifyQueued } from '../outbox/streams/queue-notifications.ts'
import { PRIORITIES } from '../outbox/streams/stream-of.ts'
import { readAddressFacts, verdict } from '../rules/may-send.ts'

/** The answer of every endpoint that sends a test email. */
export const TestEmailAnswer = z.object({
  success: z.boolean().describe('False when the email is not sent, because the address is suppressed.'),
  message: z.string(),
  emailId: z.uuid().describe('The record of the email, with `test: true`.'),
})

type TestEmail = {
  projectId: string
  to: string
  content: Omit<NewContent, 'projectId' | 'id'>
  /** Values to render it with, besides those of the contact with this address. */
  vars?: Record<string, unknown>
  sourceType: NewEmail['sourceType']
  campaignId?: string
  requestId: string
}
type Deps = { db: Pool; quotas: ReturnType<typeof createQuotaCounter> }

const MARK = '[TEST] '

/**
 * Sends an email to one address, to look at it. It takes the way of every other email, but has no contact and no consent, is not tracked,
 * and is in no counts. Suppression holds: an address that bounces or complains is not written to.
 */
export async function sendTestEmail({ db, quotas }: Deps, test: TestEmail): Promise<z.output<typeof TestEmailAnswer>> {
  const { projectId, to, content } = test
  await assertVerified(db, projectId, content.fromAddress)
  await quotas.take({ scope: 'test-email', subject: projectId })
  const { emailId, isSuppressed } = await transact(db, (tx) => enqueueTest(tx, test))
  return isSuppressed
    ? { success: false, message: `Not sent: ${to} is suppressed.`, emailId }
    : { success: true, message: `The test email to ${to} is queued.`, emailId }
}

async function enqueueTest(tx: Tx, { projectId, to, content, vars = {}, sourceType, campaignId, requestId }: TestEmail) {
  const [contentId, emailId] = [newId(), newId()]
  const { suppressed } = (await readAddressFacts(tx, projectId, [to]))(to)
  await insertContents(tx, [{ ...content, subject: `${MARK}${content.subject}`, projectId, id: contentId }])
  const email = { projectId, id: emailId, contentId, contactId: null, toAddress: to, toName: null, vars, sourceType, requestId, test: true }
  const fromDomain = content.fromAddress.split('@')[1]!
  const skipped = verdict({ suppressed }, content.type) ?? null
  await enqueueEmails(tx, [{ ...email, campaignId: campaignId ?? null, fromDomain, skipped }])
  await notifyQueued(tx, PRIORITIES.transactional)
  return { emailId, isSuppressed: suppressed }
}
