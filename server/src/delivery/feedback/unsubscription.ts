import { many, type Tx } from '../../db/index.ts'
import { addEntries, type LedgerEntry } from '../outbox/outcomes/email-ledger.ts'

type Unsubscription = { projectId: string; contactId: string; emailId: string }

/** Counts the contact's unsubscription for the email whose link was used, once. */
export async function countUnsubscription(tx: Tx, { projectId, contactId, emailId }: Unsubscription) {
  const emails = await many<LedgerEntry>(tx)`
    update emails set unsubscribed_at = now(), updated_at = now()
    where project_id = ${projectId} and id = ${emailId} and contact_id = ${contactId} and unsubscribed_at is null
    returning project_id as "projectId", id, 'unsubscribed' as kind, campaign_id as "campaignId", test
  `
  await addEntries(tx, emails)
}
