import { sql } from 'kysely'
import { z } from 'zod'
import { type Db, many, one, type Tx } from '../db/index.ts'
import { recordEvents } from '../events/record.ts'
import { Timestamp } from '../http/validate.ts'
import { newId } from '../lib/id.ts'

/** docs/contacts.md says what each of them means. */
export const SOURCES = [
  'secret-key',
  'public-key',
  'dashboard',
  'import',
  'bulk',
  'page',
  'one-click',
  'bounce',
  'complaint',
  'workflow',
] as const
/** Who changed a subscription, and what led there. */
export type Source = { by: (typeof SOURCES)[number]; details?: object }
export type SubscriptionChange = { projectId: string; contactId: string; subscribed: boolean; source: Source }

/** The event and the proof of each real change, in the transaction that made it. */
export async function recordFlips(tx: Tx, flips: SubscriptionChange[]) {
  if (!flips.length) return
  await recordEvents(
    tx,
    flips.map(({ projectId, contactId, subscribed, source: { by } }) => ({
      projectId,
      contactId,
      name: subscribed ? 'contact.subscribed' : 'contact.unsubscribed',
      ...(by === 'bounce' || by === 'complaint' ? { data: { reason: by } } : {}),
    })),
  )
  const rows = flips.map(({ source: { by, details = {} }, ...flip }) => ({ id: newId(), ...flip, by, details }))
  await sql`
    insert into consents (project_id, contact_id, id, subscribed, source, details)
    select "projectId", "contactId", id, subscribed, by, details
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as f("projectId" uuid, "contactId" uuid, id uuid, subscribed boolean, by text, details jsonb)
  `.execute(tx)
}

export const Consent = z
  .object({
    id: z.uuid(),
    subscribed: z.boolean(),
    source: z.string().describe(`Who or what changed it: ${SOURCES.join(', ')}.`),
    details: z.record(z.string(), z.unknown()),
    createdAt: Timestamp,
  })
  .meta({ id: 'Consent' })

type ConsentRow = { id: string; subscribed: boolean; source: string; details: Record<string, unknown>; createdAt: Date }

/** Newest first. */
export async function listConsents(
  db: Db,
  { projectId, contactId, before, limit }: { projectId: string; contactId: string; before?: string; limit: number },
) {
  const rows = await many(
    db,
    sql<ConsentRow>`
      select id, subscribed, source, details, created_at as "createdAt" from consents
      where project_id = ${projectId} and contact_id = ${contactId} ${before ? sql`and id < ${before}` : sql``}
      order by id desc limit ${limit}
    `,
  )
  return rows.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() }))
}

/** One person's history is short: counting it is cheap. */
export async function countConsents(db: Db, projectId: string, contactId: string) {
  const { count } = await one(
    db,
    sql<{ count: number }>`select count(*)::int as count from consents where project_id = ${projectId} and contact_id = ${contactId}`,
  )
  return count
}
