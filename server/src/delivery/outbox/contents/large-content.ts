import { sql } from 'kysely'
import { type Db, many, maybeOne } from '../../../db/index.ts'
import type { Attachment } from '../../../mime/compose.ts'
import type { Content, RawContent } from './content.ts'
import { readPieces } from './pieces.ts'

type Key = Pick<Content, 'projectId' | 'id'>
/** The body, the attachments and the message of a large content. */
export async function readLargeParts(db: Db, key: Key): Promise<Pick<Content, 'body' | 'attachments' | 'raw'>> {
  const row = sql`from contents where project_id = ${key.projectId} and id = ${key.id}`
  const content = await maybeOne<{ body: string; size: number | null; form: RawContent['form']; isTracked: boolean }>(db)`
    select body, octet_length(raw) as size, raw_form as form, raw_tracked is true as "isTracked" ${row}
  `
  if (!content) throw new Error('the content was deleted')
  const { body, size, form, isTracked } = content
  const raw = size === null ? null : { bytes: await requirePieces(db, { column: sql`raw`, row, size }), form, isTracked }
  return { body, attachments: await readAttachments(db, key), raw }
}

async function readAttachments(db: Db, { projectId, id }: Key) {
  const files = await many<Omit<Attachment, 'content'> & { position: number; size: number }>(db)`
    select position, filename, content_type as "contentType", cid as "contentId", inline, octet_length(bytes) as size
    from attachments where project_id = ${projectId} and content_id = ${id} order by position
  `
  const attachments: Attachment[] = []
  for (const { position, size, ...file } of files) {
    const row = sql`from attachments where project_id = ${projectId} and content_id = ${id} and position = ${position}`
    attachments.push({ ...file, content: await requirePieces(db, { column: sql`bytes`, row, size }) })
  }
  return attachments
}

async function requirePieces(...place: Parameters<typeof readPieces>) {
  const bytes = await readPieces(...place)
  if (!bytes) throw new Error('the content was deleted')
  return bytes
}
