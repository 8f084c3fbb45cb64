import { sql } from 'kysely'
import { setSubscription } from '../../contacts/change.ts'
import { countAffected, one, type Tx } from '../../db/index.ts'
import { readAddress, readDomain } from '../../lib/address.ts'
import { groupBy } from '../../lib/group-by.ts'
import { clearSoftBounces } from './soft-bounce.ts'

export const SUPPRESSION_REASONS = ['BOUNCE', 'COMPLAINT', 'MANUAL'] as const

export type SuppressionRow = { address: string; reason: (typeof SUPPRESSION_REASONS)[number]; createdAt: Date; position: string }

/** The position as text: a Date would cut the microseconds off. */
export const SUPPRESSION_COLUMNS = sql`address, upper(reason) as reason, created_at as "createdAt", created_at::text as position`

/** A mail, and to whom it went. */
type SuppressedRecipient = { projectId: string; id: string; contactId: string | null; address: string }

/** Who cannot be reached, or does not want to be, gets nothing any more. */
export async function suppressRecipients(tx: Tx, by: 'bounce' | 'complaint', mails: SuppressedRecipient[]) {
  if (!mails.length) return
  const rows = mails.map(({ projectId, address }) => ({ projectId, address }))
  await sql`
    insert into suppressions (project_id, address, reason)
    select distinct "projectId", address, ${by}
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as m("projectId" uuid, address text)
    order by 1, 2 -- as everybody does, so that nobody waits in a circle
    on conflict do nothing
  `.execute(tx)
  for (const [projectId, ofProject] of groupBy(mails, (mail) => mail.projectId)) {
    const mailOf = new Map(ofProject.flatMap(({ contactId, id }) => (contactId ? [[contactId, id] as const] : [])))
    const source = (contactId: string) => ({ by, details: { emailId: mailOf.get(contactId) } })
    if (mailOf.size) await setSubscription(tx, { projectId, ids: [...mailOf.keys()], subscribed: false, source })
  }
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
      returning ${SUPPRESSION_COLUMNS}, xmax = 0 as "isNew"
    `,
  )

/** False when there was none. What bounced before does not count against it any more. */
export async function removeSuppression(tx: Tx, projectId: string, address: string) {
  const removed = await countAffected(tx, sql`delete from suppressions where project_id = ${projectId} and address = ${address}`)
  await clearSoftBounces(tx, [{ projectId, address }])
  return removed > 0
}

/** What a path names: an address or a domain, in any case, or nothing we could have. */
export function readSuppressed(text: string): string | null {
  if (/\s/.test(text)) return null
  if (text.includes('@')) return readAddress(text)
  const domain = readDomain(text)
  return domain && allOf(domain)
}
