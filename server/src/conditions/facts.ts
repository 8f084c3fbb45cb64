import { type Db, many } from '../db/index.ts'
import { prepared } from '../db/prepared.ts'
import { type EventQuery, readLastEvents } from '../events/last-events.ts'
import { groupBy } from '../lib/collections/group-by.ts'
import type { Expression } from './expression.ts'
import type { ContactFacts } from './match.ts'
import { dataKeysOf, eventsOf, staticSegmentsOf } from './references.ts'

type Asked = {
  projectId: string
  contactIds: string[]
  expressions: Expression[]
  /** The events that are asked about a contact; without it, those of all expressions. */
  eventsFor?: (contactId: string) => EventQuery[]
}

/** The facts that the expressions need, with one query for each kind. Leaves out contacts that do not exist. */
export async function readFacts(db: Db, { projectId, contactIds, expressions, eventsFor }: Asked): Promise<ContactFacts[]> {
  const ids = [...new Set(contactIds)]
  const [contacts, lastEvent, isMember] = await Promise.all([
    readContacts(db, { projectId, contactIds: ids, expressions }),
    readEvents(db, { projectId, contactIds: ids, expressions, ...(eventsFor ? { eventsFor } : {}) }),
    readMemberships(db, { projectId, contactIds: ids, segmentIds: staticSegmentsOf(expressions) }),
  ])
  return contacts.map((contact) => ({
    contact,
    lastEvent: (event) => lastEvent(contact.id, event),
    isMember: (segmentId) => isMember(contact.id, segmentId),
  }))
}

type Contact = ContactFacts['contact']

/** With only those fields that the expressions mention: the data of a contact may have 256 KB. */
const readContacts = (db: Db, { projectId, contactIds, expressions }: Asked): Promise<Contact[]> =>
  many(
    db,
    prepared<Contact>`
    select id, email, subscribed, created_at as "createdAt", updated_at as "updatedAt",
      (select coalesce(jsonb_object_agg(key, data -> key), '{}')
       from unnest(${[...new Set(expressions.flatMap(dataKeysOf))]}::text[]) as key where data ? key) as data
    from contacts where project_id = ${projectId} and id = any(${contactIds}::uuid[])
  `,
  )

async function readEvents(db: Db, { expressions, eventsFor, ...asked }: Asked): ReturnType<typeof readLastEvents> {
  const events = eventsOf(expressions)
  return events.length ? readLastEvents(db, { ...asked, eventsFor: eventsFor ?? (() => events) }) : () => undefined
}

type Memberships = { projectId: string; contactIds: string[]; segmentIds: string[] }

/** Which of these contacts have rows in these segments. */
export async function readMemberships(db: Db, { projectId, contactIds, segmentIds }: Memberships) {
  const rows = segmentIds.length
    ? await many(
        db,
        prepared<{ segmentId: string; contactId: string }>`
        select segment_id as "segmentId", contact_id as "contactId" from segment_members
        where project_id = ${projectId} and segment_id = any(${segmentIds}::uuid[]) and contact_id = any(${contactIds}::uuid[])
      `,
      )
    : []
  const segmentsOf = groupBy(rows, ({ contactId }) => contactId)
  const members = new Map([...segmentsOf].map(([contactId, own]) => [contactId, new Set(own.map(({ segmentId }) => segmentId))]))
  return (contactId: string, segmentId: string) => members.get(contactId)?.has(segmentId) ?? false
}
