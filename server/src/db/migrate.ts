import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { runMigrations } from 'graphile-worker'
import pg from 'pg'
import { ConfigError } from '../lib/errors/config-error.ts'
import { isTableInUse } from './errors/sql-state.ts'
import { withClient } from './with-client.ts'

type Migration = { name: string; text: string; checksum: string }
type Log = { info(fields: object, message: string): void; warn(fields: object, message: string): void }

const FOLDER = new URL('./migrations/', import.meta.url)
/** Advisory lock of all migrating processes; an arbitrary number. */
const LOCK = 7_357_001
const LOCK_WAIT_MS = 600_000
const CONNECT_MS = 5_000
/** A migration waits this long for a table lock, then lets the queries queued behind it pass and retries. */
const TABLE_LOCK_TIMEOUT = '2s'
const TABLE_LOCK_TRIES = 30
/** Poll interval while another process migrates. */
const LOCK_POLL_MS = 200
/** First line of a file whose statements run one by one, each committed at once; see `runStatements`. */
const NO_TRANSACTION = '-- sterna: no transaction'

const migrations = (folder: URL): Migration[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => {
      const text = readFileSync(new URL(name, folder), 'utf8')
      return { name, text, checksum: createHash('sha256').update(text).digest('hex') }
    })

/**
 * Applies the pending migrations and returns their names. Each file commits together with the row that records it, under one lock, so
 * processes may start concurrently, and a kill at any moment leaves a state to continue from.
 */
export const migrate = (url: string, log?: Log, folder = FOLDER): Promise<string[]> =>
  withClient(url, 'sterna-migrate', async (client) => {
    await client.query(`set lock_timeout = ${LOCK_WAIT_MS}`)
    await createLedger(client)
    const applied: string[] = []
    const listed = migrations(folder)
    refuseOtherList(await readApplied((text) => client.query(text)), listed)
    for (const migration of listed) if (await apply(client, migration, log)) applied.push(migration.name)
    await warnOfNewerSchema(client, listed, log)
    // The job queue migrates its own schema, each step once, also with concurrent processes.
    await migrateQueue(url)
    return applied
  })

/** With a pool of our own: that of the queue would wait for a connection without a limit. */
async function migrateQueue(url: string) {
  const pgPool = new pg.Pool({ connectionString: url, max: 2, connectionTimeoutMillis: CONNECT_MS, application_name: 'sterna-migrate' })
  // The failing query reports it.
  pgPool.on('error', () => {})
  pgPool.on('connect', (client) => client.on('error', () => {}))
  await runMigrations({ pgPool }).finally(() => pgPool.end())
}

type Query = (text: string) => Promise<{ rows: { name: string }[] }>

const readApplied = async (query: Query) => (await query('select name from migrations order by name')).rows.map(({ name }) => name)

/** The newest migration of this version. */
export const newestMigration = () =>
  migrations(FOLDER)
    .at(-1)!
    .name.replace(/\.sql$/, '')

/** Names of the migrations of this version that are not applied yet. Throws when the database has those of another list. */
export async function pendingMigrations(query: Query): Promise<string[]> {
  const applied = await readApplied(query)
  const listed = migrations(FOLDER)
  refuseOtherList(applied, listed)
  return listed.map(({ name }) => name).filter((name) => !applied.includes(name))
}

/** Every release has the first file, so a database without it was made from the files of before the first release. */
function refuseOtherList(applied: string[], listed: Migration[]) {
  if (applied.length && !applied.includes(listed[0]!.name))
    throw new ConfigError(
      'This database was made by a development version from before the first release, and its data cannot be taken over. ' +
        'Start with an empty database: delete the folder DATA_DIR, or create the database of DATABASE_URL anew.',
    )
}

const createLedger = (client: pg.Client) =>
  inTransaction(client, () =>
    client.query(
      'create table if not exists migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
    ),
  )

async function apply(client: pg.Client, migration: Migration, log?: Log) {
  const isSplit = migration.text.startsWith(NO_TRANSACTION)
  const attemptOnce = () => (isSplit ? runStatements(client, migration) : inTransaction(client, () => runOnce(client, migration)))
  for (let attempt = 1; ; attempt++) {
    try {
      const ran = await attemptOnce()
      if (ran) log?.info({ migration: migration.name }, 'migrated')
      return ran
    } catch (err) {
      if (!isTableInUse(err) || attempt === TABLE_LOCK_TRIES) throw err
      log?.warn({ migration: migration.name, attempt }, 'a table is in use; retrying this migration')
    }
  }
}

async function runOnce(client: pg.Client, migration: Migration) {
  if (await isApplied(client, migration)) return false
  await client.query(`set local lock_timeout = '${TABLE_LOCK_TIMEOUT}'`)
  await client.query(migration.text)
  await recordApplied(client, migration)
  return true
}

/**
 * Runs the statements of a file one by one outside a transaction, as `create index concurrently` requires. After a kill the next start
 * repeats all of them, so each must be repeatable; the row that records the file is inserted last.
 */
async function runStatements(client: pg.Client, migration: Migration) {
  await pollForLock(() => isTrue(client, 'select pg_try_advisory_lock($1) as yes', [LOCK]))
  try {
    if (await isApplied(client, migration)) return false
    for (const statement of splitStatements(migration.text)) await runStatement(client, statement)
    await recordApplied(client, migration)
    return true
  } finally {
    await client.query(`set lock_timeout = ${LOCK_WAIT_MS}`).catch(() => {})
    await client.query('select pg_advisory_unlock($1)', [LOCK]).catch(() => {})
  }
}

