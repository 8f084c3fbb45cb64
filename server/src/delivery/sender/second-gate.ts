import type { Pool } from '../../db/index.ts'
import { createBatcher } from '../../lib/concurrency/batch.ts'
import type { ClaimedEmail } from '../outbox/claim.ts'
import type { Contents } from '../outbox/contents/content.ts'
import type { Settlement } from '../outbox/outcomes/settlement.ts'
import { passGate } from './gate.ts'
import { idOf, PUT_BACK, settlementOfRefused } from './settlements.ts'

/**
 * The gate for emails that waited for a slot since they passed it: one query for all that leave at about the same time. Returns the settlement of
 * an email that may no longer leave; undefined when it may.
 */
export function createSecondGate(db: Pool, findContents: Contents['find']) {
  async function check(emails: ClaimedEmail[]) {
    const { admitted, refused } = await passGate(db, emails, findContents)
    const ends = new Map<ClaimedEmail, Settlement>(refused.map((each) => [each.email, settlementOfRefused(each)]))
    for (const { email, address } of admitted)
      if (address !== email.toAddress) ends.set(email, { ...idOf(email), ...PUT_BACK, error: null })
    return emails.map((email) => ({ value: ends.get(email) }))
  }

  const { submit } = createBatcher<ClaimedEmail, Settlement | undefined>({
    name: 'gate',
    run: check,
    mayBeOneItem: () => false,
    maxItems: 100,
    maxWaitMs: 1,
    lanes: 1,
    maxPending: 10_000,
  })
  return submit
}
