import { type RawBuilder, sql } from 'kysely'
import { many, prepared, type Tx } from '../db/index.ts'
import { reactionsTo } from '../events/listen.ts'
import { recording } from '../events/record.ts'
import { newId } from '../lib/id.ts'
import { type DataPatch, mergePatches } from './data.ts'
import { registerFields } from './fields.ts'
import { recordFlips, type Source, type SubscriptionChange } from './subscription.ts'

type Choice = { subscribed: boolean; source: Source }
/** One contact to create or change, of whichever project. Addresses are normalised, and unique within a batch. */
export type ContactUpsert = {
  projectId: string
  email: string
  /** How a new contact begins; every choice after that is a change. */
  subscribedIfNew: boolean
  choices: Choice[]
  patch: DataPatch
  /** Kept where the contact has nothing yet. No key of it is in the patch. */
  fill: Record<string, unknown>
}
/** Without `data`: a batch of large contacts need not travel back. */
export type Upserted = { id: string; subscribed: boolean; isNew: boolean }

type Request = {
  projectId: string
  email: string
  subscribed?: boolean | undefined
  subscribedIfNew: boolean
  patch: DataPatch
  fill?: Record<string, unknown>
  source: Source
}

export const want = ({ projectId, email, subscribed, subscribedIfNew, patch, fill, source }: Request): ContactUpsert => ({
  projectId,
  email,
  subscribedIfNew: subscribed ?? subscribedIfNew,
  choices: subscribed === undefined ? [] : [{ subscribed, source }],
  patch,
  fill: fill ? withoutKeys(fill, [...Object.keys(patch.set), ...patch.unset, ...Object.keys(patch.transient)]) : {},
})

const withoutKeys = (values: Record<string, unknown>, keys: string[]) =>
  Object.fromEntries(Object.entries(values).filter(([key]) => !keys.includes(key)))

/** Requests for one contact become one, as if they came one after the other. */
export function mergeWanted(requests: ContactUpsert[]): ContactUpsert[] {
  const merged = new Map<string, ContactUpsert>()
  for (const request of requests) {
    const name = nameOf(request)
    const earlier = merged.get(name)
    merged.set(name, earlier ? mergeTwo(earlier, request) : request)
  }
  return [...merged.values()]
}

/** What the first deleted, the second does not fill but set. What the first filled, the second does not fill again. */
function mergeTwo(first: ContactUpsert, second: ContactUpsert): ContactUpsert {
  const refilled = Object.fromEntries(Object.entries(second.fill).filter(([key]) => first.patch.unset.includes(key)))
  const patch = mergePatches(first.patch, { ...second.patch, set: { ...second.patch.set, ...refilled } })
  const fill = withoutKeys({ ...second.fill, ...first.fill }, [...Object.keys(patch.set), ...patch.unset])
  return { ...first, choices: [...first.choices, ...second.choices], patch, fill }
}

const nameOf = ({ projectId, email }: { projectId: string; email: string }) => `${projectId} ${email}`

/** What one of these contacts did. */
export type ContactEvent = { projectId: string; email: string; id: string; name: string; data: object }

/** Creates or changes contacts, with all that follows from it and what they did. Returns a way to find what they are now. */
export async function upsertContacts(tx: Tx, contacts: ContactUpsert[], deeds: ContactEvent[] = []) {
  const rows = contacts.length ? await many(tx, upsertStatement(contacts, { deeds })) : []
  const byName = new Map(rows.map((row) => [nameOf(row), row]))
  await recordFlips(
    tx,
    contacts.flatMap((wanted) => flipsOf(wanted, byName.get(nameOf(wanted))!)),
  )
  return (projectId: string, email: string): Upserted => byName.get(nameOf({ projectId, email }))!
}

/** What happens along with it: what these contacts did, and parts of the statement made from rows of (project_id, id, email). */
type UpsertExtras = { deeds?: ContactEvent[]; numbers?: Map<string, number>; also?: (contacts: RawBuilder<unknown>) => RawBuilder<unknown> }

/** The same as one statement to send along with others; only where nobody chooses, so that no choice is to be recorded. */
export function upsertAtOnce(contacts: ContactUpsert[], more: UpsertExtras) {
  const numbers = numbered(contacts)
  return {
    // As one value, by their numbers: taking rows apart costs as much as all the rest of it here, and so does reading names.
    query: upsertStatement<{ ids: string }>(
      contacts,
      { numbers, ...more },
      sql`select string_agg(id::text, ' ' order by n) as ids from upserted`,
    ),
    finder([row]: { ids: string }[]) {
      const ids = row!.ids.split(' ')
      return (projectId: string, email: string) => ids[numbers.get(nameOf({ projectId, email }))!]!
    },
  }
}

/** Where each of them stands. */
const numbered = (contacts: ContactUpsert[]) => new Map(contacts.map((contact, n) => [nameOf(contact), n]))

const ROWS = sql`select project_id as "projectId", id, email, subscribed, is_new as "isNew", flipped from upserted`
type Row = Upserted & { projectId: string; email: string; flipped: boolean }

