import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { CONTACT_COLUMNS, Contact, type ContactRow, showContact } from '../../contacts/record/contact.ts'
import { type Db, many, type Pool, type Tx } from '../../db/index.ts'
import { CursorQuery, PageQuery, pageInfo, readKeysetPage, writeCursor } from '../../http/core/paging.ts'
import { pagePortions } from '../../http/limits/page-stream.ts'
import { failTooSlow, LONG_STATEMENT_MS } from '../../http/limits/too-slow.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { scanContacts } from '../../projects/scans.ts'
import type { SegmentRow } from '../definition/segment.ts'
import { countForList } from '../evaluation/counts.ts'
import { segmentSql } from './selection.ts'

/** `limit` is another name of `pageSize`, as in other lists by cursor. */
export const MembersQuery = PageQuery.extend(CursorQuery.shape)

export const MemberList = z.object({
  data: z.array(Contact),
  contacts: z.array(Contact).describe('The same as `data`.'),
  total: z.int(),
  page: z.int().nullable().describe('Null with a `cursor`.'),
  pageSize: z.int(),
  totalPages: z.int(),
  cursor: z.string().nullable().describe('Continues after this page without counting from the start. Null on the last page.'),
  hasMore: z.boolean(),
})

type Query = z.output<typeof MembersQuery>
const DEFAULT_SIZE = MembersQuery.parse({}).pageSize
const sizeOf = ({ pageSize, limit }: Query) => (pageSize === DEFAULT_SIZE ? limit : pageSize)

type Page = { after?: string | undefined; limit: number; offset?: number }

const scopeOf = ({ projectId, id }: SegmentRow) => JSON.stringify(['segment-members', projectId, id])

type PageIds = Awaited<ReturnType<typeof pageIdsSql>>

function scanMembers<Found>(db: Pool, segment: SegmentRow, read: (idsSql: PageIds, tx: Tx) => Promise<Found>) {
  const limits = { projectId: segment.projectId, ms: LONG_STATEMENT_MS, waitMs: LONG_STATEMENT_MS }
  return scanContacts(db, limits, async (tx) => read(await pageIdsSql(tx, segment), tx), failTooSlow)
}

/** Ids of one page, newest contacts first. */
async function pageIdsSql(db: Db, segment: SegmentRow) {
  const { projectId, id } = segment
  const [table, column, where] =
    segment.type === 'STATIC'
      ? [sql`segment_members`, sql.ref('contact_id'), sql`segment_id = ${id}`]
      : [sql`contacts`, sql.ref('id'), await segmentSql(db, segment)]
  return ({ after, limit, offset = 0 }: Page): RawBuilder<{ id: string }> => sql`
    select ${column} as id from ${table}
    where project_id = ${projectId} and ${where} ${after ? sql`and ${column} < ${after}` : sql``}
    order by ${column} desc limit ${limit} offset ${offset}`
}

const contactsSql = (projectId: string, ids: RawBuilder<unknown>) => sql<ContactRow>`
  select ${CONTACT_COLUMNS} from contacts where project_id = ${projectId} and id = any(${ids}) order by id desc`

/** A page by number, in portions that fit into memory: contacts may have 256 KB each. */
export async function listSegmentMembers(db: Pool, secrets: Secrets, segment: SegmentRow, query: Query) {
  const { page } = query
  const pageSize = sizeOf(query)
  const offset = (page - 1) * pageSize
  const rows = await scanMembers(db, segment, (idsSql, tx) => {
    const ids = idsSql({ limit: pageSize + 1, offset })
    return many<{ id: string; bytes: number }>(tx)`
      select id, octet_length(data::text) as bytes from contacts
      where project_id = ${segment.projectId} and id = any(array(${ids})) order by id desc
    `
  })
  const shown = rows.slice(0, pageSize)
  const hasMore = rows.length > pageSize
  const total = await totalOf(db, segment, { offset, shown: shown.length, hasMore })
  return {
    portions: pagePortions(shown),
    read: (ids: string[]) => readContacts(db, segment.projectId, ids),
    rest: {
      ...pageInfo(total, { page, pageSize }),
      cursor: hasMore ? writeCursor(secrets, scopeOf(segment), [shown.at(-1)!.id]) : null,
      hasMore,
    },
  }
}

const readContacts = async (db: Db, projectId: string, ids: string[]) =>
  (await many(db, contactsSql(projectId, sql`${ids}::uuid[]`))).map(showContact)

/** The last page shows how many there are. */
async function totalOf(db: Pool, segment: SegmentRow, { offset, shown, hasMore }: { offset: number; shown: number; hasMore: boolean }) {
  if (!hasMore && (shown > 0 || offset === 0)) return offset + shown
  return Math.max(await countForList(db, segment), hasMore ? offset + shown + 1 : 0)
}

/** A page after a cursor: its cost does not grow with the number of pages before it. */
export async function listSegmentMembersAfter(db: Pool, secrets: Secrets, segment: SegmentRow, query: Query) {
  const pageSize = sizeOf(query)
  const { data, ...page } = await scanMembers(db, segment, (idsSql, tx) =>
    readKeysetPage(tx, secrets, {
      scope: scopeOf(segment),
      query: { limit: pageSize, cursor: query.cursor },
      select: ({ after, limit }) => contactsSql(segment.projectId, sql`array(${idsSql({ after: after?.[0] as string, limit })})`),
      positionOf: ({ id }) => [id],
      show: showContact,
    }),
  )
  const total = await countForList(db, segment)
  return { data, contacts: data, ...page, ...pageInfo(total, { page: 1, pageSize }), page: null }
}
