import { sql } from 'kysely'
import { many, type Tx } from '../../db/index.ts'
import { prepared } from '../../db/prepared.ts'
import { recordset } from '../../db/rows.ts'
import { recordEvents } from '../../events/record.ts'
import { entryEventOf, exitEventOf } from '../definition/segment.ts'

type Named = { id: string; name: string; slug: string }
/** A contact that is to enter or leave a tracked segment. */
export type MembershipChange = { segment: Named; contactId: string; isMember: boolean }
type Stored = { segmentId: string; contactId: string }

const keyOf = ({ segmentId, contactId }: Stored) => `${segmentId} ${contactId}`
const storedOf = ({ segment, contactId }: MembershipChange): Stored => ({ segmentId: segment.id, contactId })

/**
 * Writes memberships and their events in one transaction, so that each net change has exactly one event. Returns the changes that were
 * real: the row was missing, or was there.
 */
export async function changeMemberships(tx: Tx, projectId: string, changes: MembershipChange[]): Promise<MembershipChange[]> {
  const entries = changes.filter(({ isMember }) => isMember).map(storedOf)
  const exits = changes.filter(({ isMember }) => !isMember).map(storedOf)
  const written = [
    ...(entries.length ? await many(tx, insertMembers(projectId, entries)) : []),
    ...(exits.length ? await many(tx, deleteMembers(projectId, exits)) : []),
  ]
  const real = new Set(written.map(keyOf))
  const done = changes.filter((change) => real.has(keyOf(storedOf(change))))
  await recordMembershipEvents(tx, projectId, done)
  return done
}

export function recordMembershipEvents(tx: Tx, projectId: string, changes: MembershipChange[]) {
  const events = changes.map(({ segment: { id, name, slug }, contactId, isMember }) => ({
    projectId,
    contactId,
    name: isMember ? entryEventOf(slug) : exitEventOf(slug),
    data: { segmentId: id, segmentName: name },
  }))
  return recordEvents(tx, events)
}

const rowsOf = (stored: Stored[]) => sql`${recordset('segment_members', stored, ['segmentId', 'contactId'])} as r`

/** Locks the contacts first: a contact that is deleted in this moment is left out instead of breaking the foreign key. */
const insertMembers = (projectId: string, entries: Stored[]) => prepared<Stored>`
  with present as materialized (
    select id from contacts where project_id = ${projectId} and id = any(${[...new Set(entries.map(({ contactId }) => contactId))]}::uuid[])
    order by email for key share -- same lock order as upserts
  )
  insert into segment_members (project_id, segment_id, contact_id)
  select ${projectId}, r."segmentId", r."contactId" from ${rowsOf(entries)} join present on present.id = r."contactId"
  on conflict do nothing
  returning segment_id as "segmentId", contact_id as "contactId"
`

const deleteMembers = (projectId: string, exits: Stored[]) => prepared<Stored>`
  delete from segment_members m using ${rowsOf(exits)}
  where m.project_id = ${projectId} and m.segment_id = r."segmentId" and m.contact_id = r."contactId"
  returning m.segment_id as "segmentId", m.contact_id as "contactId"
`
