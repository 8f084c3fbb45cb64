import { type RawBuilder, sql } from 'kysely'
import { many, one, type Tx } from '../../db/index.ts'
import { prepared } from '../../db/prepared.ts'
import { fewRows, recordset } from '../../db/rows.ts'
import { hasListenersSql, insertReactionsSql } from '../../events/listen.ts'
import { recordEventsCte } from '../../events/record.ts'
import { newId } from '../../lib/id.ts'
import { storeFactsCte } from '../../webhooks/facts.ts'
import { REVIVED_FIELDS, registerFieldsSql } from '../fields/fields.ts'
import { CONTACT_COLUMNS, type ContactRow } from '../record/contact.ts'
import { TODAY } from '../record/counts.ts'
import { type DataPatch, mergePatches } from '../record/data.ts'
import { recordSubscriptionChanges, type Source, type SubscriptionChange } from '../record/subscription.ts'

type Choice = { subscribed: boolean; source: Source }
/** One contact to create or update. Its address is normalised, and unique within its project in a batch. */
export type ContactUpsert = {
  projectId: string
  email: string
  /** State of a new contact before `choices`; each choice that differs from the state before it is a change. */
  subscribedIfNew: boolean
  choices: Choice[]
  /** Origin of a new contact. */
  createdBy: Source['by']
  patch: DataPatch
  /** Fields stored only if the contact does not have them yet. Shares no key with `patch`. */
  fill: Record<string, unknown>
}
/** Without `data`, so that a batch of large contacts is not read back. */
export type Upserted = { id: string; subscribed: boolean; isNew: boolean }

type Request = Pick<ContactUpsert, 'projectId' | 'email' | 'subscribedIfNew' | 'patch'> & {
  subscribed?: boolean | undefined
  fill?: Record<string, unknown>
  source: Source
}

export const toUpsert = ({ projectId, email, subscribed, subscribedIfNew, patch, fill, source }: Request): ContactUpsert => ({
  projectId,
  email,
  subscribedIfNew: subscribed ?? subscribedIfNew,
  choices: subscribed === undefined ? [] : [{ subscribed, source }],
  createdBy: source.by,
  patch,
  fill: fill ? withoutKeys(fill, [...Object.keys(patch.set), ...patch.unset, ...Object.keys(patch.transient)]) : {},
})

const withoutKeys = (values: Record<string, unknown>, keys: string[]) =>
  Object.fromEntries(Object.entries(values).filter(([key]) => !keys.includes(key)))

/** Merges requests for the same contact into one, with the same outcome as one after the other. */
export function mergeUpserts(requests: ContactUpsert[]): ContactUpsert[] {
  const merged = new Map<string, ContactUpsert>()
  for (const request of requests) {
    const name = nameOf(request)
    const earlier = merged.get(name)
    merged.set(name, earlier ? mergeTwo(earlier, request) : request)
  }
  return [...merged.values()]
}

/** A field that the first request unsets and the second fills is set. A field that both fill keeps the value of the first. */
function mergeTwo(first: ContactUpsert, second: ContactUpsert): ContactUpsert {
  const refilled = Object.fromEntries(Object.entries(second.fill).filter(([key]) => first.patch.unset.includes(key)))
  const patch = mergePatches(first.patch, { ...second.patch, set: { ...second.patch.set, ...refilled } })
  const fill = withoutKeys({ ...second.fill, ...first.fill }, [...Object.keys(patch.set), ...patch.unset])
  return { ...first, choices: [...first.choices, ...second.choices], patch, fill }
}

const nameOf = ({ projectId, email }: { projectId: string; email: string }) => `${projectId} ${email}`

/** An event of a contact in the same batch, which may not have an id yet. */
type ContactEvent = { projectId: string; email: string; id: string; name: string; data: object }

/** Creates or updates contacts, records their events and subscription changes. Returns a lookup of the resulting contacts. */
export async function upsertContacts(tx: Tx, contacts: ContactUpsert[], events: ContactEvent[] = []) {
  const rows = contacts.length ? await many(tx, upsertSql(contacts, { events })) : []
  const byName = new Map(rows.map((row) => [nameOf(row), row]))
  const changes = contacts.flatMap((contact) => changesOf(contact, byName.get(nameOf(contact))!))
  await recordSubscriptionChanges(tx, changes)
  return (projectId: string, email: string): Upserted => byName.get(nameOf({ projectId, email }))!
}

/** The same for contacts without choices, of which the caller needs only the number of new ones: reading the others back takes time. */
export const upsertAndCount = async (tx: Tx, contacts: ContactUpsert[]) =>
  (await one(tx, upsertSql<{ created: number }>(contacts, {}, CREATED))).created

