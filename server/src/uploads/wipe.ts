import { many, type Tx } from '../db/index.ts'
import { type WipeScope, wipeSql } from '../db/wipe-rows.ts'
import { enqueue } from '../jobs/enqueue.ts'

/** For a project reset or deletion. The job that removes the files is committed with the rows and retries until it succeeds. */
export async function wipeUploads(tx: Tx, scope: WipeScope) {
  const gone = await many<{ key: string }>(tx)`${wipeSql('uploads', scope)} returning key`
  if (gone.length) await enqueue(tx, 'uploads.remove', { projectId: scope.projectId, keys: gone.map(({ key }) => key) })
  return gone.length
}
