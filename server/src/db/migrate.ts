import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { runMigrations } from 'graphile-worker'
import pg from 'pg'

type Migration = { name: string; text: string; checksum: string }
type Log = { info(fields: object, message: string): void; warn(fields: object, message: string): void }

const FOLDER = new URL('./migrations/', import.meta.url)
/** Any fixed number: it only has to be the same in every process that migrates. */
const LOCK = 7_357_001
const LOCK_WAIT_MS = 600_000
/** A migration waits this long for a table lock, then lets the traffic behind it pass and tries again. */
const TABLE_LOCK_TIMEOUT = '2s'
const TABLE_LOCK_TRIES = 30

const migrations = (): Migration[] =>
  readdirSync(FOLDER)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => {
      const text = readFileSync(new URL(name, FOLDER), 'utf8')
      return { name, text, checksum: createHash('sha256').update(text).digest('hex') }
    })

/**
 * Brings the database to this version and returns the names it applied. Each file and the row that says it was applied
 * commit together under one lock, so two processes may start at once and a kill at any moment leaves a state to go on from.
 */
export async function migrate(url: string, log?: Log): Promise<string[]> {
  const client = new pg.Client({ connectionString: url, application_name: 'sterna-migrate' })
  client.on('error', () => {}) // the failing query reports it
  await client.connect()
  try {
    await client.query(`set lock_timeout = ${LOCK_WAIT_MS}`)
    await createLedger(client)
    const applied: string[] = []
    for (const migration of migrations()) if (await apply(client, migration, log)) applied.push(migration.name)
    await warnOfNewerSchema(client, log)
    // The job queue brings its own schema, migrated by its own rules: each step once, whoever comes first.
    await runMigrations({ connectionString: url })
    return applied
  } finally {
    await client.end()
  }
}

/** Names this version knows and the database lacks. */
export async function pendingMigrations(query: (text: string) => Promise<{ rows: { name: string }[] }>): Promise<string[]> {
  const { rows } = await query('select name from migrations')
  const done = new Set(rows.map((row) => row.name))
  return migrations()
    .map(({ name }) => name)
    .filter((name) => !done.has(name))
}

const createLedger = (client: pg.Client) =>
  inTransaction(client, () =>
    client.query(
      'create table if not exists migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
    ),
  )

async function apply(client: pg.Client, migration: Migration, log?: Log) {
  for (let attempt = 1; ; attempt++) {
    try {
      const ran = await inTransaction(client, () => runOnce(client, migration))
      if (ran) log?.info({ migration: migration.name }, 'migrated')
      return ran
    } catch (err) {
      const lockTimeout = (err as { code?: string }).code === '55P03'
      if (!lockTimeout || attempt === TABLE_LOCK_TRIES) throw err
      log?.warn({ migration: migration.name, attempt }, 'a table is in use; trying this migration again')
    }
  }
}

async function runOnce(client: pg.Client, { name, text, checksum }: Migration) {
  const { rows } = await client.query<{ checksum: string }>('select checksum from migrations where name = $1', [name])
  if (rows[0] && rows[0].checksum !== checksum) {
    throw new Error(`Migration ${name} was changed after it had been applied. Restore the file and put the change in a new one.`)
  }
  if (rows[0]) return false
  await client.query(`set local lock_timeout = '${TABLE_LOCK_TIMEOUT}'`)
  await client.query(text)
  await client.query('insert into migrations (name, checksum) values ($1, $2)', [name, checksum])
  return true
}

/** The lock belongs to the transaction, not the session: it works through a pooler and dies with a killed process. */
async function inTransaction<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  await client.query('begin')
  try {
    await client.query('select pg_advisory_xact_lock($1)', [LOCK])
    const result = await work()
    await client.query('commit')
    return result
  } catch (err) {
    await client.query('rollback').catch(() => {})
    throw err
  }
}

/** During a rolling deploy old code meets the next schema. Migrations only ever add first, so it may go on. */
async function warnOfNewerSchema(client: pg.Client, log?: Log) {
  const { rows } = await client.query<{ name: string }>('select name from migrations order by name')
  const known = new Set(migrations().map(({ name }) => name))
  const newer = rows.map((row) => row.name).filter((name) => !known.has(name))
  if (newer.length) log?.warn({ newer }, 'the database was migrated by a newer version of Sterna')
}
