import { buffer } from 'node:stream/consumers'
import { sql } from 'kysely'
import { z } from 'zod'
import { recordStoppedByMove } from '../campaigns/ledger/moved.ts'
import type { ConditionTree } from '../conditions/schema.ts'
import { countAffected, maybeOne, maybeScalar, type Pool, scalar, scalars, type Tx, transact } from '../db/index.ts'
import { DomainName } from '../domains/sender-domains/name.ts'
import { createPastPartitions } from '../events/partitions.ts'
import { auditSystem } from '../http/audit.ts'
import type { Config } from '../lib/config.ts'
import { AppError } from '../lib/errors/errors.ts'
import type { Log } from '../lib/process/log.ts'
import type { Secrets } from '../lib/secrets.ts'
import { MB } from '../lib/text/units.ts'
import type { Keys } from '../projects/api-keys/keys.ts'
import { createMovedProject } from '../projects/moved-project.ts'
import { assertDomainFree } from '../projects/suspension-marks.ts'
import { checkReferences } from '../segments/definition/check-condition.ts'
import { startTracking } from '../segments/tracking/tracking.ts'
import { contentTypeOf } from '../uploads/key.ts'
import { imageUrl, openStorage, type Storage } from '../uploads/storage.ts'
import { prepareLongTransaction } from './long-transaction.ts'
import { checkProjectFile, type ProjectFileHeader, type RowCounts, readProjectFile } from './project-file.ts'
import { listColumns, type MovedTable, type MovedTableName, movedTables } from './project-tables.ts'
import { checkRow } from './row-rules.ts'
import { NEW_SECRETS, sealRow } from './sealed-values.ts'

type Deps = { db: Pool; secrets: Secrets; config: Config; log: Log }
type Options = { file: string; owner?: string | undefined; pageRows?: number }
type Imported = { header: ProjectFileHeader; rows: RowCounts; keys: Keys; owner: string }

/** Rows and bytes written by one statement. */
const PAGE_ROWS = 1_000
const PAGE_BYTES = 4 * MB

/**
 * Creates a project from a file of another installation, with its ids. Everything is written in one transaction, after the file was read once to
 * see that it is complete: a file that is refused, or a process that is killed, leaves no row behind. Counts are to be recounted afterwards.
 */
export async function importProject(deps: Deps, { file, owner, pageRows = PAGE_ROWS }: Options): Promise<Imported> {
  const { db, config, log } = deps
  const { header, rows } = await checkProjectFile(file)
  await requireMigration(db, header)
  const ownerAccount = await findOwner(db, owner ?? header.project.owner)
  requirePossible(header)
  if (header.firstEventAt) await createPastPartitions(db, log, { since: new Date(header.firstEventAt) })
  const storage = openStorage(config)
  const stored: string[] = []
  try {
    const keys = await transact(db, (tx) => load(tx, { ...deps, file, header, ownerId: ownerAccount.id, storage, stored, pageRows }))
    return { header, rows, keys, owner: ownerAccount.email }
  } catch (err) {
    // Unless it was committed although the answer was lost, or may have been.
    const isKept = await maybeOne(db)`select 1 from projects where id = ${header.project.id}`.catch(() => 'unknown')
    if (!isKept) await storage.remove(stored)
    throw err
  }
}

/** Ids of events begin with their time, which is not before 1970. */
function requirePossible({ firstEventAt }: ProjectFileHeader) {
  if (firstEventAt && Date.parse(firstEventAt) < 0)
    throw new Error(`Nothing was imported: the first line of the file, field firstEventAt: no event is from ${firstEventAt}.`)
}

async function requireMigration(db: Pool, { migration, version }: ProjectFileHeader) {
  if (await maybeOne(db)`select 1 from migrations where name = ${migration}`) return
  throw new Error(`The file was made by Sterna ${version}, which is newer than this installation. Upgrade it first.`)
}

async function findOwner(db: Pool, email: string | null) {
  const found = email && (await maybeOne<{ id: string; email: string }>(db)`select id, email from users where email = ${email}`)
  if (found) return found
  throw new Error(`No account here has the address ${email ?? 'of the owner'}. Create it, or name another owner by --owner.`)
}

