import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { sql } from 'kysely'
import { maybeScalar, one, type Pool, scalar, scalars, type Tx, transact } from '../db/index.ts'
import { auditSystem } from '../http/audit.ts'
import type { Config } from '../lib/config.ts'
import { idTime } from '../lib/id.ts'
import { VERSION } from '../lib/process/version-number.ts'
import type { Secrets } from '../lib/secrets.ts'
import { MB } from '../lib/text/units.ts'
import { openKeys } from '../projects/api-keys/keys.ts'
import { readMovedProject } from '../projects/moved-project.ts'
import { imageUrl, openStorage, type Storage } from '../uploads/storage.ts'
import { prepareLongTransaction } from './long-transaction.ts'
import { type RowCounts, type TableOfFile, writeProjectFile } from './project-file.ts'
import { listColumns, type MovedTable, type MovedTableName, movedTables } from './project-tables.ts'
import { unsealRow } from './sealed-values.ts'

type Deps = { db: Pool; secrets: Secrets; config: Config }
type Options = { projectId: string; file: string; withSecrets: boolean; pageRows?: number }
type Exported = { rows: RowCounts; missingImages: string[] }

/** Rows read at a time, and those of tables whose rows may have megabytes. */
const PAGE_ROWS = 1_000
const WIDE_ROWS = 20
/** Pages become smaller while rows are large. */
const PAGE_BYTES = 4 * MB

/**
 * Writes a project into a file for another installation, as it is at one moment. Emails that have not ended, and what runs, stay with this
 * installation. The file appears when it is complete.
 */
export async function exportProject({ db, secrets, config }: Deps, options: Options): Promise<Exported> {
  const { projectId, file, withSecrets } = options
  if (existsSync(file)) throw new Error(`${file} exists already.`)
  const draft = `${file}.part`
  try {
    const exported = await db
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute((tx) => writeSnapshot(tx, draft, { secrets, config, ...options }))
    await rename(draft, file)
    const changes = [{ field: 'withSecrets', value: withSecrets }]
    await transact(db, (tx) => auditSystem(tx, { projectId, action: 'project.export', targetId: projectId, changes }))
    return exported
  } finally {
    await rm(draft, { force: true })
  }
}

type Snapshot = Options & Omit<Deps, 'db'>

async function writeSnapshot(tx: Tx, draft: string, { projectId, withSecrets, pageRows = PAGE_ROWS, secrets, config }: Snapshot) {
  await prepareLongTransaction(tx, 'project export')
  await sql`set local bytea_output = 'hex'`.execute(tx)
  const project = await readMovedProject(tx, projectId)
  if (!project) throw new Error('A reset of this project is under way. Try again when it is over.')
  const missingImages: string[] = []
  const storage = openStorage(config)
  async function* tables(): AsyncGenerator<TableOfFile> {
    yield {
      table: 'projects',
      columns: [],
      pages: Readable.from([[await projectLine(tx, projectId, project!.row, withSecrets ? secrets : undefined)]]),
    }
    for (const [table, moved] of movedTables(withSecrets)) {
      const columns = await listColumns(tx, table, moved)
      const rows = readRows(tx, { projectId, table, moved, columns, pageRows })
      if (table === 'uploads') yield { table, columns, pages: withImages(rows, storage, missingImages) }
      else if (moved.masked && !withSecrets) yield { table, columns, pages: masked(rows, moved.masked) }
      else yield { table, columns, pages: moved.sealed ? unsealed(rows, moved.sealed, withSecrets ? secrets : undefined) : rows }
    }
  }
  const firstEvent = await maybeScalar<string>(tx)`select id from events where project_id = ${projectId} order by id limit 1`
  const header = {
    version: VERSION,
    migration: await scalar<string>(tx)`select max(name) from migrations`,
    createdAt: new Date().toISOString(),
    project: { id: projectId, name: project.name, owner: project.owner },
    secrets: withSecrets,
    images: imageUrl(config, ''),
    firstEventAt: firstEvent ? idTime(firstEvent).toISOString() : null,
  }
  return { rows: await writeProjectFile(draft, header, tables()), missingImages }
}

async function projectLine(tx: Tx, projectId: string, row: string, secrets: Secrets | undefined) {
  if (!secrets) return row
  const sealed = await one<Parameters<typeof openKeys>[1]>(tx)`
    select public_key_sealed, secret_key_sealed from projects where id = ${projectId}
  `
  return JSON.stringify({ ...JSON.parse(row), keys: openKeys(secrets, sealed) })
}

type Reading = { projectId: string; table: MovedTableName; moved: MovedTable; columns: string[]; pageRows: number }

/** Rows of a table as JSON, page by page, by a cursor of the snapshot. */
async function* readRows(tx: Tx, { projectId, table, moved: { which, wide }, columns, pageRows }: Reading): AsyncGenerator<string[]> {
  const selected = sql.join(columns.map((column) => sql.ref(`t.${column}`)))
  await sql`
    declare moved_rows no scroll cursor for
    select row_to_json(r)::text as row from (
      select ${selected} from ${sql.table(table)} t where t.project_id = ${projectId} ${which ? sql`and (${which})` : sql``}) as r
  `.execute(tx)
  const most = Math.min(pageRows, wide ? WIDE_ROWS : PAGE_ROWS)
  for (let size = Math.min(most, WIDE_ROWS); ; ) {
    const page = await scalars<string>(tx)`fetch ${sql.lit(size)} from moved_rows`
    if (page.length) yield page
    if (page.length < size) break
    const bytes = page.reduce((sum, row) => sum + row.length, 0)
    size = Math.max(1, Math.min(most, Math.floor((PAGE_BYTES * page.length) / bytes)))
  }
  await sql`close moved_rows`.execute(tx)
}

async function* unsealed(pages: AsyncIterable<string[]>, sealed: NonNullable<MovedTable['sealed']>, secrets: Secrets | undefined) {
  for await (const page of pages) yield page.map((row) => JSON.stringify(unsealRow(JSON.parse(row), sealed, secrets)))
}

async function* masked(pages: AsyncIterable<string[]>, columns: NonNullable<MovedTable['masked']>) {
  const maskRow = (row: Record<string, unknown>) => {
    for (const [column, mask] of Object.entries(columns)) row[column] = mask(row[column] as never)
    return row
  }
  for await (const page of pages) yield page.map((row) => JSON.stringify(maskRow(JSON.parse(row))))
}

/** Image by image. Rows of images that the storage has lost are left out. */
async function* withImages(pages: AsyncIterable<string[]>, storage: Storage, missing: string[]) {
  for await (const page of pages)
    for (const text of page) {
      const row = JSON.parse(text) as { key: string }
      const file = await storage.open(row.key)
      if (file) yield [JSON.stringify({ ...row, content: (await buffer(file.content)).toString('base64') })]
      else missing.push(row.key)
    }
}
