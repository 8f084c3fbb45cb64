import { sql } from 'kysely'
import { maybeOne, type Tx } from '../db/index.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { fail } from '../lib/errors.ts'
import { DOMAIN_COLUMNS, type DomainRow } from './domain.ts'

/** Removes a domain and its key; what Amazon SES knows of it follows. Undefined when the project has none with this id. */
export async function removeDomain(tx: Tx, { projectId, id, usesSes }: { projectId: string; id: string; usesSes: boolean }) {
  const removed = await maybeOne(
    tx,
    sql<DomainRow>`delete from domains where project_id = ${projectId} and id = ${id} returning ${DOMAIN_COLUMNS}`,
  )
  if (removed && (await isSendingFrom(tx, removed))) fail('CONFLICT', { message: 'A campaign is being sent from this domain.' })
  if (removed && usesSes) await enqueue(tx, 'domains.remove-identity', { domain: removed.domain })
  return removed
}

/** Campaigns ask here, once they exist, whether one that is scheduled or being sent has its sender on the domain. */
const isSendingFrom = async (_tx: Tx, _domain: DomainRow) => false
