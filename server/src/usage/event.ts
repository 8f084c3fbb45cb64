import { type Db, one } from '../db/index.ts'
import { countEvents } from '../events/counts.ts'
import { isReserved } from '../events/name.ts'

export async function readEventUsage(db: Db, projectId: string, name: string) {
  const { uniqueContacts } = await one<{ uniqueContacts: number }>(db)`
    select count(*)::int as "uniqueContacts" from (
      select distinct contact_id from events where project_id = ${projectId} and name = ${name} and contact_id is not null
    ) as contacts
  `
  return { totalCount: await countEvents(db, projectId, name), uniqueContacts, canDelete: !isReserved(name) }
}
