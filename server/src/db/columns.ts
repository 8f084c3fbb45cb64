import { type RawBuilder, sql } from 'kysely'
import type { Schema } from './schema.ts'

type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name
/** A row of a table, by the names in code. */
export type CamelRow<Table extends keyof Schema> = { [Name in keyof Schema[Table] & string as Camel<Name>]: Schema[Table][Name] }

/** The row that a select list gives. Columns that the schema does not know are added: `RowOf<typeof COLUMNS> & { type: EmailType }`. */
export type RowOf<List> = List extends RawBuilder<infer Row> ? Row : never

/** The name of a column, by its name in code. */
export const toSnake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** A select list: columns of a table under their names in code, as in `e.created_at as "createdAt"`. An empty alias is left out. */
export const columns = <Table extends keyof Schema, Name extends keyof CamelRow<Table> & string>(_: Table, alias: string, names: Name[]) =>
  sql.raw<Pick<CamelRow<Table>, Name>>(names.map((name) => `${alias && `${alias}.`}${toSnake(name)} as "${name}"`).join(', '))
