import { type RawBuilder, sql } from 'kysely'
import { isDuplicate } from '../../db/errors/sql-state.ts'
import { many, maybeOne, type Tx } from '../../db/index.ts'
import { reactToContacts, type Topic } from '../../events/listen.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import { failPlainly } from '../../lib/errors/errors.ts'
import { type NewFact, recordFacts } from '../../webhooks/facts.ts'
import { registerFields } from '../fields/fields.ts'
import { CONTACT_COLUMNS, type ContactRow } from '../record/contact.ts'
import { contactLedger, countRemoved, type RemovedContact } from '../record/counts.ts'
import type { DataPatch } from '../record/data.ts'
import { forgetFormerAddresses, noteFormerAddress } from '../record/former-addresses.ts'
import { recordSubscriptionChanges, type Source } from '../record/subscription.ts'

type Change = {
  projectId: string
  id: string
  email?: string | undefined
  subscribed?: boolean | undefined
  data?: DataPatch | null | undefined
  source: Source
}

/** Changes one contact. Returns undefined if it does not exist. `data: null` deletes all custom fields. */
export async function changeContact(tx: Tx, { projectId, id, email, subscribed, data, source }: Change) {
  const row = await maybeOne<ContactRow & Difference & { formerEmail: string }>(tx)`
    with before as (
      select email as former_email, subscribed as was_subscribed,
        case when ${data === null} then array(select jsonb_object_keys(data)) end as former_keys
      from contacts where project_id = ${projectId} and id = ${id} for no key update
    )
    update contacts set
      email = coalesce(${email ?? null}, email),
      data = ${mergedData(data)},
      subscribed = coalesce(${subscribed ?? null}::boolean, subscribed),
      subscription_changed_at = case when ${subscribed ?? null}::boolean <> subscribed then now() else subscription_changed_at end,
      updated_at = now()
    from before
    where project_id = ${projectId} and id = ${id}
    returning ${CONTACT_COLUMNS}, former_email as "formerEmail", email <> former_email as moved, subscribed <> was_subscribed as flipped, former_keys as cleared
  `.catch((err) => (isDuplicate(err) ? failPlainly('CONFLICT', 'Another contact has this email address.') : Promise.reject(err)))
  if (!row) return undefined
  const { flipped, moved, formerEmail, cleared, ...contact } = row
  if (moved) await noteFormerAddress(tx, { projectId, contactId: id, address: formerEmail })
  if (data) await registerFields(tx, [{ projectId, set: data.set }])
  await recordChanges(tx, { projectId, changed: flipped ? [contact] : [], source })
  await reactToContacts(tx, projectId, [id], topicsOf({ flipped, moved, cleared }, data))
  return contact
}

type Difference = { moved: boolean; flipped: boolean; cleared: string[] | null }

const topicsOf = ({ flipped, moved, cleared }: Difference, data: DataPatch | null | undefined): Topic[] => [
  'contact',
  ...(moved ? (['contact:email'] as const) : []),
  ...(flipped ? (['contact:subscribed'] as const) : []),
  ...[...(cleared ?? []), ...Object.keys(data?.set ?? {}), ...(data?.unset ?? [])].map((key) => `contact:data.${key}` as const),
]

const mergedData = (data: DataPatch | null | undefined): RawBuilder<unknown> =>
  data === null ? sql`'{}'::jsonb` : data ? sql`(data || ${JSON.stringify(data.set)}::jsonb) - ${data.unset}::text[]` : sql`data`

/** For contacts whose subscriptions change for different reasons. */
type SourceOf = (contact: { id: string; email: string }) => Source

type Changed = { projectId: string; changed: { id: string; email: string; subscribed: boolean }[]; source: Source | SourceOf }

async function recordChanges(tx: Tx, { projectId, changed, source }: Changed) {
  const sourceOf = typeof source === 'function' ? source : () => source
  const changes = changed.map(({ id, email, subscribed }) => ({ projectId, contactId: id, subscribed, source: sourceOf({ id, email }) }))
  await recordSubscriptionChanges(tx, changes)
  const subscribed = changed.reduce((sum, each) => sum + (each.subscribed ? 1 : -1), 0)
  if (subscribed) await contactLedger.append(tx, [{ project_id: projectId, subscribed }])
}

type SubscriptionChange = {
  projectId: string
  ids: string[]
  /** In the order of `ids`: a contact that has another address by now is left out. */
  addresses?: string[]
  subscribed: boolean
  source: Source | SourceOf
}

/** Sets the subscription of many contacts. Returns the ids that exist and those that changed. */
export async function setSubscription(tx: Tx, { projectId, ids, addresses, subscribed, source }: SubscriptionChange) {
  const found = await many<{ id: string; email: string; was: boolean }>(tx)`
    select id, email, subscribed as was from contacts where project_id = ${projectId} and id = any(${ids}::uuid[])
      ${addresses ? sql`and (id, email) in (select id, email from unnest(${ids}::uuid[], ${addresses}::text[]) as given(id, email))` : sql``}
    order by email for no key update -- same lock order as upserts
  `
  const changed = found.filter(({ was }) => was !== subscribed).map(({ id, email }) => ({ id, email, subscribed }))
  const changedIds = changed.map(({ id }) => id)
  await sql`
    update contacts set subscribed = ${subscribed}, subscription_changed_at = now(), updated_at = now()
    where project_id = ${projectId} and id = any(${changedIds}::uuid[])
  `.execute(tx)
  await recordChanges(tx, { projectId, changed, source })
  await reactToContacts(tx, projectId, changedIds, ['contact', 'contact:subscribed'])
  return { found: found.map(({ id }) => id), changed: changedIds }
}

/** Deletes contacts and their consents; a job deletes their events, which may be many. Returns the ids that existed. */
export async function deleteContacts(tx: Tx, { projectId, ids }: { projectId: string; ids: string[] }) {
  await sql`select 1 from contacts where project_id = ${projectId} and id = any(${ids}::uuid[]) order by email for update`.execute(tx)
  const deleted = await many<RemovedContact & { email: string }>(tx)`
    delete from contacts where project_id = ${projectId} and id = any(${ids}::uuid[])
    returning id, email, subscribed, created_at as "createdAt", created_by as "createdBy"
  `
  if (!deleted.length) return []
  const contactIds = deleted.map(({ id }) => id)
  await countRemoved(tx, { projectId, contacts: deleted })
  await sql`delete from consents where project_id = ${projectId} and contact_id = any(${contactIds}::uuid[])`.execute(tx)
  await forgetFormerAddresses(tx, projectId, contactIds)
  await enqueue(tx, 'events.forget-contacts', { projectId, contactIds })
  const facts = deleted.map(({ id, email }): NewFact => ({ projectId, type: 'contact.deleted', contactId: id, contactEmail: email }))
  await recordFacts(tx, facts)
  await reactToContacts(tx, projectId, contactIds, ['contact:deleted'])
  return contactIds
}
