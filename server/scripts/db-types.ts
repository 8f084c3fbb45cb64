import { realpathSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { withDatabase } from '../test/support/postgres.ts'

type Column = { table: string; name: string; type: string; nullable: boolean }

const HEADER = '// Generated from the migrated database by `npm run db:types`. Do not edit.\n\n'

const LINE_WIDTH = 140

const TYPES: Record<string, string> = {
  bool: 'boolean',
  bytea: 'Buffer',
  float8: 'number',
  int4: 'number',
  int8: 'string',
  jsonb: 'unknown',
  text: 'string',
  timestamptz: 'Date',
  int2: 'number',
  date: 'Date',
  uuid: 'string',
  _bytea: 'Buffer[]',
  _int2: 'number[]',
  _int4: 'number[]',
  _text: 'string[]',
  _uuid: 'string[]',
}

/** The rows of each table, read from the migrated database, so that they always match it. */
export async function printSchema(url: string) {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query<Column>(`
    select c.table_name as table, c.column_name as name, c.udt_name as type, c.is_nullable = 'YES' as nullable
    from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.table_name <> 'migrations'
      and not exists (select from pg_inherits where inhrelid = format('%I', c.table_name)::regclass) -- partitions are their parent
    order by c.table_name, c.ordinal_position`)
  await client.end()

  const tables = new Map<string, Column[]>()
  for (const row of rows) tables.set(row.table, [...(tables.get(row.table) ?? []), row])
  const body = [...tables].map(([table, columns]) => printTable(table, columns.map(printColumn)))
  const types = [...tables].map(
    ([table, columns]) => `  ${table}: { ${columns.map(({ name, type }) => `${name}: '${type}'`).join(', ')} },`,
  )
  return `${HEADER}/** Rows by table, as a select returns them. */
export interface Schema {\n${body.join('\n')}\n}

/** Types of the columns in SQL. */
export const SQL_TYPES: { [Table in keyof Schema]: { [Column in keyof Schema[Table]]: string } } = {\n${types.join('\n')}\n}\n`
}

/** On one line if it fits, as the formatter would keep it. */
function printTable(table: string, columns: string[]) {
  const line = `  ${table}: { ${columns.join('; ')} }`
  return line.length <= LINE_WIDTH ? line : `  ${table}: {\n${columns.map((column) => `    ${column}\n`).join('')}  }`
}

const printColumn = ({ table, name, type, nullable }: Column) =>
  `${name}: ${TYPES[type] ?? unknownType(table, name, type)}${nullable ? ' | null' : ''}`

function unknownType(table: string, name: string, type: string): never {
  throw new Error(`${table}.${name} has type ${type}, which db-types does not know yet`)
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const target = new URL('../src/db/schema.ts', import.meta.url)
  await withDatabase(async (url) => writeFileSync(target, await printSchema(url)))
}
