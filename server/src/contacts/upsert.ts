import { type RawBuilder, sql } from 'kysely'
import { many, prepared, type Tx } from '../db/index.ts'
import { newId } from '../lib/id.ts'
import { countChange } from './counts.ts'
import type { DataPatch } from './data.ts'
import { seeFields } from './fields.ts'
import { recordFlips, type Source } from './subscription.ts'

/** One contact to create or change. Addresses are normalised, and unique within a batch. */
export type Wanted = { email: string; subscribed?: boolean | undefined; subscribedIfNew: boolean; patch: DataPatch }
/** Without `data`: a batch of large contacts need not travel back. */
export type Upserted = { id: string; email: string; subscribed: boolean; isNew: boolean; flipped: boolean }

/** Creates or changes contacts, with all that follows from it, in one statement each. Returns them by address. */
export async function upsertContacts(tx: Tx, { projectId, contacts, source }: { projectId: string; contacts: Wanted[]; source: Source }) {
  const upserted = await many(tx, upsertStatement(projectId, contacts))
  await seeFields(
    tx,
    projectId,
    contacts.map(({ patch }) => patch.set),
  )
  await recordFlips(tx, {
    projectId,
    flips: upserted.filter(({ flipped }) => flipped).map(({ id, subscribed }) => ({ contactId: id, subscribed })),
    source,
  })
  await countChange(tx, projectId, changeOf(upserted))
  return new Map(upserted.map((contact) => [contact.email, contact]))
}

function upsertStatement(projectId: string, contacts: Wanted[]): RawBuilder<Upserted> {
  const rows = contacts.map(({ email, subscribed, subscribedIfNew, patch }) => ({
    id: newId(),
    email,
    wanted: subscribed ?? null,
    new: subscribed ?? subscribedIfNew,
    set: patch.set,
    unset: patch.unset,
  }))
  // What only an existing contact needs, by address: jsonb finds a key in log n, a look into `input` would take n.
  const special = rows.filter((row) => row.unset.length || row.wanted !== null)
  const asked = sql`${JSON.stringify(Object.fromEntries(special.map(({ email, wanted, unset }) => [email, { wanted, unset }])))}::jsonb -> excluded.email`
  const unset = rows.some((row) => row.unset.length) ? sql`- array(select jsonb_array_elements_text(${asked} -> 'unset'))` : sql``
  const wanted = rows.some((row) => row.wanted !== null) ? sql`coalesce((${asked} ->> 'wanted')::boolean, c.subscribed)` : sql`c.subscribed`

  return sql<Upserted>`${prepared}
    with input as materialized (
      select id, email, new, set from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as i(id uuid, email text, new boolean, set jsonb)
    )
    insert into contacts as c (project_id, id, email, subscribed, data)
    select ${projectId}, id, email, new, set from input
    order by email -- everyone locks in the same order, so nobody waits in a circle
    on conflict (project_id, email) do update set
      data = (c.data || excluded.data) ${unset},
      subscribed = ${wanted},
      subscription_changed_at = case when ${wanted} <> c.subscribed then now() else c.subscription_changed_at end,
      updated_at = now()
    returning id, email, subscribed, xmax = 0 as "isNew",
      -- now() is fixed for the whole transaction, so equality means: flipped here, by us.
      xmax <> 0 and subscription_changed_at = now() as flipped
  `
}

function changeOf(upserted: Pick<Upserted, 'isNew' | 'flipped' | 'subscribed'>[]) {
  const change = { total: 0, subscribed: 0 }
  for (const { isNew, flipped, subscribed } of upserted) {
    if (isNew) change.total++
    if (isNew && subscribed) change.subscribed++
    if (flipped) change.subscribed += subscribed ? 1 : -1
  }
  return change
}