type Loading = Deps & {
  file: string
  header: ProjectFileHeader
  ownerId: string
  storage: Storage
  /** Keys of images that were stored by this import. */
  stored: string[]
  pageRows: number
}

/** Returns the keys of the project. */
async function load(tx: Tx, loading: Loading): Promise<Keys> {
  const { id: projectId } = loading.header.project
  await prepareLongTransaction(tx, 'project import')
  const known = new Map<string, MovedTable>(movedTables(loading.header.secrets))
  let keys: Keys | undefined
  let table: LoadedTable | undefined
  for await (const line of readProjectFile(loading.file)) {
    if (line.is === 'table') {
      await table?.end()
      const moved = known.get(line.table)
      if (moved) table = await loadTable(tx, loading, { table: line.table as MovedTableName, moved, columns: line.columns })
      else if (line.table !== 'projects') throw new Error(`The file has rows of ${line.table}, which this version of Sterna does not know.`)
    } else if (line.is === 'row') {
      if (!keys) keys = await loadProject(tx, loading, line.row)
      else if (table) await table.add(line.row)
      else throw new Error('The file has more than one project.')
    }
  }
  await table?.end()
  if (!keys) throw new Error('The file has no project.')
  await checkReferencesOf(tx, projectId)
  await recordStoppedByMove(tx, projectId)
  await trackSegments(tx, projectId)
  const changes = [{ field: 'exportedAt', value: loading.header.createdAt }]
  await auditSystem(tx, { projectId, action: 'project.import', targetId: projectId, targetName: loading.header.project.name, changes })
  return keys
}

const WithKeys = z.object({ keys: z.object({ public: z.string().startsWith('pk_'), secret: z.string().startsWith('sk_') }) })

async function loadProject(tx: Tx, { secrets, header, ownerId, config }: Loading, row: string): Promise<Keys> {
  const keys = header.secrets ? WithKeys.parse(JSON.parse(row)).keys : undefined
  // JSON that PostgreSQL has written does not escape slashes.
  const moved = row.replaceAll(header.images, imageUrl(config, ''))
  const project = await createMovedProject(tx, secrets, { id: header.project.id, ownerId, row: moved, keys })
  return { public: project.public!, secret: project.secret! }
}

type LoadedTable = { add(row: string): Promise<void>; end(): Promise<void> }
type Table = { table: MovedTableName; moved: MovedTable; columns: string[] }

async function loadTable(tx: Tx, loading: Loading, { table, moved, columns }: Table): Promise<LoadedTable> {
  const existing = await listColumns(tx, table, moved)
  const unknown = columns.find((column) => !existing.includes(column))
  if (unknown) throw new Error(`The file has the column ${unknown} of ${table}, which this version of Sterna does not know.`)
  const prepare = preparationOf(tx, loading, { table, moved })
  const insert = insertSql(loading, { table, moved, columns })
  let page: string[] = []
  let bytes = 0
  let number = 0
  const flush = async () => {
    if (!page.length) return
    const inserted = await countAffected(tx, insert(page)).catch((err: Error) => {
      throw new Error(`Nothing was imported: rows ${number - page.length + 1} to ${number} of ${table} in the file: ${err.message}`)
    })
    if (inserted !== page.length) throw new Error(`The file has rows of ${table} that no export of Sterna has.`)
    page = []
    bytes = 0
  }
  return {
    async add(row) {
      const checked = await checkRow(table, ++number, row)
      const prepared = prepare ? await prepare(checked) : checked
      page.push(prepared)
      bytes += prepared.length
      if (page.length >= loading.pageRows || bytes >= PAGE_BYTES) await flush()
    },
    end: flush,
  }
}

/** One statement for a page of rows. The project is never read from the file. */
function insertSql({ header, config }: Loading, { table, moved, columns }: Table) {
  const { which, as = {}, withImages = {}, sealed = [] } = moved
  const urls = [header.images, imageUrl(config, '')]
  const image = (column: string) =>
    withImages.text?.includes(column)
      ? sql`replace(${sql.ref(`t.${column}`)}, ${urls[0]}, ${urls[1]})`
      : withImages.json?.includes(column)
        ? sql`replace(${sql.ref(`t.${column}`)}::text, ${urls[0]}, ${urls[1]})::jsonb`
        : undefined
  const sealedColumns = sealed.flatMap(({ column, hash }) => (hash ? [column, hash] : [column]))
  const names = [...new Set([...columns, ...sealedColumns, ...Object.keys(as)])]
  const values = names.map((column) => as[column] ?? image(column) ?? sql.ref(`t.${column}`))
  return (rows: string[]) => sql`
    insert into ${sql.table(table)} (project_id, ${sql.join(names.map((name) => sql.ref(name)))})
    select ${header.project.id}::uuid, ${sql.join(values)}
    from json_populate_recordset(null::${sql.table(table)}, ${`[${rows.join(',')}]`}::json) as t ${which ? sql`where (${which})` : sql``}`
}

