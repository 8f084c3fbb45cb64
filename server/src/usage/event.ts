import { type Db, scalar } from '../db/index.ts'
import { countEvents } from '../events/counts.ts'
import { isReserved } from '../events/name.ts'

export async function readEventUsage(db: Db, projectId: string, name: string) {
  const uniqueContacts = await scalar<number>(db)`
    select count(*)::int from (
      select distinct contact_id from events where project_id = ${projectId} and name = ${name} and contact_id is not null
    ) as contacts
  `
  return { totalCount: await countEvents(db, projectId, name), uniqueContacts, canDelete: !isReserved(name) }
}
