import { type RawBuilder, sql } from 'kysely'
import type { Schema } from '../db/schema.ts'

type Scan = {
  table: keyof Schema
  /** Columns whose values are looked for, such as `project_id`: an index starts with them. */
  by: string[]
  /** More columns of the first row of each value. */
  columns?: RawBuilder<unknown>[]
  /** Which row is the first one: columns of the index. */
  order?: string[]
  where: RawBuilder<unknown>
  /** Values before the first that is looked for. */
  from?: RawBuilder<unknown>
  /** Values that follow those of the row `last`: the next ones are greater. By default those of `last` itself. */
  after?: RawBuilder<unknown>
}

/** A skip scan: a recursive CTE of this name that reads one row of each value, however many rows have it. */
export function skipScanCte(name: string, { table, by, columns = [], order = by, where, from, after }: Scan) {
  const list = (names: string[], of = '') => sql.join(names.map((column) => sql.ref(`${of}${column}`)))
  const first = (than?: RawBuilder<unknown>) => sql`
    select ${sql.join([list(by), ...columns])} from ${sql.table(table)} where (${where}) ${than ? sql`and (${list(by)}) > (${than})` : sql``}
    order by ${list(order)} limit 1`
  return sql`
    ${sql.ref(name)} as (
      (${first(from)})
      union all
      select next.* from ${sql.ref(name)} as last cross join lateral (${first(after ?? list(by, 'last.'))}) as next
    )`
}
