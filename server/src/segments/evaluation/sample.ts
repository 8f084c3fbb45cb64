import { countContacts } from '../../contacts/record/counts.ts'
import { type Db, scalars } from '../../db/index.ts'

/** Contacts that an estimate looks at. */
const SAMPLE_SIZE = 10_000
const HASHES = 2 ** 31

/**
 * Ids of about 10,000 contacts of a project, chosen by a hash, and the number of contacts they stand for. All contacts of a smaller project:
 * then an estimate from them is exact. Reads only the index of the primary key.
 */
export async function sampleContacts(db: Db, projectId: string): Promise<{ ids: string[]; total: number; isComplete: boolean }> {
  const { total } = await countContacts(db, projectId)
  const isComplete = total <= SAMPLE_SIZE
  const share = isComplete ? HASHES : Math.floor((HASHES / total) * SAMPLE_SIZE)
  const ids = await scalars<string>(db)`
    select id from contacts where project_id = ${projectId} and (uuid_hash(id) & ${HASHES - 1}::int) < ${share}::bigint
  `
  return { ids, total, isComplete }
}

/** A number of sampled contacts, as one of all contacts. The total may be older than the sample. */
export const scaleUp = (count: number, sampled: number, total: number) =>
  sampled ? Math.round((count / sampled) * Math.max(total, sampled)) : 0
