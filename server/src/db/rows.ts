import { type RawBuilder, sql } from 'kysely'
import { type CamelRow, toSnake } from './columns.ts'
import { json } from './prepared.ts'
import { type Schema, SQL_TYPES } from './schema.ts'

type Table = keyof Schema
type Column<T extends Table> = keyof CamelRow<T> & string

/** JSON has no dates. */
type Given<Value> = Value extends Date ? Date | string : Value extends Buffer ? never : Value
/** A row with these columns of a table. What may be null may be left out. */
type RowWith<T extends Table, Name extends Column<T>> = {
  [Key in Name as null extends CamelRow<T>[Key] ? never : Key]: Given<CamelRow<T>[Key]>
} & { [Key in Name as null extends CamelRow<T>[Key] ? Key : never]?: Given<CamelRow<T>[Key]> | undefined }

type ValueOf = {
  bigint: number | string
  boolean: boolean
  float8: number
  int: number
  jsonb: unknown
  text: string
  timestamptz: Date | string
  uuid: string
}
/** Values of a row that are no columns of its table, with their types. */
type Extras = Record<string, keyof ValueOf>
type With<More extends Extras> = { [Name in keyof More]?: ValueOf[More[Name]] | null | undefined }

/**
 * Rows as an item of FROM: ``select … from ${recordset('emails', rows, ['projectId', 'id'])} as r``. They are one parameter, of JSON, and have the
 * types of the columns of the table. `more`: values that are no columns of it.
 */
export const recordset = <T extends Table, Name extends Column<T>, More extends Extras = Record<never, never>>(
  table: T,
  rows: (RowWith<T, Name> & With<More>)[],
  names: Name[],
  more?: More,
) => sql`(select * from jsonb_to_recordset(${json(rows)}::jsonb) as given(${definitions(table, names, more)}))`

/**
 * Rows to be looked up in a table by a prepared statement, `count` of them. The planner sees a single row: to it a limit that it does not know is a
 * tenth, and a set of JSON has a hundred rows. For one row it always uses the key. Seeing a hundred it would walk the whole index of a table
 * that is small when the plan is made.
 */
export const fewRows = (rows: RawBuilder<unknown>, count: number) =>
  sql`(select * from (select * from ${rows} as r limit ${count}) as tenth limit ${count})`

const known = new Map<string, RawBuilder<unknown>>()

/** Kept, because hot statements need them for each execution. */
function definitions(table: Table, names: string[], more: Extras = {}) {
  const key = `${table} ${names} ${JSON.stringify(more)}`
  const definition =
    known.get(key) ??
    sql.raw(
      [...names.map((name) => define(name, typeOf(table, name))), ...Object.entries(more).map(([name, type]) => define(name, type))].join(
        ', ',
      ),
    )
  known.set(key, definition)
  return definition
}

const define = (name: string, type: string) => `"${name}" ${type}`

const typeOf = (table: Table, name: string) => SQL_TYPES[table][toSnake(name) as never] as string

/** Columns whose value is an expression: in it, `r` is the given row, and `t` the stored one of an update. */
type Expressions<T extends Table> = { [Name in Column<T>]?: RawBuilder<unknown> }
type Options<T extends Table, More extends Extras> = { set?: Expressions<T>; more?: More }

const columnsSql = (names: string[]) => sql.join(names.map((name) => sql.ref(toSnake(name))))
const valueSql = (name: string) => sql.ref(`r.${name}`)

/** Inserts rows. What follows, such as an order or a conflict, is up to the caller. */
export function insertRows<T extends Table, Name extends Column<T>, More extends Extras = Record<never, never>>(
  table: T,
  rows: (RowWith<T, Name> & With<More>)[],
  names: Name[],
  { set = {}, more }: Options<T, More> = {},
) {
  const values = [...names.map(valueSql), ...Object.values<RawBuilder<unknown> | undefined>(set)]
  return sql`insert into ${sql.table(table)} as t (${columnsSql([...names, ...Object.keys(set)])})
    select ${sql.join(values)} from ${recordset(table, rows, names, more)} as r`
}

/** Updates the rows that have the keys of the given ones. What follows, such as more conditions, is up to the caller. */
export function updateFrom<T extends Table, Key extends Column<T>, Name extends Column<T>, More extends Extras = Record<never, never>>(
  table: T,
  rows: (RowWith<T, Key | Name> & With<More>)[],
  { keys, names = [], set = {}, more }: { keys: Key[]; names?: Name[] } & Options<T, More>,
) {
  const values = [...names.map((name) => [name, valueSql(name)] as const), ...Object.entries<RawBuilder<unknown> | undefined>(set)]
  return sql`update ${sql.table(table)} as t set ${sql.join(values.map(([name, value]) => sql`${sql.ref(toSnake(name))} = ${value}`))}
    from ${recordset(table, rows, [...keys, ...names], more)} as r
    where ${sql.join(
      keys.map((name) => sql`${sql.ref(`t.${toSnake(name)}`)} = ${valueSql(name)}`),
      sql` and `,
    )}`
}