type Prepare = ((row: string) => Promise<string>) | undefined

/** The change to each row of a table before it is written. */
function preparationOf(tx: Tx, loading: Loading, { table, moved: { sealed } }: Omit<Table, 'columns'>): Prepare {
  if (table === 'uploads') return (row) => storeFile(loading, row)
  if (!sealed) return undefined
  const { secrets, header } = loading
  return async (text) => {
    const row = JSON.parse(text) as Record<string, unknown>
    if (table === 'domains') await requireFreeName(tx, NamesOfDomain.parse(row))
    const given = header.secrets ? row : { ...row, ...(await NEW_SECRETS[table]!()) }
    return JSON.stringify(sealRow(given, sealed, secrets))
  }
}

const NamesOfDomain = z.object({ domain: DomainName, link_host: DomainName.nullish() })

async function requireFreeName(tx: Tx, { domain, link_host: linkHost = null }: z.output<typeof NamesOfDomain>) {
  await assertDomainFree(tx, domain)
  const taken = await maybeOne(tx)`select 1 from domains where domain = ${domain} or link_host = ${linkHost}::text`
  if (taken) throw new Error(`Another project of this installation has the domain ${domain}, or its link host. Remove it there first.`)
}

const UploadRow = z.object({ key: z.string(), content_type: z.string(), size: z.int(), content: z.base64() })

/** Before its row, as for uploads. An image that is there already must be the same: an earlier import was interrupted. */
async function storeFile({ storage, stored }: Loading, text: string): Promise<string> {
  const { content, ...row } = JSON.parse(text) as Record<string, unknown>
  const { key, content_type: type, size } = UploadRow.parse({ ...row, content })
  const bytes = Buffer.from(content as string, 'base64')
  if (contentTypeOf(key) !== type || bytes.length !== size) throw new Error(`The file has an image ${key} that no export of Sterna has.`)
  const existing = await storage.open(key)
  if (!existing) {
    stored.push(key)
    await storage.put(key, bytes, type)
  } else if (!(await buffer(existing.content)).equals(bytes)) throw new Error(`This installation has another image ${key}.`)
  return JSON.stringify(row)
}

/** Refuses what no row shows by itself: a workflow without its steps, and segments that refer to missing ones or to themselves. */
async function checkReferencesOf(tx: Tx, projectId: string) {
  const bare = await maybeScalar<string>(tx)`
    select id from workflows w where project_id = ${projectId} and not exists (
      select from workflow_graphs g where g.project_id = w.project_id and g.workflow_id = w.id and g.version = w.version) limit 1
  `
  if (bare) throw new Error(`Nothing was imported: the file has no steps of the workflow ${bare}.`)
  const ids = await scalars<string>(tx)`select id from segments where project_id = ${projectId} and type = 'DYNAMIC' order by id`
  // One by one: together their conditions may have 64 MB.
  for (const id of ids) {
    const tree = await scalar<ConditionTree>(tx)`select condition from segments where project_id = ${projectId} and id = ${id}`
    await checkReferences(tx, { projectId, tree }).catch((err: Error) => {
      throw new Error(`Nothing was imported: the segment ${id} in the file, field condition: ${messageOf(err)}`)
    })
  }
}

const messageOf = (err: Error) => (err instanceof AppError && err.extra.errors?.[0]?.message) || err.message

/** Members are kept up to date again, from a recomputation on: changes that the source had not looked at yet are not in the file. */
async function trackSegments(tx: Tx, projectId: string) {
  const tracked = await scalars<string>(tx)`select segment_id from tracked_segments where project_id = ${projectId} order by segment_id`
  for (const segmentId of tracked) await startTracking(tx, { projectId, segmentId })
}
