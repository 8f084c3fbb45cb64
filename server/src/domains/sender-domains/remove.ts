import { maybeOne, type Pool, type Tx } from '../../db/index.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import type { Config } from '../../lib/config.ts'
import { fail } from '../../lib/errors/errors.ts'
import { DOMAIN_COLUMNS, type DomainRow } from './domain.ts'
import { createIdentities } from './ses-identity.ts'

/** Removes a domain and its key, and enqueues the removal of its identity at Amazon SES. Undefined when the project has no such domain. */
export async function removeDomain(tx: Tx, { projectId, id, usesSes }: { projectId: string; id: string; usesSes: boolean }) {
  const removed = await maybeOne<DomainRow>(tx)`
    delete from domains where project_id = ${projectId} and id = ${id} returning ${DOMAIN_COLUMNS}
  `
  if (removed && (await isSendingFrom(tx, removed)))
    fail('CONFLICT', { message: 'A campaign is scheduled or being sent from this domain.' })
  if (removed && usesSes) await enqueue(tx, 'domains.remove-identity', { domain: removed.domain })
  return removed
}

/** Removes the identity at Amazon SES, unless the domain was added again meanwhile. */
export async function removeIdentity({ db, config }: { db: Pool; config: Config }, domain: string) {
  const isInUse = await maybeOne(db)`select from domains where domain = ${domain}`
  if (config.ses && !isInUse) await createIdentities(config.ses).remove(domain)
}

/** Whether a scheduled or running campaign sends from this domain. Its start locks the row of the domain, so it is either seen here or fails. */
const isSendingFrom = async (tx: Tx, { projectId, domain }: DomainRow) =>
  (await maybeOne(tx)`
    select 1 from campaigns
    where project_id = ${projectId} and status in ('SCHEDULED', 'SENDING') and split_part(from_address, '@', 2) = ${domain} limit 1
  `) !== undefined
