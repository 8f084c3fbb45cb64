import { type RawBuilder, sql } from 'kysely'
import { one, type Pool } from '../../db/index.ts'
import { withStatementTimeout } from '../../db/statement-timeout.ts'
import { readCursor, readPage, writeCursor } from '../../http/core/paging.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { CONTACT_COLUMNS, type ContactRow, showContact } from '../record/contact.ts'

/** Longest time of a search. No index finds a part of a name. */
const SEARCH_MS = 1_000
/** Contacts of the first statement. Those after it take twice as many as long as they are quick. */
const FIRST_CHUNK = 1_000
const MAX_CHUNK = 32_000
const QUICK_MS = 100

type Search = {
  projectId: string
  /** Limits the contacts to the project, by an index. */
  range: RawBuilder<unknown>
  /** Whether a contact matches. */
  matches: RawBuilder<unknown>
  order: { by: 'id' | 'email'; dir: 'asc' | 'desc' }
  scope: string
  query: { limit: number; cursor?: string | undefined }
}

type Found = { keys: string[]; edge: string | undefined; isDone: boolean }

/**
 * A page of contacts that match, found by reading the contacts in order, in chunks, for at most a second. A page that was cut says so, and
 * its cursor leads on from where the search ended.
 */
export async function searchContacts(db: Pool, secrets: Secrets, search: Search) {
  const { projectId, order, scope, query } = search
  const after = query.cursor === undefined ? undefined : String(readCursor(secrets, scope, query.cursor)[0])
  const { keys, edge, isDone } = await findKeys(db, search, after)
  const column = sql.ref(order.by)
  const found = sql<ContactRow>`
    select ${CONTACT_COLUMNS} from contacts
    where project_id = ${projectId} and ${column}::text = any(${keys}::text[]) order by ${column} ${sql.raw(order.dir)}`
  const { rows, hasMore } = await readPage(db, found, query.limit)
  const isPartial = !isDone && keys.length <= query.limit
  const position = hasMore ? rows.at(-1)?.[order.by] : isPartial ? edge : undefined
  return {
    data: rows.map(showContact),
    cursor: position === undefined ? null : writeCursor(secrets, scope, [position]),
    hasMore: position !== undefined,
    ...(isPartial && { partial: true }),
  }
}

/** The first keys that match, one more than the page has. */
async function findKeys(db: Pool, search: Search, after: string | undefined): Promise<Found> {
  const found: Found = { keys: [], edge: after, isDone: false }
  const deadline = Date.now() + SEARCH_MS
  const wanted = search.query.limit + 1
  await withStatementTimeout(db, SEARCH_MS, async (tx) => {
    for (let chunk = FIRST_CHUNK; !found.isDone && found.keys.length < wanted && Date.now() < deadline; ) {
      const begun = Date.now()
      const { scanned, edge, keys } = await one(tx, chunkSql(search, { after: found.edge, chunk, limit: wanted - found.keys.length }))
      found.keys.push(...keys)
      found.edge = edge ?? found.edge
      found.isDone = scanned < chunk
      if (Date.now() - begun < QUICK_MS) chunk = Math.min(MAX_CHUNK, chunk * 2)
    }
  })
  return found
}

function chunkSql({ range, matches, order }: Search, { after, chunk, limit }: { after: string | undefined; chunk: number; limit: number }) {
  const column = sql.ref(order.by)
  const [forward, backward] = order.dir === 'asc' ? [sql`asc`, sql`desc`] : [sql`desc`, sql`asc`]
  const beyond = after === undefined ? sql`` : sql`and ${column} ${order.dir === 'asc' ? sql`>` : sql`<`} ${after}`
  return sql<{ scanned: number; edge: string | null; keys: string[] }>`
    with scanned as materialized (
      select ${column} as key, ${matches} as matches from contacts where ${range} ${beyond} order by ${column} ${forward} limit ${chunk}
    )
    select (select count(*)::int from scanned) as scanned,
      (select key::text from scanned order by key ${backward} limit 1) as edge,
      array(select key::text from scanned where matches order by key ${forward} limit ${limit}) as keys`
}
