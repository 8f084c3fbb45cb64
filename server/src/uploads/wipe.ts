import { sql } from 'kysely'
import { many, type Tx } from '../db/index.ts'
import { enqueue } from '../jobs/enqueue.ts'

/** For a project reset or deletion. With the rows' commit a job knows the files, and tries until they are gone. */
export async function wipeUploads(tx: Tx, { projectId, before, limit }: { projectId: string; before: string; limit: number }) {
  const gone = await many(
    tx,
    sql<{ key: string }>`
      delete from uploads where project_id = ${projectId} and id in (
        select id from uploads where project_id = ${projectId} and created_at <= ${before}::timestamptz limit ${limit})
      returning key
    `,
  )
  if (gone.length) await enqueue(tx, 'uploads.remove', { projectId, keys: gone.map(({ key }) => key) })
  return gone.length
}
