import { sql } from 'kysely'
import { maybeOne, type Tx } from '../db/index.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { fail } from '../lib/errors.ts'
import { DOMAIN_COLUMNS, type DomainRow } from './domain.ts'

/** Removes a domain and its key, and enqueues the removal of its identity at Amazon SES. Undefined when the project has no such domain. */
export async function removeDomain(tx: Tx, { projectId, id, usesSes }: { projectId: string; id: string; usesSes: boolean }) {
  const removed = await maybeOne(
    tx,
    sql<DomainRow>`delete from domains where project_id = ${projectId} and id = ${id} returning ${DOMAIN_COLUMNS}`,
  )
  if (removed && (await isSendingFrom(tx, removed))) fail('CONFLICT', { message: 'A campaign is being sent from this domain.' })
  if (removed && usesSes) await enqueue(tx, 'domains.remove-identity', { domain: removed.domain })
  return removed
}

/** Extension point for campaigns: whether a scheduled or running one sends from this domain. */
const isSendingFrom = async (_tx: Tx, _domain: DomainRow) => false
