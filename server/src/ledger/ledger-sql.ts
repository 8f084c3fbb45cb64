import { type RawBuilder, sql } from 'kysely'
import { countAffected, many, type Pool, type Tx } from '../db/index.ts'
import type { Schema } from '../db/schema.ts'
import { NIL_ID } from '../lib/id.ts'
import type { RepairScope, Sums } from './ledger.ts'

type Sql = RawBuilder<unknown>
export type Row = Record<string, unknown>

/** The definition of a table of sums, with the names of its columns. `key` starts with project_id; `summed`: values and notes. */
export type SumsTable = Omit<Sums, 'key' | 'values' | 'notes'> & {
  deltas: keyof Schema
  name: keyof Schema
  columns: Record<string, Sql>
  key: string[]
  values: string[]
  summed: string[]
}

export function describeSums(deltas: keyof Schema, name: keyof Schema, { key, values, notes = {}, ...rest }: Sums): SumsTable {
  const columns = { project_id: sql`d.project_id`, ...key, ...values, ...notes }
  const summed = Object.keys({ ...values, ...notes })
  return { ...rest, deltas, name, columns, key: ['project_id', ...Object.keys(key)], values: Object.keys(values), summed }
}

export const columnsSql = (columns: string[], of = '') => sql.join(columns.map((column) => sql.ref(`${of}${column}`)))
const each = (columns: string[], write: (column: Sql) => Sql, separator = sql`, `) =>
  sql.join(
    columns.map((column) => write(sql.ref(column))),
    separator,
  )
const sameKey = (key: string[], of: Sql) => each(key, (column) => sql`s.${column} = ${of}.${column}`, sql` and `)
const allZero = (columns: string[], of: Sql) => each(columns, (column) => sql`${of}.${column} = 0`, sql` and `)

/** True for projects that are being wiped. */
export const isWiped = (projectId: Sql) => sql`exists (select from project_wipes w where w.project_id = ${projectId})`

/** Rows of the sums, and of the deltas in the same columns. */
export function rowsSql({ deltas, name, columns, where = sql`true` }: SumsTable, projectId: Sql) {
  const ofDeltas = Object.entries(columns).map(([column, value]) => sql`${value} as ${sql.ref(column)}`)
  return sql`
    select ${columnsSql(Object.keys(columns), 's.')} from ${sql.table(name)} s where s.project_id = ${projectId}
    union all
    select ${sql.join(ofDeltas)} from ${sql.table(deltas)} d where d.project_id = ${projectId} and (${where})`
}

/** `empty`: keys of rows that are sums of nothing now. `changes`: what was added, if it was asked for. */
type Folded = { taken: number; added: { empty: Row[] | null; changes: Row[] | null }[] }

type FoldScope = { which: Sql; batch: number; heard: string[] }

/** Rows are chosen once, as an array: with the statistics of an empty table, the planner would repeat the search for each row. */
export const foldSql = (deltas: keyof Schema, sums: SumsTable[], { which, batch, heard }: FoldScope) => sql<Folded>`
  with taken as (
    delete from ${sql.table(deltas)} where ctid = any(array(
      select d.ctid from ${sql.table(deltas)} d where (${which}) limit ${batch}))
    returning *
  ), ${sql.join(sums.map(addCtes))}
  select (select count(*)::int from taken) as taken, jsonb_build_array(${sql.join(
    sums.map(
      ({ name }, index) => sql`jsonb_build_object(
        'empty', (select jsonb_agg(to_jsonb(a)) from ${sql.ref(`added_${index}`)} as a where a.is_empty),
        'changes', ${heard.includes(name) ? sql`(select jsonb_agg(to_jsonb(c)) from ${sql.ref(`changes_${index}`)} as c)` : sql`null`})`,
    ),
  )}) as added`