/** Contacts, their fields, their number, what they did and the work for whoever listens, in one statement: on the hot path each costs. */
function upsertStatement<Result = Row>(
  contacts: ContactUpsert[],
  { deeds = [], numbers, also }: UpsertExtras,
  result = ROWS,
): RawBuilder<Result> {
  const rows = contacts.map((contact, n) => ({
    n,
    projectId: contact.projectId,
    id: newId(),
    email: contact.email,
    new: choiceOf(contact) ?? contact.subscribedIfNew,
    set: isFilled(contact) ? { ...contact.fill, ...contact.patch.set } : contact.patch.set,
    special: needsMerge(contact) || undefined,
  }))
  // What only an existing contact needs, by its name: jsonb finds a key in log n, a look into `input` would take n.
  const special = contacts.filter(needsMerge)
  const needs = special.map((contact) => [nameOf(contact), { wanted: choiceOf(contact), unset: contact.patch.unset, fill: contact.fill }])
  const asked = sql`${JSON.stringify(Object.fromEntries(needs))}::jsonb -> (excluded.project_id || ' ' || excluded.email)`
  const unset = special.some(({ patch }) => patch.unset.length)
    ? sql`- array(select jsonb_array_elements_text(${asked} -> 'unset'))`
    : sql``
  const wanted = special.some(({ choices }) => choices.length)
    ? sql`coalesce((${asked} ->> 'wanted')::boolean, c.subscribed)`
    : sql`c.subscribed`
  const fill = sql`coalesce(${asked} -> 'fill', '{}')`
  const data = special.some(isFilled)
    ? sql`${fill} || c.data || (excluded.data - array(select jsonb_object_keys(${fill})))`
    : sql`c.data || excluded.data`

  return sql<Result>`${prepared}
    with input as materialized (
      select n, "projectId", id, email, new, set, special
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
        as i(n int, "projectId" uuid, id uuid, email text, new boolean, set jsonb, special boolean)
      order by "projectId", email collate "C" -- everyone locks in the same order, so nobody waits in a circle
    ), unchanged as materialized (
      -- Most who come again bring what we know. To see to it that they stay is half the work of writing the same once more.
      select i.n, c.* from input i cross join lateral (
        select c.project_id, c.id, c.email, c.subscribed from contacts c
        where c.project_id = i."projectId" and c.email = i.email and i.special is null and c.data || i.set = c.data
        for key share
      ) as c
    ), written as (
      insert into contacts as c (project_id, id, email, subscribed, data)
      select "projectId", id, email, new, set from input where n not in (select n from unchanged)
      order by "projectId", email collate "C"
      on conflict (project_id, email) do update set
        data = (${data}) ${unset},
        subscribed = ${wanted},
        subscription_changed_at = case when ${wanted} <> c.subscribed then now() else c.subscription_changed_at end,
        updated_at = now()
      returning project_id, id, email, subscribed, xmax = 0 as is_new,
        -- now() is fixed for the whole transaction, so equality means: flipped here, by us.
        xmax <> 0 and subscription_changed_at = now() as flipped
    ), seen as (${registerFields(rows)}
    ), counted as (
      insert into contact_counts (project_id, total, subscribed)
      select project_id, count(*) filter (where is_new),
        count(*) filter (where subscribed) - count(*) filter (where not subscribed and not is_new)
      from written where is_new or flipped group by project_id
    ), reacted as (${reactionsTo(sql`written`)}
    ), upserted as materialized (
      select i.n, w.* from written w join input i on i."projectId" = w.project_id and i.email = w.email
      union all select n, project_id, id, email, subscribed, false, false from unchanged
    )${deeds.length ? sql`, ${recordDeeds(numbers ?? numbered(contacts), deeds)}` : sql``}${also ? sql`, ${also(sql`upserted`)}` : sql``}
    ${result}
  `
}

const choiceOf = ({ choices }: ContactUpsert) => choices.at(-1)?.subscribed ?? null
const isFilled = ({ fill }: { fill: object }) => Object.keys(fill).length > 0
/** Asks for more than to have this data. */
const needsMerge = (contact: ContactUpsert) => contact.patch.unset.length > 0 || contact.choices.length > 0 || isFilled(contact)

/** Whose id is known only now. */
function recordDeeds(numbers: Map<string, number>, deeds: ContactEvent[]) {
  const rows = deeds.map((deed) => ({ n: numbers.get(nameOf(deed)), id: deed.id, name: deed.name, data: deed.data }))
  return sql`
    new_events as materialized (
      select u.project_id, e.id, e.name, u.id as contact_id, null::uuid as email_id, e.data
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as e(n int, id uuid, name text, data jsonb)
      join upserted u on u.n = e.n
    ), ${recording(sql`new_events`)}`
}

/** Every real change on the way from what it was, also those that a later choice took back. */
function flipsOf({ projectId, subscribedIfNew, choices }: ContactUpsert, row: Row): SubscriptionChange[] {
  let current = row.isNew ? subscribedIfNew : row.flipped !== row.subscribed
  const flips: SubscriptionChange[] = []
  for (const { subscribed, source } of choices) {
    if (subscribed !== current) flips.push({ projectId, contactId: row.id, subscribed, source })
    current = subscribed
  }
  return flips
}
