import { sql } from 'kysely'
import { countAffected, maybeOne, scalar, type Tx } from '../../../db/index.ts'
import { recordset } from '../../../db/rows.ts'
import { lock } from '../../../ledger/locks.ts'

/** Consecutive soft bounces within these days after which an address is suppressed as if it had bounced hard. */
const MAX_SOFT_BOUNCES = 5
const WINDOW_DAYS = 30

type SoftBounce = { projectId: string; emailId: string; contactId: string | null; address: string; at: Date }

/** Counts an email once. Undefined when it was counted before, else whether the address has reached the limit. */
export async function countSoftBounce(tx: Tx, { projectId, emailId, contactId, address, at }: SoftBounce): Promise<boolean | undefined> {
  // Serialised per address: two concurrent transactions would not see each other's row.
  await lock(tx, 'soft bounces', `${projectId} ${address}`)
  const counted = await maybeOne(tx)`
    insert into soft_bounces (project_id, address, email_id, created_at, forgiven)
    select ${projectId}, ${address}, ${emailId}, ${at}, exists (
      select from emails where project_id = ${projectId} and contact_id = ${contactId} and to_address = ${address} and delivered_at >= ${at})
    on conflict do nothing returning email_id
  `
  if (!counted) return undefined
  const count = await scalar<number>(tx)`
    select count(*)::int from soft_bounces
    where project_id = ${projectId} and address = ${address} and not forgiven
      and created_at > now() - make_interval(days => ${WINDOW_DAYS})
  `
  return count >= MAX_SOFT_BOUNCES
}

/** Soft bounces up to `at`, the time of a delivery, no longer count; without `at`, none does. */
export async function clearSoftBounces(tx: Tx, delivered: { projectId: string; address: string; at?: Date }[]) {
  if (!delivered.length) return
  const rows = delivered.map(({ projectId, address, at }) => ({ projectId, address, at }))
  await sql`
    update soft_bounces b set forgiven = true
    from ${recordset('soft_bounces', rows, ['projectId', 'address'], { at: 'timestamptz' })} as a
    where b.project_id = a."projectId" and b.address = a.address and b.created_at <= coalesce(a.at, 'infinity') and not b.forgiven
  `.execute(tx)
}

/** Kept for twice the window: a provider may report a late bounce, and repeat it. */
export const dropOldSoftBounces = (tx: Tx, limit: number) =>
  countAffected(tx)`
    delete from soft_bounces where (project_id, address, email_id) in (
      select project_id, address, email_id from soft_bounces
      where created_at < now() - make_interval(days => ${2 * WINDOW_DAYS}) order by created_at limit ${limit})
  `
