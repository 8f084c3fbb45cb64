import { sql } from 'kysely'
import { type Db, many, maybeOne } from '../../../db/index.ts'
import { MB } from '../../../lib/text/units.ts'
import type { Attachment } from '../../../mime/compose.ts'
import type { Content, RawContent } from './content.ts'

type Key = Pick<Content, 'projectId' | 'id'>
/** Where bytes are stored: a column of one row. */
type Place = { column: ReturnType<typeof sql>; row: ReturnType<typeof sql>; size: number }

/**
 * Bytes per query. The driver gets them as text of twice the size and decodes it on the main thread: 40 MB at once would take 300 MB of memory,
 * and all requests would wait. The columns are stored uncompressed, so that reading a piece does not read what is before it.
 */
const PIECE = MB

/** The body, the attachments and the message of a large content. */
export async function readLargeParts(db: Db, key: Key): Promise<Pick<Content, 'body' | 'attachments' | 'raw'>> {
  const row = sql`from contents where project_id = ${key.projectId} and id = ${key.id}`
  const content = await maybeOne<{ body: string; size: number | null; form: RawContent['form']; isTracked: boolean }>(db)`
    select body, octet_length(raw) as size, raw_form as form, raw_tracked is true as "isTracked" ${row}
  `
  if (!content) throw new Error('the content was deleted')
  const { body, size, form, isTracked } = content
  const raw = size === null ? null : { bytes: await readPieces(db, { column: sql`raw`, row, size }), form, isTracked }
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
    attachments.push({ ...file, content: await readPieces(db, { column: sql`bytes`, row, size }) })
  }
  return attachments
}

async function readPieces(db: Db, { column, row, size }: Place) {
  const bytes = Buffer.alloc(size)
  for (let at = 0; at < size; at += PIECE) {
    const found = await maybeOne<{ piece: Buffer }>(db)`select substring(${column} from ${at + 1}::int for ${PIECE}::int) as piece ${row}`
    if (!found) throw new Error('the content was deleted')
    found.piece.copy(bytes, at)
  }
  return bytes
}
