import { sql } from 'kysely'
import { setSubscription } from '../contacts/change.ts'
import { one, type Tx } from '../db/index.ts'
import { readAddress, readDomain } from '../lib/address.ts'
import { forgive } from './soft-bounce.ts'
import { COLUMNS, type SuppressionRow } from './suppression-list.ts'

type Unwilling = { projectId: string; emailId: string; contactId: string | null; address: string; by: 'bounce' | 'complaint' }

/** Who cannot be reached, or does not want to be, gets nothing any more. */
export async function sendNoMore(tx: Tx, { projectId, emailId, contactId, address, by }: Unwilling) {
  await sql`
    insert into suppressions (project_id, address, reason) values (${projectId}, ${address}, ${by}) on conflict do nothing
  `.execute(tx)
  const source = { by, details: { emailId } }
  if (contactId) await setSubscription(tx, { projectId, ids: [contactId], subscribed: false, source })
}

/** How a whole domain stands among the addresses. */
export const allOf = (domain: string) => `@${domain}`

/** By hand. What was there before keeps its reason: that is the one that tells what happened. */
export const suppress = (tx: Tx, projectId: string, address: string) =>
  one(
    tx,
    sql<SuppressionRow & { isNew: boolean }>`
      insert into suppressions as s (project_id, address, reason) values (${projectId}, ${address}, 'manual')
      on conflict (project_id, address) do update set reason = s.reason
      returning ${COLUMNS}, xmax = 0 as "isNew"
    `,
  )

/** False when there was none. What bounced before does not count against it any more. */
export async function lift(tx: Tx, projectId: string, address: string) {
  const { numAffectedRows = 0n } = await sql`
    delete from suppressions where project_id = ${projectId} and address = ${address}
  `.execute(tx)
  await forgive(tx, projectId, address)
  return numAffectedRows > 0n
}

/** What a path names: an address or a domain, in any case, or nothing we could have. */
export function readSuppressed(text: string): string | null {
  if (/\s/.test(text)) return null
  if (text.includes('@')) return readAddress(text)
  const domain = readDomain(text)
  return domain && allOf(domain)
}