/** Adds the taken deltas to a table. */
function addCtes(sums: SumsTable, index: number) {
  const { key, columns, summed, where = sql`true` } = sums
  const changes = sql.ref(`changes_${index}`)
  const keys = key.map((column) => sql`${columns[column]!} as ${sql.ref(column)}`)
  const values = summed.map((column) => sql`sum(${columns[column]!}) as ${sql.ref(column)}`)
  return sql`
    ${changes} as materialized (
      select ${sql.join([...keys, ...values])} from taken d where (${where}) group by ${sql.join(key.map((_, at) => sql.lit(at + 1)))}
    ), ${sql.ref(`added_${index}`)} as (${addSql(sums, changes, summed)})`
}

/** Adds rows of changes to the sums. Rows are locked in the order of their keys: consistent lock order. */
function addSql({ name, key, rows, summed: all }: SumsTable, changes: Sql, summed: string[]) {
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
export const dropEmpty = (tx: Tx, { name, key, summed }: SumsTable, rows: Row[]) =>
  sql`
    delete from ${sql.table(name)} s using jsonb_populate_recordset(null::${sql.table(name)}, ${JSON.stringify(rows)}::jsonb) as n
    where ${sameKey(key, sql`n`)} and ${allZero(summed, sql`s`)}
  `.execute(tx)

/** What is to be added to the sums, so that they and the deltas are what was counted: in the snapshot of the statement. */
export function differencesSql(sums: SumsTable, scope: RepairScope, { actual, limit }: { actual: Sql; limit: number }) {
  const { key, values, within } = sums
  const compared = [...key.slice(1), ...values]
  return sql<{ row: Row }>`
    select to_jsonb(d) as row from (
      select ${columnsSql(key)}, ${each(values, (column) => sql`sum(${column}) as ${column}`)}
      from (
        select ${scope.projectId}::uuid as project_id, ${columnsSql(compared)} from (${actual}) as actual
        union all
        select ${columnsSql(key)}, ${each(values, (column) => sql`-${column}`)} from (${rowsSql(sums, sql`${scope.projectId}`)}) as known
      ) as compared
      where ${within?.(scope) ?? sql`true`}
      group by ${columnsSql(key)} having ${each(values, (column) => sql`sum(${column}) <> 0`, sql` or `)}
      limit ${limit}
    ) as d`
}

type Snapshot = { db: Pool; projectId: string; limit: number }

/** The same for facts in pages, collected in one snapshot by a connection of its own. `holder`: the transaction that holds the lock. */
export const differencesByPages = (holder: Tx, sums: SumsTable, { db, projectId, limit }: Snapshot) =>
  db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (tx) => {
      const scope: RepairScope = { projectId, part: '', after: NIL_ID }
      const columns = columnsSql([...sums.key.slice(1), ...sums.values])
      await sql`create temporary table actual_pages on commit drop as select ${columns} from ${sql.table(sums.name)} limit 0`.execute(tx)
      for (let after: string | undefined = NIL_ID; after; ) {
        // It must not seem idle.
        await sql`select 1`.execute(holder)
        const page: RepairScope = { ...scope, after }
        const [last]: { id: string }[] = await many(tx, sums.nextPage!(page))
        after = last?.id
        if (last) await sql`insert into actual_pages (${columns}) select ${columns} from (${sums.actual(page)}) as page`.execute(tx)
      }
      return many(tx, differencesSql(sums, scope, { actual: sql`select ${columns} from actual_pages`, limit }))
    })

/** Adds differences to the sums: what other transactions have added meanwhile is kept. Returns the number of rows. */
export async function correct(tx: Tx, sums: SumsTable, differences: { row: Row }[]): Promise<number> {
  if (!differences.length) return 0
  const given = JSON.stringify(differences.map(({ row }) => row))
  const changes = sql`jsonb_populate_recordset(null::${sql.table(sums.name)}, ${given}::jsonb)`
  const corrected = await countAffected(tx, addSql(sums, changes, sums.values))
  if (!sums.rows)
    await dropEmpty(
      tx,
      sums,
      differences.map(({ row }) => row),
    )
  return corrected
}