/** A statement ends with a semicolon at the end of a line. */
const splitStatements = (text: string) =>
  text
    .replace(/^\s*--.*$/gm, '')
    .split(/;[ \t]*$/m)
    .map((statement) => statement.trim())
    .filter(Boolean)

async function runStatement(client: pg.Client, statement: string) {
  const [, index, table, definition] = ON_PARTITIONS.exec(statement) ?? []
  return index ? indexPartitions(client, { index, table: table!, definition: definition! }) : runSingle(client, statement)
}

/** Not SQL: PostgreSQL cannot build the index of a partitioned table concurrently. */
const ON_PARTITIONS = /^create\s+index\s+concurrently\s+if\s+not\s+exists\s+(\w+)\s+on\s+each\s+partition\s+of\s+(\w+)\s+([\s\S]+)$/i

/**
 * First the index of the table without its partitions: partitions that are created from now on have it. Then each partition gets an index,
 * concurrently, and it is attached. With the last of them the index of the table is valid.
 */
async function indexPartitions(client: pg.Client, { index, table, definition }: { index: string; table: string; definition: string }) {
  await runSingle(client, `create index if not exists ${index} on only ${table} ${definition}`)
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_inherits p join pg_class c on c.oid = p.inhrelid
      where p.inhparent = $1::regclass and not exists (
        select from pg_index i join pg_inherits h on h.inhrelid = i.indexrelid where i.indrelid = c.oid and h.inhparent = $2::regclass)
      order by 1`,
    [table, index],
  )
  for (const { name } of rows) {
    const own = `${name}_${index}`
    await runSingle(client, `create index concurrently if not exists ${own} on ${name} ${definition}`)
    await runSingle(client, `alter index ${index} attach partition ${own}`)
  }
}

async function runSingle(client: pg.Client, statement: string) {
  const [, repeatable, index] = /^create\s+(?:unique\s+)?index\s+concurrently\s+(if\s+not\s+exists\s+)?(\w+)/i.exec(statement) ?? []
  if (index && !repeatable) throw new Error(`Write "if not exists ${index}": after a kill this statement is repeated.`)
  const isConcurrent = /^(create\s+(unique\s+)?|drop\s+)index\s+concurrently\b/i.test(statement)
  // These block neither reads nor writes while they wait, and an index build that times out starts over.
  await client.query(isConcurrent ? `set lock_timeout = ${LOCK_WAIT_MS}` : `set lock_timeout = '${TABLE_LOCK_TIMEOUT}'`)
  if (index) await dropInvalid(client, index)
  await client.query(statement)
}

/** A killed build leaves an invalid index, which costs every write and serves no read, and `if not exists` would keep it. */
async function dropInvalid(client: pg.Client, index: string) {
  const isInvalid = await isTrue(
    client,
    'select exists (select from pg_index where indexrelid = to_regclass($1) and not indisvalid) as yes',
    [index],
  )
  if (isInvalid) await client.query(`drop index concurrently if exists ${index}`)
}

async function isTrue(client: pg.Client, question: string, values: unknown[]) {
  const { rows } = await client.query<{ yes: boolean }>(question, values)
  return rows[0]!.yes
}

async function isApplied(client: pg.Client, { name, checksum }: Migration) {
  const { rows } = await client.query<{ checksum: string }>('select checksum from migrations where name = $1', [name])
  if (rows[0] && rows[0].checksum !== checksum) {
    throw new Error(`Migration ${name} was changed after it had been applied. Restore the file and put the change in a new one.`)
  }
  return rows[0] !== undefined
}

const recordApplied = (client: pg.Client, { name, checksum }: Migration) =>
  client.query('insert into migrations (name, checksum) values ($1, $2)', [name, checksum])

/** A transaction lock, not a session lock: it works through a connection pooler and ends with a killed process. */
async function inTransaction<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  await pollForLock(() => beginWithLock(client))
  try {
    const result = await work()
    await client.query('commit')
    return result
  } catch (err) {
    await client.query('rollback').catch(() => {})
    throw err
  }
}

async function beginWithLock(client: pg.Client) {
  await client.query('begin')
  const isOurs = await isTrue(client, 'select pg_try_advisory_xact_lock($1) as yes', [LOCK])
  if (!isOurs) await client.query('rollback')
  return isOurs
}

/** Polls instead of waiting inside a statement: a concurrent index build waits for all earlier statements, which would be a deadlock. */
async function pollForLock(take: () => Promise<boolean>) {
  for (const deadline = performance.now() + LOCK_WAIT_MS; !(await take()); await sleep(LOCK_POLL_MS)) {
    if (performance.now() > deadline) throw new Error('Another process has been migrating this database for too long.')
  }
}

/** During a rolling deploy old code runs on the newer schema. Migrations only add, so that works. */
async function warnOfNewerSchema(client: pg.Client, listed: Migration[], log?: Log) {
  const known = new Set(listed.map(({ name }) => name))
  const newer = (await readApplied((text) => client.query(text))).filter((name) => !known.has(name))
  if (newer.length) log?.warn({ newer }, 'the database was migrated by a newer version of Sterna')
}
