import { sql } from 'kysely'
import { setSubscription } from '../../../contacts/changes/change.ts'
import { countAffected, many, one, type Tx } from '../../../db/index.ts'
import { recordset } from '../../../db/rows.ts'
import { recordActivities, recordActivitiesCte } from '../../../events/activities.ts'
import { groupBy } from '../../../lib/collections/group-by.ts'
import { newId } from '../../../lib/id.ts'
import { readAddress, readDomain } from '../../../lib/text/address.ts'
import { clearSoftBounces } from './soft-bounce.ts'

export const SUPPRESSION_REASONS = ['BOUNCE', 'COMPLAINT', 'MANUAL'] as const

export type SuppressionRow = { address: string; reason: (typeof SUPPRESSION_REASONS)[number]; createdAt: Date; position: string }

/** The position as text: a Date would drop the microseconds. */
export const SUPPRESSION_COLUMNS = sql`address, upper(reason) as reason, created_at as "createdAt", created_at::text as position`

/** The recipient of the email `id`. */
type SuppressedRecipient = { projectId: string; id: string; contactId: string | null; address: string }

/** Suppresses the addresses, and unsubscribes the contacts that still have them: the bounce of an address says nothing about a newer one. */
export async function suppressRecipients(tx: Tx, by: 'bounce' | 'complaint', recipients: SuppressedRecipient[]) {
  if (!recipients.length) return
  const rows = recipients.map(({ projectId, id, contactId, address }) => ({ projectId, id, contactId, address, activityId: newId() }))
  await sql`
    with given as materialized (
      select distinct on ("projectId", address) *
      from ${recordset('suppressions', rows, ['projectId', 'address'], { id: 'uuid', contactId: 'uuid', activityId: 'uuid' })} as m
      order by "projectId", address -- consistent lock order: avoids deadlocks
    ), added as (
      insert into suppressions (project_id, address, reason) select "projectId", address, ${by} from given order by 1, 2
      on conflict do nothing returning project_id, address
    ), new_activities as materialized (
      select a.project_id, g."activityId" as id, 'contact.suppressed' as type,
        (select c.id from contacts c where c.project_id = a.project_id and c.id = g."contactId" and c.email = a.address) as contact_id,
        jsonb_build_object('address', a.address, 'reason', ${by}::text, 'emailId', g.id) as data
      from added a join given g on g."projectId" = a.project_id and g.address = a.address
    ), ${recordActivitiesCte(sql`new_activities`)}
    select
  `.execute(tx)
  for (const [projectId, ofProject] of groupBy(recipients, (recipient) => recipient.projectId)) {
    const ofContacts = ofProject.flatMap(({ contactId, address, id }) => (contactId ? [{ contactId, address, id }] : []))
    const emailIds = new Map(ofContacts.map(({ contactId, address, id }) => [`${contactId} ${address}`, id]))
    const source = ({ id, email }: { id: string; email: string }) => ({ by, details: { emailId: emailIds.get(`${id} ${email}`) } })
    const [ids, addresses] = [ofContacts.map(({ contactId }) => contactId), ofContacts.map(({ address }) => address)]
    if (ids.length) await setSubscription(tx, { projectId, ids, addresses, subscribed: false, source })
  }
}

/** A suppressed domain, in the form in which it is stored among the addresses. */
export const wholeDomain = (domain: string) => `@${domain}`

/** An existing suppression keeps its reason, which says why the address was suppressed first. */
export async function suppressManually(tx: Tx, projectId: string, address: string) {
  const row = await one<SuppressionRow & { isNew: boolean }>(tx)`
    insert into suppressions as s (project_id, address, reason) values (${projectId}, ${address}, 'manual')
    on conflict (project_id, address) do update set reason = s.reason
    returning ${SUPPRESSION_COLUMNS}, xmax = 0 as "isNew"
  `
  if (row.isNew) await recordManual(tx, projectId, [row])
  return row
}

/** Returns how many are new. The others keep their reasons. */
export async function suppressManyManually(tx: Tx, projectId: string, addresses: string[]): Promise<number> {
  const added = await many<{ address: string }>(tx)`
    insert into suppressions (project_id, address, reason)
    select ${projectId}, address, 'manual' from unnest(${addresses}::text[]) as a(address)
    order by 2 -- consistent lock order: avoids deadlocks
    on conflict do nothing returning address
  `
  await recordManual(tx, projectId, added)
  return added.length
}

/** Without the contact: the feed shows the address. */
function recordManual(tx: Tx, projectId: string, added: { address: string }[]) {
  const activities = added.map(({ address }) => ({ projectId, type: 'contact.suppressed' as const, data: { address, reason: 'manual' } }))
  return recordActivities(tx, activities)
}

/** False when there was none. Earlier soft bounces no longer count. */
export async function removeSuppression(tx: Tx, projectId: string, address: string) {
  const removed = await countAffected(tx)`delete from suppressions where project_id = ${projectId} and address = ${address}`
  await clearSoftBounces(tx, [{ projectId, address }])
  return removed > 0
}

/** A line of a list: an address, a domain, or a domain after an at sign. */
export const parseEntry = (line: string) => parseSuppressed(line.trim().replace(/^@/, ''))

/** An address or domain from a path, normalised. Null when it is neither. */
export function parseSuppressed(text: string): string | null {
  if (/\s/.test(text)) return null
  if (text.includes('@')) return readAddress(text)
  const domain = readDomain(text)
  return domain && wholeDomain(domain)
}
