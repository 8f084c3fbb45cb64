import { sql } from 'kysely'
import { toUpsert, upsertContacts } from '../../contacts/changes/upsert.ts'
import { NO_DATA } from '../../contacts/record/data.ts'
import type { Source } from '../../contacts/record/subscription.ts'
import { many, maybeScalar, type Pool, scalars, type Tx, transact } from '../../db/index.ts'
import { failPlainly, notFound } from '../../lib/errors/errors.ts'
import { readAddress } from '../../lib/text/address.ts'
import { staticMembersChanged } from '../tracking/tracking.ts'

export const MAX_ADDRESSES = 10_000
/** Addresses per transaction: few enough that a concurrent writer hardly waits. */
const PAGE = 1_000

type SegmentId = { projectId: string; segmentId: string }
type Contacts = SegmentId & { contactIds: string[] }

/** Locks a static segment against deletion. Returns its type, undefined when there is no such segment; a dynamic one is refused. */
export async function lockStaticSegment(tx: Tx, { projectId, segmentId }: SegmentId) {
  const type = await maybeScalar<string>(tx)`select type from segments where project_id = ${projectId} and id = ${segmentId} for key share`
  if (type === 'DYNAMIC') failPlainly('BAD_REQUEST', 'The members of a dynamic segment follow from its condition and cannot be changed.')
  return type
}

/** Adds contacts to a static segment. Returns those that exist and those that were added, or undefined when there is no such segment. */
export async function addMembers(tx: Tx, { projectId, segmentId, contactIds }: Contacts) {
  if (!(await lockStaticSegment(tx, { projectId, segmentId }))) return undefined
  const found = await scalars<string>(tx)`
    select id from contacts where project_id = ${projectId} and id = any(${contactIds}::uuid[])
    order by email for key share -- same lock order as upserts
  `
  const added = await scalars<string>(tx)`
    insert into segment_members (project_id, segment_id, contact_id)
    select ${projectId}, ${segmentId}, id from unnest(${found}::uuid[]) as id
    order by id -- consistent lock order
    on conflict do nothing
    returning contact_id
  `
  await recordChange(tx, { projectId, segmentId }, { added, removed: [] })
  return { found, changed: added }
}

async function removeMembers(tx: Tx, { projectId, segmentId, contactIds }: Contacts) {
  if (!(await lockStaticSegment(tx, { projectId, segmentId }))) notFound('segment', segmentId)
  await sql`
    select from segment_members where project_id = ${projectId} and segment_id = ${segmentId} and contact_id = any(${contactIds}::uuid[])
    order by contact_id for update -- consistent lock order
  `.execute(tx)
  const removed = await scalars<string>(tx)`
    delete from segment_members where project_id = ${projectId} and segment_id = ${segmentId} and contact_id = any(${contactIds}::uuid[])
    returning contact_id
  `
  await recordChange(tx, { projectId, segmentId }, { added: [], removed })
  return removed.length
}

/** The count changes at once; deleted contacts are noticed when it is refreshed. */
async function recordChange(tx: Tx, { projectId, segmentId }: SegmentId, change: { added: string[]; removed: string[] }) {
  const difference = change.added.length - change.removed.length
  if (!change.added.length && !change.removed.length) return
  await sql`
    update segments set member_count = greatest(0, member_count + ${difference}) where project_id = ${projectId} and id = ${segmentId}
  `.execute(tx)
  await staticMembersChanged(tx, { projectId, segmentId, ...change })
}

type Addition = SegmentId & { emails: string[]; createMissing: boolean; subscribed: boolean; source: Source }

/** In pages, each in its own transaction: a repeated call continues where a failed one ended. */
export async function addAddresses(db: Pool, { projectId, segmentId, emails, createMissing, subscribed, source }: Addition) {
  const { given, addresses } = readAddresses(emails)
  const result = { added: 0, created: 0 }
  const known = new Set<string>()
  for (const page of pagesOf(addresses)) {
    const { added, created, found } = await transact(db, async (tx) => {
      const contacts = createMissing
        ? await createContacts(tx, { projectId, emails: page, subscribed, source })
        : await findContacts(tx, projectId, page)
      const members = await addMembers(tx, { projectId, segmentId, contactIds: contacts.map(({ id }) => id) })
      if (!members) return notFound('segment', segmentId)
      return { added: members.changed.length, created: contacts.filter(({ isNew }) => isNew).length, found: contacts }
    })
    result.added += added
    result.created += created
    for (const { email } of found) known.add(email)
  }
  return { ...result, notFound: given.filter(({ address }) => !address || !known.has(address)).map(({ text }) => text) }
}

export async function removeAddresses(db: Pool, { projectId, segmentId, emails }: SegmentId & { emails: string[] }) {
  let removed = 0
  for (const page of pagesOf(readAddresses(emails).addresses)) {
    removed += await transact(db, async (tx) => {
      const contacts = await findContacts(tx, projectId, page)
      return removeMembers(tx, { projectId, segmentId, contactIds: contacts.map(({ id }) => id) })
    })
  }
  return { removed }
}

/** The distinct normalised addresses, in order, and each given text with its address; null for text that is not an address. */
function readAddresses(emails: string[]) {
  const given = emails.map((text) => ({ text, address: readAddress(text) }))
  return { given, addresses: [...new Set(given.flatMap(({ address }) => address ?? []))].sort() }
}

/** At least one page, so that the segment is checked. */
const pagesOf = (addresses: string[]) =>
  Array.from({ length: Math.max(1, Math.ceil(addresses.length / PAGE)) }, (_, page) => addresses.slice(page * PAGE, (page + 1) * PAGE))

type Found = { id: string; email: string; isNew: boolean }

const findContacts = (tx: Tx, projectId: string, emails: string[]) =>
  many<Found>(tx)`
    select id, email, false as "isNew" from contacts where project_id = ${projectId} and email = any(${emails}::text[])
    order by email for key share
  `

type Creation = { projectId: string; emails: string[]; subscribed: boolean; source: Source }

/** Finds or creates contacts. `subscribed` is the state of new ones: being added to a segment is no consent of a known contact. */
async function createContacts(tx: Tx, { projectId, emails, subscribed, source }: Creation): Promise<Found[]> {
  const upserts = emails.map((email) => toUpsert({ projectId, email, subscribedIfNew: subscribed, patch: NO_DATA, source }))
  const find = await upsertContacts(tx, upserts)
  return emails.map((email) => {
    const { id, isNew } = find(projectId, email)
    return { id, email, isNew }
  })
}