const CREATED = sql`select count(*) filter (where is_new)::int as created from upserted`

/** `moreCtes` gets the name of a relation with the columns project_id, id, email. */
type UpsertExtras = {
  events?: ContactEvent[]
  positions?: Map<string, number>
  moreCtes?: (contacts: RawBuilder<unknown>) => RawBuilder<unknown>
}

/** The same as one statement, to be sent together with others. Only for contacts without choices: it records no subscription change. */
export function upsertAtOnce(contacts: ContactUpsert[], extras: UpsertExtras) {
  const positions = positionsOf(contacts)
  return {
    // All ids as one value, ordered by position: parsing rows would cost as much as everything else here, and so would reading addresses.
    query: upsertSql<{ ids: string }>(contacts, { positions, ...extras }, IDS),
    finder([row]: { ids: string }[]) {
      const ids = row!.ids.split(' ')
      return (projectId: string, email: string) => ids[positions.get(nameOf({ projectId, email }))!]!
    },
  }
}

const IDS = sql`select string_agg(id::text, ' ' order by n) as ids from upserted`

const positionsOf = (contacts: ContactUpsert[]) => new Map(contacts.map((contact, n) => [nameOf(contact), n]))

const ROWS = sql`select project_id as "projectId", id, email, subscribed, is_new as "isNew", flipped from upserted`
type Row = Upserted & { projectId: string; email: string; flipped: boolean }

/** Contacts as they are after an upsert. */
export const readUpsertedSql = (contacts: ContactUpsert[]) => prepared<ContactRow>`
  select ${CONTACT_COLUMNS} from contacts where (project_id, email) in (
    select * from ${fewRows(sql`unnest(${contacts.map(({ projectId }) => projectId)}::uuid[], ${contacts.map(({ email }) => email)}::text[])`, contacts.length)} as keys)`

/**
 * Contacts, fields, counts, events and reactions in one statement: every statement costs on the hot path. It records no change of a
 * subscription: alone it is for contacts without choices.
 */
export function upsertSql<Result = Row>(
  contacts: ContactUpsert[],
  { events = [], positions, moreCtes }: UpsertExtras = {},
  result = ROWS,
): RawBuilder<Result> {
  const rows = contacts.map((contact, n) => ({
    n,
    projectId: contact.projectId,
    id: newId(),
    email: contact.email,
    new: lastChoice(contact) ?? contact.subscribedIfNew,
    // Several requests of one batch may have changed it at once.
    first: contact.choices.length > 1 ? contact.subscribedIfNew : undefined,
    by: contact.createdBy,
    set: isFilled(contact) ? { ...contact.fill, ...contact.patch.set } : contact.patch.set,
    special: needsMerge(contact) || undefined,
    unset: contact.patch.unset.length ? contact.patch.unset : undefined,
  }))
  const update = updateExpressions(contacts.filter(needsMerge))

  return prepared<Result>`
    with input as materialized (
      select * from ${recordset('contacts', rows, ['projectId', 'id', 'email'], { n: 'int', new: 'boolean', first: 'boolean', by: 'text', set: 'jsonb', special: 'boolean', unset: 'jsonb' })} as i
      order by "projectId", email collate "C" -- consistent lock order: avoids deadlocks
    ), unchanged as materialized (
      -- Most known contacts bring no new data. Locking such a row costs half as much as writing it again.
      select i.n, c.* from input i cross join lateral (
        select c.project_id, c.id, c.email, c.subscribed from contacts c
        where c.project_id = i."projectId" and c.email = i.email and i.special is null and c.data || i.set = c.data
        for key share
      ) as c
    ), written as (
      insert into contacts as c (project_id, id, email, subscribed, data, created_by)
      select "projectId", id, email, new, set, by from input where n not in (select n from unchanged)
      order by "projectId", email collate "C"
      on conflict (project_id, email) do update set
        data = ${update.data},
        subscribed = ${update.subscribed},
        subscription_changed_at = case when ${update.subscribed} <> c.subscribed then now() else c.subscription_changed_at end,
        updated_at = now()
      returning project_id, id, email, subscribed, xmax = 0 as is_new,
        -- now() is fixed for the whole transaction, so equality means: changed by this transaction.
        xmax <> 0 and subscription_changed_at = now() as flipped
    ), seen as (${registerFieldsSql(rows)}
    ), upserted as materialized (
      select i.n, w.*, i.set, i.unset, i.by, coalesce(i.first, i.new) as first
      from written w join input i on i."projectId" = w.project_id and i.email = w.email
      union all select n, project_id, id, email, subscribed, false, false, null, null, null, null from unchanged
    ), counted as (
      insert into contact_count_deltas (project_id, total, subscribed, day, source, created, created_subscribed)
      select project_id, count(*) filter (where is_new),
        count(*) filter (where subscribed) - count(*) filter (where not subscribed and not is_new),
        ${TODAY}, by, count(*) filter (where is_new), count(*) filter (where is_new and first)
      from upserted where is_new or flipped group by project_id, by
    ), ${storeFactsCte('created', CREATED_CONTACTS, { contactEmail: sql`f.email` })}, reacted as (${insertReactionsSql(sql`(${CHANGED_CONTACTS} union all ${REVIVED_FIELDS})`)}
    )${events.length ? sql`, ${recordContactEventsCte(positions ?? positionsOf(contacts), events)}` : sql``}${moreCtes ? sql`, ${moreCtes(sql`upserted`)}` : sql``}
    ${result}
  `
}

