import type { RawBuilder } from 'kysely'
import { z } from 'zod'
import { type Db, many } from '../../db/index.ts'
import { fail } from '../../lib/errors/errors.ts'
import { type Secrets, SIGNATURE_LENGTH } from '../../lib/secrets.ts'
import { MB } from '../../lib/text/units.ts'

/** Not a whole number, or below 1: the default. Above the maximum: the maximum. The response shows the value used. */
export const integerParam = (byDefault: number, max: number) =>
  z
    .unknown()
    .optional()
    .transform((given) => {
      const number = typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : 0
      return number < 1 ? byDefault : Math.min(number, max)
    })
    // No `minimum` and no `maximum`: a strict client would refuse values that are accepted here.
    .meta({
      type: 'integer',
      description: `1 to ${max.toLocaleString('en')}, default ${byDefault}. A larger number counts as the maximum, any other value as the default.`,
    })

/** Any value but one of `values` counts as the default. */
export const choiceParam = <Value extends string>(values: readonly [Value, ...Value[]], byDefault: Value) =>
  z
    .unknown()
    .optional()
    .transform((given) => values.find((value) => value === given) ?? byDefault)
    .meta({
      type: 'string',
      description: `${values.map((value) => `\`${value}\``).join(' or ')}. Any other value counts as \`${byDefault}\`, the default.`,
    })

/** `status=FAILED&status=BOUNCED`, or `status=FAILED,BOUNCED`. */
export const severalOf = <Value extends string>(values: readonly [Value, ...Value[]]) =>
  z.preprocess(
    (given) => (given === undefined ? undefined : [given].flat().flatMap((part) => (typeof part === 'string' ? part.split(',') : [part]))),
    z.array(z.enum(values)).min(1).max(values.length).optional(),
  )

/** Many clients send an empty cursor for the first page. */
const Cursor = z.preprocess((given) => (given === '' ? undefined : given), z.string().optional())

export const CursorQuery = z.object({ limit: integerParam(20, 100), cursor: Cursor })
export const PageQuery = z.object({ page: integerParam(1, 1_000_000_000), pageSize: integerParam(20, 100) })

export const cursorList = <Item extends z.ZodType>(item: Item) =>
  z.object({ data: z.array(item), cursor: z.string().nullable(), hasMore: z.boolean(), total: z.int() })

export const pageList = <Item extends z.ZodType>(item: Item) =>
  z.object({ data: z.array(item), total: z.int(), page: z.int(), pageSize: z.int(), totalPages: z.int() })

/** Approximate bytes of rows in one response, or one portion of it: 100 rows may have megabytes each. */
export const PAGE_BYTES = MB

type Numbered = { rowsFound: number; bytesBefore: number; rowNumber: string }

/**
 * Reads the rows of a cursor page. `query` orders them and selects one more than `limit`; they are numbered in that order. The database
 * leaves rows beyond PAGE_BYTES to the next page, so that they are never in our memory; the first row is always returned.
 */
export async function readPage<Row extends object>(
  db: Db,
  query: RawBuilder<Row>,
  limit: number,
): Promise<{ rows: Row[]; hasMore: boolean }> {
  const read = await many<Row & Numbered>(db)`
    with page as materialized (select listed.*, row_number() over () as "rowNumber" from (${query}) as listed),
    sized as (
      select page.*, (select count(*)::int from page) as "rowsFound",
        coalesce(sum(octet_length(page::text)) over (order by "rowNumber" rows between unbounded preceding and 1 preceding), 0)::int as "bytesBefore"
      from page
    )
    select * from sized where "bytesBefore" < ${PAGE_BYTES} order by "rowNumber"
  `
  const found = read[0]?.rowsFound ?? 0
  const rows = read.slice(0, limit).map(({ rowsFound: _found, bytesBefore: _bytes, rowNumber: _number, ...row }) => row as unknown as Row)
  return { rows, hasMore: found > rows.length }
}

type Position = (string | number | boolean | null)[]

type KeysetList<Row, Item> = {
  /** Names the project, the list, its filters and its order: a cursor of another list is refused. */
  scope: string
  query: { limit: number; cursor?: string | undefined }
  /** Selects the first `limit` rows in order, or those after the position of a cursor. */
  select: (page: { after: Position | undefined; limit: number }) => RawBuilder<Row>
  positionOf: (row: Row) => Position
  /** Without it rows are shown as they are. */
  show?: (row: Row) => Item
  /** Called for the first page only; the total of other pages, and without it, is 0. */
  count?: () => Promise<number>
}

/** The answer of a list by page number, as `pageList` describes it, without its items. */
export const pageInfo = (total: number, { page, pageSize }: z.output<typeof PageQuery>) => ({
  total,
  page,
  pageSize,
  totalPages: Math.ceil(total / pageSize),
})

/** One page of a list by cursor, as `cursorList` describes it. */
export async function readKeysetPage<Row extends object, Item = Row>(db: Db, secrets: Secrets, list: KeysetList<Row, Item>) {
  // Without `show` an item is a row.
  const { scope, query, select, positionOf, show = (row: Row) => row as unknown as Item, count = async () => 0 } = list
  const { limit, cursor } = query
  const after = cursor === undefined ? undefined : readCursor(secrets, scope, cursor)
  const { rows, hasMore } = await readPage(db, select({ after, limit: limit + 1 }), limit)
  const last = rows.at(-1)
  return {
    data: rows.map(show),
    cursor: hasMore && last ? writeCursor(secrets, scope, positionOf(last)) : null,
    hasMore,
    total: cursor === undefined ? await count() : 0,
  }
}

/** `scope` names the project, the list and its order: a cursor of another scope is refused like a forged one. */
export function writeCursor(secrets: Secrets, scope: string, position: Position) {
  const text = Buffer.from(JSON.stringify(position)).toString('base64url')
  return secrets.sign('cursor', `${scope}\0${text}`) + text
}

export function readCursor(secrets: Secrets, scope: string, cursor: string): Position {
  const text = cursor.slice(SIGNATURE_LENGTH)
  if (!secrets.isSigned('cursor', `${scope}\0${text}`, cursor.slice(0, SIGNATURE_LENGTH))) {
    fail('BAD_REQUEST', { message: 'The cursor is not valid for this list.', suggestion: 'Start again without a cursor.' })
  }
  return JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Position // signed by us, so it has the shape that writeCursor was given
}
