import { sql } from 'kysely'
import { many, type Tx } from '../db/index.ts'
import { enqueue } from '../jobs/enqueue.ts'

/** A reset keeps domains. Of a deleted project they go, and what Amazon SES knows of them follows. */
export async function wipeDomains(tx: Tx, { projectId, limit }: { projectId: string; limit: number }) {
  const gone = await many(
    tx,
    sql<{ domain: string; isIdentity: boolean }>`
      delete from domains where project_id = ${projectId} and id in (
        select d.id from domains d join projects p on p.id = d.project_id
        where d.project_id = ${projectId} and p.deleted_at is not null limit ${limit})
      returning domain, ses_tokens <> '[]' as "isIdentity"
    `,
  )
  for (const { domain, isIdentity } of gone) if (isIdentity) await enqueue(tx, 'domains.remove-identity', { domain })
  return gone.length
}