/** The id of the contact is also that of the fact: a contact is created once. */
const CREATED_CONTACTS = sql`(
  select project_id, id, id as contact_id, email, 'contact.created' as name, null::uuid as email_id,
    jsonb_build_object('subscribed', subscribed, 'source', by) as data
  from upserted where is_new)`

/** Changes by the keys of the request. Without a listener the topics, which take longer than the rest, are not even collected. */
const CHANGED_CONTACTS = sql`
  select project_id, id as contact_id, array['contact']
    || case when is_new then array['contact:created', 'contact:email', 'contact:subscribed']
      when flipped then array['contact:subscribed'] else '{}' end
    || array(select 'contact:data.' || key from jsonb_object_keys(set) as key)
    || case when not is_new and unset is not null
      then array(select 'contact:data.' || key from jsonb_array_elements_text(unset) as key) else '{}' end as topics
  from upserted where set is not null and ${hasListenersSql(sql`upserted.project_id`)}`

/**
 * New values of an existing contact. The parameters of special contacts are keyed by name: jsonb finds a key in O(log n), a scan of
 * `input` would take O(n).
 */
function updateExpressions(special: ContactUpsert[]) {
  const merges = special.map((contact) => [
    nameOf(contact),
    { wanted: lastChoice(contact), unset: contact.patch.unset, fill: contact.fill },
  ])
  const merge = sql`${JSON.stringify(Object.fromEntries(merges))}::jsonb -> (excluded.project_id || ' ' || excluded.email)`
  const unset = special.some(({ patch }) => patch.unset.length)
    ? sql`- array(select jsonb_array_elements_text(${merge} -> 'unset'))`
    : sql``
  const subscribed = special.some(({ choices }) => choices.length)
    ? sql`coalesce((${merge} ->> 'wanted')::boolean, c.subscribed)`
    : sql`c.subscribed`
  const fill = sql`coalesce(${merge} -> 'fill', '{}')`
  const merged = special.some(isFilled)
    ? sql`${fill} || c.data || (excluded.data - array(select jsonb_object_keys(${fill})))`
    : sql`c.data || excluded.data`
  return { data: sql`(${merged}) ${unset}`, subscribed }
}

const lastChoice = ({ choices }: ContactUpsert) => choices.at(-1)?.subscribed ?? null
const isFilled = ({ fill }: { fill: object }) => Object.keys(fill).length > 0
/** True if an existing contact needs more than `data || set`. */
const needsMerge = (contact: ContactUpsert) => contact.patch.unset.length > 0 || contact.choices.length > 0 || isFilled(contact)

/** Joins the events with the contacts of the same statement, whose ids are known only then. */
function recordContactEventsCte(positions: Map<string, number>, events: ContactEvent[]) {
  const rows = events.map((event) => ({ n: positions.get(nameOf(event)), id: event.id, name: event.name, data: event.data }))
  return sql`
    new_events as materialized (
      select u.project_id, e.id, e.name, u.id as contact_id, null::uuid as email_id, e.data, u.email
      from ${recordset('events', rows, ['id', 'name', 'data'], { n: 'int' })} as e
      join upserted u on u.n = e.n
    ), ${recordEventsCte(sql`new_events`, { contactEmail: sql`f.email` })}`
}

/** Every real change, including those that a later choice of the same batch reverts. */
function changesOf({ projectId, subscribedIfNew, choices }: ContactUpsert, row: Row): SubscriptionChange[] {
  let current = row.isNew ? subscribedIfNew : row.flipped !== row.subscribed
  const changes: SubscriptionChange[] = []
  for (const { subscribed, source } of choices) {
    if (subscribed !== current) changes.push({ projectId, contactId: row.id, subscribed, source })
    current = subscribed
  }
  return changes
}
