import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import pg from 'pg'
import { migrate } from '../../src/db/migrate.ts'

const FOLDER = fileURLToPath(new URL('../fixtures/releases', import.meta.url))
const MIGRATIONS = fileURLToPath(new URL('../../src/db/migrations', import.meta.url))

/** Releases of which an installation is kept, by their versions. */
export const listReleases = () => (existsSync(FOLDER) ? readdirSync(FOLDER).sort() : [])
export const folderOfRelease = (version: string) => join(FOLDER, version)

/** What was made with a release, and must work with every later one. Paths of links, without the host. */
export type MadeByRelease = {
  account: { email: string; password: string }
  keys: { public: string; secret: string; named: string }
  links: { unsubscribe: string; click: string; open: string }
  linkTarget: string
  imageKey: string
  templateId: string
  unsubscribingContactId: string
  contacts: number
  sentCampaignId: string
}

const DUMP = 'database.ndjson.gz'

/** Writes all rows of an installation: one line of JSON per row, after a line with the name of their table. */
export async function dumpRows(url: string, folder: string) {
  await withClient(url, async (client) => {
    const tables = await client.query<{ name: string }>(`
      select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`)
    const lines: string[] = []
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ row: string }>(`select row_to_json(t)::text as row from ${name} t order by 1`)
      if (rows.length) lines.push(JSON.stringify({ table: name }), ...rows.map(({ row }) => row))
    }
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, DUMP), gzipSync(`${lines.join('\n')}\n`, { level: 9 }))
  })
}

/**
 * Makes an empty database what it was with that release: its migrations, and its rows. Migrations of a release never change, so their files are
 * those of today. `url` is that of a superuser: rows are written in any order.
 */
export async function restoreRows({ url, adminUrl }: { url: string; adminUrl: string }, version: string) {
  const tables = readDump(version)
  const applied = tables.get('migrations')!.map((row) => (JSON.parse(row) as { name: string }).name)
  await migrateTo(url, applied)
  await withClient(adminUrl, async (client) => {
    await client.query('begin; set local session_replication_role = replica; delete from migrations')
    for (const [table, rows] of tables) {
      const { rows: columns } = await client.query<{ list: string }>(
        `select string_agg(quote_ident(attname), ', ' order by attnum) as list from pg_attribute
        where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
        [table],
      )
      const list = columns[0]!.list
      await client.query(
        `insert into ${table} (${list}) overriding system value select ${list} from json_populate_recordset(null::${table}, $1::json)`,
        [`[${rows.join(',')}]`],
      )
    }
    await client.query(`
      select setval(pg_get_serial_sequence(attrelid::regclass::text, attname), 1000000) from pg_attribute
      where attidentity <> '' and attrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace)`)
    await client.query('commit')
  })
}

function readDump(version: string) {
  const tables = new Map<string, string[]>()
  let rows: string[] = []
  for (const line of gunzipSync(readFileSync(join(folderOfRelease(version), DUMP)))
    .toString()
    .trimEnd()
    .split('\n')) {
    if (line.startsWith('{"table":')) {
      rows = []
      tables.set((JSON.parse(line) as { table: string }).table, rows)
    } else rows.push(line)
  }
  return tables
}

async function migrateTo(url: string, names: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'sterna-release-'))
  try {
    for (const name of names) symlinkSync(join(MIGRATIONS, name), join(folder, name))
    await migrate(url, undefined, pathToFileURL(`${folder}/`))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function withClient(url: string, work: (client: pg.Client) => Promise<unknown>) {
  const client = new pg.Client(url)
  await client.connect()
  await work(client).finally(() => client.end())
}
