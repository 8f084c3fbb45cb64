import { sql } from 'kysely'
import { z } from 'zod'
import { countRows, type Db, type Tx } from '../../db/index.ts'
import { recordset } from '../../db/rows.ts'
import { recordEvents } from '../../events/record.ts'
import { type CursorQuery, readKeysetPage } from '../../http/core/paging.ts'
import { Timestamp } from '../../http/core/validate.ts'
import { newId } from '../../lib/id.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { TODAY } from './counts.ts'

/** Documented in docs/contacts.md. */
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
/** Origin of a subscription change. */
export type Source = { by: (typeof SOURCES)[number]; details?: object }
export type SubscriptionChange = { projectId: string; contactId: string; subscribed: boolean; source: Source }

/** Records the event and the consent of each change, in the transaction that made it. */
export async function recordSubscriptionChanges(tx: Tx, changes: SubscriptionChange[]) {
  if (!changes.length) return
  const events = changes.map(({ projectId, contactId, subscribed, source: { by } }) => ({
    projectId,
    contactId,
    name: subscribed ? 'contact.subscribed' : 'contact.unsubscribed',
    ...(by === 'bounce' || by === 'complaint' ? { data: { reason: by } } : {}),
  }))
  await recordEvents(tx, events)
  const rows = changes.map(({ source: { by, details = {} }, ...change }) => ({ id: newId(), ...change, source: by, details }))
  await sql`
    with changes as materialized (
      select * from ${recordset('consents', rows, ['projectId', 'contactId', 'id', 'subscribed', 'source', 'details'])} as c
    ), counted as (
      insert into contact_count_deltas (project_id, day, source, opted_in, opted_out)
      select "projectId", ${TODAY}, source, count(*) filter (where subscribed), count(*) filter (where not subscribed)
      from changes group by "projectId", source
    )
    insert into consents (project_id, contact_id, id, subscribed, source, details)
    select "projectId", "contactId", id, subscribed, source, details from changes
  `.execute(tx)
}

export const Consent = z
  .object({
    id: z.uuid(),
    subscribed: z.boolean(),
    source: z.string().describe(`Origin of the change: ${SOURCES.join(', ')}.`),
    details: z.record(z.string(), z.unknown()),
    createdAt: Timestamp,
  })
  .meta({ id: 'Consent' })

type ConsentsQuery = { projectId: string; contactId: string } & z.output<typeof CursorQuery>

/** Newest first. */
export function listConsents(db: Db, secrets: Secrets, { projectId, contactId, ...query }: ConsentsQuery) {
  const where = sql`project_id = ${projectId} and contact_id = ${contactId}`
  return readKeysetPage(db, secrets, {
    scope: `consents ${projectId} ${contactId}`,
    query,
    select: ({ after, limit }) => sql<z.output<typeof Consent>>`
      select id, subscribed, source, details, created_at as "createdAt" from consents
      where ${where} ${after ? sql`and id < ${after[0]}` : sql``} order by id desc limit ${limit}
    `,
    positionOf: ({ id }) => [id],
    // One contact's history is short, so counting it is cheap.
    count: () => countRows(db, sql`select 1 from consents where ${where}`),
  })
}
