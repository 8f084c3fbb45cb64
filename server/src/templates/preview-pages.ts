import { sql } from 'kysely'
import { countAffected, type Db, maybeOne, type Tx } from '../db/index.ts'
import { keepNewest } from '../db/wipe-rows.ts'
import { FRAME_LIFETIME_MS, frameUrlOf, type PreviewFrame } from '../http/preview-frame.ts'
import { newId } from '../lib/id.ts'
import type { Secrets } from '../lib/secrets.ts'
import { storable } from '../lib/text/storable.ts'
import { MB } from '../lib/text/units.ts'

/** Pages kept per project. An editor makes a few a second while somebody types, and shows only the newest. */
const MAX_PAGES = 50
const MAX_BYTES = 20 * MB

type Page = { projectId: string; html: string; kind?: PreviewFrame['kind'] }

/** Stores a rendered page for the frame that shows it, since unsaved content has no other place. Returns the path of the frame. */
export async function savePreviewPage(tx: Tx, secrets: Secrets, { projectId, html, kind = 'page' }: Page) {
  const id = newId()
  await sql`insert into preview_pages (project_id, id, html) values (${projectId}, ${id}, ${storable(html)})`.execute(tx)
  const of = sql`project_id = ${projectId}`
  await keepNewest(tx, 'preview_pages', { of, bytes: sql`octet_length(html)`, maxRows: MAX_PAGES, maxBytes: MAX_BYTES })
  return frameUrlOf(secrets, { kind, projectId, id })
}

export const findPreviewPage = (db: Db, { projectId, id }: { projectId: string; id: string }) =>
  maybeOne<{ html: string }>(db)`select html from preview_pages where project_id = ${projectId} and id = ${id}`

export const dropOldPreviewPages = (tx: Tx, limit: number) =>
  countAffected(tx)`
    delete from preview_pages where (project_id, id) in (
      select project_id, id from preview_pages
      where created_at < now() - make_interval(secs => ${FRAME_LIFETIME_MS / 1_000}) order by created_at limit ${limit})
  `
