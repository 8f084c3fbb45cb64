import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import type { Db, Pool } from '../../db/index.ts'
import { readStorableJson } from '../../http/core/json.ts'
import { CursorQuery, choiceParam, readKeysetPage } from '../../http/core/paging.ts'
import { countWithin } from '../../http/limits/bounded-read.ts'
import { failTooSlow, LONG_STATEMENT_MS } from '../../http/limits/too-slow.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { scanContacts } from '../../projects/scans.ts'
import { CONTACT_COLUMNS, type ContactRow, showContact } from '../record/contact.ts'
import { countContacts } from '../record/counts.ts'
import {
  type ContactFilter,
  FilterField,
  FilterQ,
  FilterSearch,
  FilterTime,
  inIdRangeSql,
  isEmptyFilter,
  matchesFilterSql,
  requireFieldWithValue,
  rowMatchesSql,
  withNameFields,
} from './filter.ts'
import { searchContacts } from './search.ts'
import { type SegmentAccess, selectMembers } from './segment-access.ts'

/** As text: a query has no other way to carry a tree. Longer texts do not fit into a URL. */
const ConditionText = z
  .string()
  .max(16_384)
  .transform((text, context) => {
    try {
      return readStorableJson(Buffer.from(text))
    } catch {
      context.addIssue({ code: 'custom', message: 'Must be a condition, written as JSON.', params: { code: 'invalid_string' } })
      return z.NEVER
    }
  })
  .describe('A condition as JSON text, such as that of a segment: only contacts that match it.')

export const ContactsQuery = CursorQuery.extend({
  search: FilterSearch.optional(),
  q: FilterQ.optional(),
  subscribed: z.enum(['true', 'false']).optional(),
  field: FilterField.optional(),
  value: z.string().max(1_024).optional(),
  createdFrom: FilterTime.optional(),
  createdTo: FilterTime.optional(),
  segmentId: z.string().max(100).optional(),
  condition: ConditionText.optional(),
  sort: choiceParam(['createdAt', 'email'], 'createdAt'),
  dir: choiceParam(['asc', 'desc'], 'desc'),
}).check(requireFieldWithValue)

/** Limits of exact counting in matches and time. Beyond them the planner's estimate is close enough. */
const COUNT_UP_TO = 10_000
const COUNT_MS = 1_000

type Query = z.output<typeof ContactsQuery>
type Deps = { db: Pool; secrets: Secrets; segments: SegmentAccess }

export async function listContacts({ db, secrets, segments }: Deps, projectId: string, query: Query) {
  const filter = await withNameFields(db, projectId, readFilter(query))
  const inSegment = await selectMembers(segments, db, projectId, { ...query, path: 'condition' })
  if (filter.nameFields) return listNamed({ db, secrets }, projectId, { query, filter, inSegment })
  const where = sql`${matchesFilterSql(projectId, filter)} ${inSegment ? sql`and ${inSegment}` : sql``}`
  const select = (from: Db) => selectPage(from, secrets, { projectId, query, where })
  const page = inSegment ? await scanContacts(db, { projectId, ms: LONG_STATEMENT_MS }, select, failTooSlow) : await select(db)
  // Counted afterwards: the page may be read in a transaction, which would hold its connection meanwhile.
  const count = () => (inSegment ? countRowsOf(db, where) : countMatching(db, projectId, filter))
  return query.cursor === undefined ? { ...page, total: await count() } : page
}

type Named = { query: Query; filter: ContactFilter; inSegment: RawBuilder<unknown> | undefined }

/** The total of a first page that was cut is what was found so far. */
async function listNamed({ db, secrets }: Pick<Deps, 'db' | 'secrets'>, projectId: string, { query, filter, inSegment }: Named) {
  const matches = sql`${rowMatchesSql(filter)} and ${inSegment ?? sql`true`}`
  const page = await searchContacts(db, secrets, {
    projectId,
    range: inIdRangeSql(projectId, filter),
    matches,
    order: { by: query.sort === 'email' ? 'email' : 'id', dir: query.dir },
    scope: scopeOf(projectId, query),
    query,
  })
  if (query.cursor !== undefined) return { ...page, total: 0 }
  const isAll = page.partial || !page.hasMore
  return { ...page, total: isAll ? page.data.length : await countRowsOf(db, sql`${inIdRangeSql(projectId, filter)} and ${matches}`) }
}

type PageQuery = { projectId: string; query: Query; where: RawBuilder<unknown> }

function selectPage(db: Db, secrets: Secrets, { projectId, query, where }: PageQuery) {
  const { sort, dir } = query
  // Ids are ordered by time, so the primary key serves as the index by creation time.
  const column = sql.ref(sort === 'email' ? 'email' : 'id')
  const beyond = sql.raw(dir === 'asc' ? '>' : '<')
  return readKeysetPage(db, secrets, {
    scope: scopeOf(projectId, query),
    query,
    select: ({ after, limit }) => sql<ContactRow>`
      select ${CONTACT_COLUMNS} from contacts
      where ${where} ${after ? sql`and ${column} ${beyond} ${after[0]}` : sql``} order by ${column} ${sql.raw(dir)} limit ${limit}
    `,
    positionOf: ({ id, email }) => [sort === 'email' ? email : id],
    show: showContact,
  })
}

/** An empty filter has the same scope as none. */
function scopeOf(projectId: string, query: Query) {
  const { search = '', q = '', subscribed = '', field, value, createdFrom = '', createdTo = '', segmentId, condition, sort, dir } = query
  const isPlain = field === undefined && createdFrom === '' && createdTo === ''
  const others = [
    ...(isPlain ? [] : [field, value, createdFrom, createdTo]),
    ...(segmentId ? [{ segmentId }] : []),
    ...(condition === undefined ? [] : [{ condition }]),
    ...(q.trim() ? [{ q }] : []),
  ]
  return JSON.stringify(['contacts', projectId, sort, dir, search, subscribed, ...others])
}

function readFilter({ search, q, subscribed, field, value, createdFrom, createdTo }: Query): ContactFilter {
  return { search, q, subscribed: subscribed === undefined ? undefined : subscribed === 'true', field, value, createdFrom, createdTo }
}

async function countMatching(db: Pool, projectId: string, filter: ContactFilter) {
  if (isEmptyFilter({ ...filter, subscribed: undefined })) {
    const { total, subscribed } = await countContacts(db, projectId)
    return filter.subscribed === undefined ? total : filter.subscribed ? subscribed : total - subscribed
  }
  return countRowsOf(db, matchesFilterSql(projectId, filter))
}

/** Few of very many contacts may match, and then counting takes long. */
const countRowsOf = (db: Pool, where: RawBuilder<unknown>) =>
  countWithin(db, sql`select 1 from contacts where ${where}`, { upTo: COUNT_UP_TO, ms: COUNT_MS })
