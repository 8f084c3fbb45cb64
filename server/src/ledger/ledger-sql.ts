import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../db/index.ts'
import type { Schema } from '../db/schema.ts'
import type { Sums } from './ledger.ts'
import type { Recounted } from './repair.ts'

type Sql = RawBuilder<unknown>
export type Row = Record<string, unknown>

/** The definition of a table of sums, with the expressions of its columns and the condition on a delta `d`. */
type SumsTable = Recounted & { columns: Record<string, Sql>; where: Sql }

export function describeSums(deltas: keyof Schema, name: keyof Schema, sums: Sums): SumsTable {
  const { key, values, notes = {}, where = sql`true`, ...rest } = sums
  const columns = { project_id: sql`d.project_id`, ...key, ...values, ...notes }
  const summed = Object.keys({ ...values, ...notes })
  const ofDeltas = Object.entries(columns).map(([column, value]) => sql`${value} as ${sql.ref(column)}`)
  const waiting = (projectId: Sql) =>
    sql`select ${sql.join(ofDeltas)} from ${sql.table(deltas)} d where d.project_id = ${projectId} and (${where})`
  return { ...rest, name, columns, where, waiting, key: ['project_id', ...Object.keys(key)], values: Object.keys(values), summed }
}

export const columnsSql = (columns: string[], of = '') => sql.join(columns.map((column) => sql.ref(`${of}${column}`)))
export const each = (columns: string[], write: (column: Sql) => Sql, separator = sql`, `) =>
  sql.join(
    columns.map((column) => write(sql.ref(column))),
    separator,
  )
const sameKey = (key: string[], of: Sql) => each(key, (column) => sql`s.${column} = ${of}.${column}`, sql` and `)
const allZero = (columns: string[], of: Sql) => each(columns, (column) => sql`${of}.${column} = 0`, sql` and `)

/** SQL condition: the project is being reset or deleted. Nothing that it had goes on until that has ended. */
export const isWiped = (projectId: Sql) => sql`exists (select from project_wipes w where w.project_id = ${projectId})`

/** Rows of the sums, and of what waits to be added to them, in the same columns. */
export const rowsSql = ({ name, key, summed, waiting }: Recounted, projectId: Sql) => sql`
  select ${columnsSql([...key, ...summed], 's.')} from ${sql.table(name)} s where s.project_id = ${projectId}
  ${waiting ? sql`union all (${waiting(projectId)})` : sql``}`

/** `empty`: by table of sums, keys of rows that are sums of nothing now. */
type Folded = { taken: number; empty: (Row[] | null)[] }

/** Rows are chosen once, as an array: with the statistics of an empty table, the planner would repeat the search for each row. */
export const foldSql = (deltas: keyof Schema, sums: SumsTable[], { which, batch }: { which: Sql; batch: number }) => sql<Folded>`
  with taken as (
    delete from ${sql.table(deltas)} where ctid = any(array(
      select d.ctid from ${sql.table(deltas)} d where (${which}) limit ${batch}))
    returning *
  ), ${sql.join(sums.map(addCtes))}
  select (select count(*)::int from taken) as taken, jsonb_build_array(${sql.join(
    sums.map((_, index) => sql`(select jsonb_agg(to_jsonb(a)) from ${sql.ref(`added_${index}`)} as a where a.is_empty)`),
  )}) as empty`

/** Adds the taken deltas to a table. */
function addCtes(sums: SumsTable, index: number) {
  const { key, columns, summed, where } = sums
  const changes = sql.ref(`changes_${index}`)
  const keys = key.map((column) => sql`${columns[column]!} as ${sql.ref(column)}`)
  const values = summed.map((column) => sql`sum(${columns[column]!}) as ${sql.ref(column)}`)
  return sql`
    ${changes} as materialized (
      select ${sql.join([...keys, ...values])} from taken d where (${where}) group by ${sql.join(key.map((_, at) => sql.lit(at + 1)))}
    ), ${sql.ref(`added_${index}`)} as (${addSql(sums, changes, summed)})`
}

/** Adds rows of changes to the sums. Rows are locked in the order of their keys: consistent lock order. */
export function addSql({ name, key, rows, summed: all }: Omit<Recounted, 'actual' | 'values'>, changes: Sql, summed: string[]) {
  const table = sql.table(name)
  if (rows)
    return sql`
      update ${table} s set ${each(summed, (column) => sql`${column} = s.${column} + c.${column}`)}
      from (
        select ${columnsSql([...key, ...summed], 'c.')} from ${changes} as c join ${table} s on ${sameKey(key, sql`c`)}
        order by ${columnsSql(key, 'c.')} for no key update of s
      ) as c
      where ${sameKey(key, sql`c`)} returning ${columnsSql(key, 's.')}, false as is_empty`
  return sql`
    insert into ${table} as s (${columnsSql([...key, ...summed])})
    select ${columnsSql([...key, ...summed])} from ${changes} as c where not (${allZero(summed, sql`c`)}) order by ${columnsSql(key)}
    on conflict (${columnsSql(key)}) do update set ${each(summed, (column) => sql`${column} = s.${column} + excluded.${column}`)}
    returning ${columnsSql(key, 's.')}, ${allZero(all, sql`s`)} as is_empty`
}

/** Deletes rows that are sums of nothing, by their keys, unless another transaction has added to them meanwhile. */
export const dropEmpty = (tx: Tx, { name, key, summed }: Recounted, rows: Row[]) =>
  sql`
    delete from ${sql.table(name)} s using jsonb_populate_recordset(null::${sql.table(name)}, ${JSON.stringify(rows)}::jsonb) as n
    where ${sameKey(key, sql`n`)} and ${allZero(summed, sql`s`)}
  `.execute(tx)
