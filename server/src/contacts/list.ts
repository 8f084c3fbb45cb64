import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { type Db, one } from '../db/index.ts'
import { CursorQuery, readCursor, readPage, writeCursor } from '../http/paging.ts'
import type { Secrets } from '../lib/secrets.ts'
import { CONTACT_COLUMNS, type ContactRow, showContact } from './contact.ts'
import { countContacts } from './counts.ts'

const oneOf = <Value extends string>(values: readonly [Value, ...Value[]], otherwise: Value) => z.enum(values).catch(otherwise)

export const ContactsQuery = CursorQuery.extend({
  search: z.string().max(255).optional().describe('Part of the address, in any case.'),
  subscribed: z.enum(['true', 'false']).optional(),
  sort: oneOf(['createdAt', 'email'], 'createdAt').optional(),
  dir: oneOf(['asc', 'desc'], 'desc').optional(),
})

/** What a search counts exactly. Beyond, the planner's guess is near enough and costs nothing. */
const COUNT_UP_TO = 10_000

type Query = z.output<typeof ContactsQuery>

export async function listContacts(db: Db, secrets: Secrets, projectId: string, query: Query) {
  const { limit, sort = 'createdAt', dir = 'desc' } = query
  // Ids are made in the order of time, so the primary key serves as the index by creation.
  const column = sql.ref(sort === 'email' ? 'email' : 'id')
  const where = matching(projectId, query)
  const scope = JSON.stringify(['contacts', projectId, sort, dir, query.search ?? '', query.subscribed ?? ''])
  const after = query.cursor === undefined ? sql`` : continueAfter(column, dir, readCursor(secrets, scope, query.cursor)[0] as string)

  const { rows, hasMore } = await readPage(
    db,
    sql<ContactRow>`select ${CONTACT_COLUMNS} from contacts where ${where} ${after} order by ${column} ${sql.raw(dir)} limit ${limit + 1}`,
    limit,
  )
  const last = rows.at(-1)
  return {
    data: rows.map(showContact),
    cursor: hasMore && last ? writeCursor(secrets, scope, [sort === 'email' ? last.email : last.id]) : null,
    hasMore,
    total: query.cursor === undefined ? await countMatching(db, projectId, query) : 0,
  }
}

const continueAfter = (column: RawBuilder<unknown>, dir: 'asc' | 'desc', value: string) =>
  sql`and ${column} ${sql.raw(dir === 'asc' ? '>' : '<')} ${value}`

export function matching(projectId: string, { search, subscribed }: Pick<Query, 'search' | 'subscribed'>): RawBuilder<unknown> {
  const bySearch = search ? sql`and email like ${likePattern(search)}` : sql``
  const bySubscription = subscribed ? sql`and subscribed = ${subscribed === 'true'}` : sql``
  return sql`project_id = ${projectId} ${bySubscription} ${bySearch}`
}

/** Addresses are stored in lower case. What LIKE would read as a wildcard is meant as it stands. */
const likePattern = (search: string) =>
  `%${search
    .trim()
    .normalize('NFC')
    .toLowerCase()
    .replace(/[\\%_]/g, '\\$&')}%`

async function countMatching(db: Db, projectId: string, query: Query) {
  if (!query.search) {
    const { total, subscribed } = await countContacts(db, projectId)
    return query.subscribed === undefined ? total : query.subscribed === 'true' ? subscribed : total - subscribed
  }
  const where = matching(projectId, query)
  const { count } = await one(
    db,
    sql<{ count: number }>`select count(*)::int as count from (select 1 from contacts where ${where} limit ${COUNT_UP_TO}) as bounded`,
  )
  return count < COUNT_UP_TO ? count : Math.max(COUNT_UP_TO, await estimate(db, where))
}

async function estimate(db: Db, where: RawBuilder<unknown>) {
  const { 'QUERY PLAN': plan } = await one(
    db,
    sql<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>`explain (format json) select 1 from contacts where ${where}`,
  )
  return Math.round(plan[0].Plan['Plan Rows'])
}
