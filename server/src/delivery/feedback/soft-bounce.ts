import { sql } from 'kysely'
import { countAffected, maybeOne, one, type Tx } from '../../db/index.ts'

/** So many mails in a row that came back for a while, within so many days: the address is as good as gone. */
const TOO_MANY = 5
const DAYS = 30

type Bounced = { projectId: string; emailId: string; contactId: string | null; address: string; at: Date }

/** Counts a mail once. Undefined when it was counted before; else whether it was one too many. */
export async function countSoftBounce(tx: Tx, { projectId, emailId, contactId, address, at }: Bounced): Promise<boolean | undefined> {
  // One at a time for an address: two at once would each miss the other.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`soft-bounce ${projectId} ${address}`}, 0))`.execute(tx)
  const counted = await maybeOne(
    tx,
    sql`
      insert into soft_bounces (project_id, address, email_id, created_at, forgiven)
      select ${projectId}, ${address}, ${emailId}, ${at}, exists (
        select from emails where project_id = ${projectId} and contact_id = ${contactId} and to_address = ${address} and delivered_at >= ${at})
      on conflict do nothing returning email_id
    `,
  )
  if (!counted) return undefined
  const { count } = await one(
    tx,
    sql<{ count: number }>`
      select count(*)::int as count from soft_bounces
      where project_id = ${projectId} and address = ${address} and not forgiven
        and created_at > now() - make_interval(days => ${DAYS})
    `,
  )
  return count >= TOO_MANY
}

/** Where a mail arrived, or someone says that it will, what bounced before does not count any more. Without `at`, whatever bounced. */
export async function clearSoftBounces(tx: Tx, arrived: { projectId: string; address: string; at?: Date }[]) {
  if (!arrived.length) return
  const rows = arrived.map(({ projectId, address, at }) => ({ projectId, address, at }))
  await sql`
    update soft_bounces b set forgiven = true
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as a("projectId" uuid, address text, at timestamptz)
    where b.project_id = a."projectId" and b.address = a.address and b.created_at <= coalesce(a.at, 'infinity') and not b.forgiven
  `.execute(tx)
}

/** What no longer counts. Twice as long: what a provider tells late, it may also tell twice. */
export const dropOldSoftBounces = (tx: Tx, limit: number) =>
  countAffected(
    tx,
    sql`
      delete from soft_bounces where (project_id, address, email_id) in (
        select project_id, address, email_id from soft_bounces
        where created_at < now() - make_interval(days => ${2 * DAYS}) order by created_at limit ${limit})
    `,
  )
