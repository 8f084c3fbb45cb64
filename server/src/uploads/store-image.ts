import { sql } from 'kysely'
import { type Db, maybeOne, one, type Pool, type Tx, transact } from '../db/index.ts'
import { fail, notFound } from '../lib/errors.ts'
import { newId } from '../lib/id.ts'
import { MB } from '../lib/units.ts'
import { newKey, typeOf } from './key.ts'
import { recode } from './recode.ts'
import type { Storage } from './storage.ts'

/**
 * The file first, then its row: a crash between them leaves a file that nobody knows, never a row without its file. When the row
 * fails the file stays as well, for the commit may have happened although we did not hear of it.
 */
export async function keepImage(db: Pool, storage: Storage, { projectId, given }: { projectId: string; given: Buffer }) {
  const { content, ending } = await recode(given)
  const key = newKey(ending)
  const upload = { key, contentType: typeOf(key)!, size: content.length }
  await storage.put(key, content, upload.contentType).catch(unavailable)
  if (!(await transact(db, (tx) => insertUpload(tx, { projectId, ...upload })))) {
    await storage.remove([key]).catch(unavailable)
    notFound('project', projectId)
  }
  return upload
}

/** A full disk, a bucket that is away: nothing the caller did, and worth another try. */
export const unavailable = (cause: unknown): never =>
  fail('SERVICE_UNAVAILABLE', { message: 'Images cannot be stored or read right now. Try again shortly.', retryAfter: 5, cause })

/** Not for a project that is being deleted: `for share` waits for that, so its wipe sees this row or there is none. */
const insertUpload = (
  tx: Tx,
  { projectId, key, contentType, size }: { projectId: string; key: string; contentType: string; size: number },
) =>
  maybeOne(
    tx,
    sql<{ id: string }>`
      insert into uploads (project_id, id, key, content_type, size)
      select id, ${newId()}, ${key}, ${contentType}, ${size} from projects
      where id = ${projectId} and deleted_at is null
      for share
      returning id
    `,
  )

/** Uploads at the same moment may overshoot it by what they hold; that is little, and nobody waits for anybody. */
export async function checkQuota(db: Db, projectId: string, quotaMb: number) {
  if (quotaMb === 0) return
  const { bytes } = await one(
    db,
    sql<{ bytes: string }>`select coalesce(sum(size), 0) as bytes from uploads where project_id = ${projectId}`,
  )
  if (Number(bytes) >= quotaMb * MB)
    fail('PAYLOAD_TOO_LARGE', {
      message: `The images of this project take up all of its ${quotaMb} MB.`,
      details: { quotaMb, usedBytes: Number(bytes) },
    })
}
