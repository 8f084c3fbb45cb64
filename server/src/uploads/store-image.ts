import { type Db, maybeOne, type Pool, scalar, type Tx, transact } from '../db/index.ts'
import { fail, notFound } from '../lib/errors/errors.ts'
import { newId } from '../lib/id.ts'
import { MB } from '../lib/text/units.ts'
import { contentTypeOf, newImageKey } from './key.ts'
import { recode } from './recode.ts'
import type { Storage } from './storage.ts'

/**
 * Stores the file first, then its row: a crash in between leaves an unreferenced file, never a row without a file. The file also stays
 * when the insert fails, because the commit may have succeeded although its reply was lost.
 */
export async function storeImage(db: Pool, storage: Storage, { projectId, given }: { projectId: string; given: Buffer }) {
  const { content, extension } = await recode(given)
  const key = newImageKey(extension)
  const upload = { key, contentType: contentTypeOf(key)!, size: content.length }
  await storage.put(key, content, upload.contentType).catch(failUnavailable)
  if (!(await transact(db, (tx) => insertUpload(tx, { projectId, ...upload })))) {
    await storage.remove([key]).catch(failUnavailable)
    notFound('project', projectId)
  }
  return upload
}

/** A full disk or an unreachable bucket is not the caller's fault, and a retry may succeed. */
export const failUnavailable = (cause: unknown): never =>
  fail('SERVICE_UNAVAILABLE', { message: 'Images cannot be stored or read right now. Try again shortly.', retryAfter: 5, cause })

/** Inserts nothing for a deleted project. `for share` waits for a concurrent deletion, so that its wipe sees every row. */
const insertUpload = (
  tx: Tx,
  { projectId, key, contentType, size }: { projectId: string; key: string; contentType: string; size: number },
) =>
  maybeOne<{ id: string }>(tx)`
    insert into uploads (project_id, id, key, content_type, size)
    select id, ${newId()}, ${key}, ${contentType}, ${size} from projects
    where id = ${projectId} and deleted_at is null
    for share
    returning id
  `

/** Concurrent uploads may exceed the quota by their own size. That is little, and a lock would make uploads wait for each other. */
export async function checkQuota(db: Db, projectId: string, quotaMb: number) {
  if (quotaMb === 0) return
  const usedBytes = Number(await scalar<string>(db)`select coalesce(sum(size), 0) from uploads where project_id = ${projectId}`)
  if (usedBytes >= quotaMb * MB)
    fail('PAYLOAD_TOO_LARGE', { message: `The images of this project use all of its ${quotaMb} MB.`, details: { quotaMb, usedBytes } })
}
