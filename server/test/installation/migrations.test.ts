import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { migrate } from '../../src/db/migrate.ts'
import { ConfigError } from '../../src/lib/errors/config-error.ts'
import { cloneDatabase } from '../support/database.ts'

const TABLE =
  'create table notes (id int primary key, text text not null);\ninsert into notes select n, n::text from generate_series(1, 100) n;\n'
const INDEX = `-- sterna: no transaction
-- Built while notes are written.
create index concurrently if not exists notes_text
  on notes (text);

create index concurrently if not exists notes_both on notes (id, text);
`

let database: Awaited<ReturnType<typeof cloneDatabase>>
let folder: string
const clients: pg.Client[] = []

beforeEach(async () => {
  database = await cloneDatabase({ empty: true })
  folder = mkdtempSync(join(tmpdir(), 'sterna-migrations-'))
  writeFileSync(join(folder, '0001_notes.sql'), TABLE)
})
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()))
  await database.drop()
  rmSync(folder, { recursive: true })
})

const warnings: object[] = []
const log = { info: () => {}, warn: (fields: object) => void warnings.push(fields) }
const run = () => migrate(database.url, log, pathToFileURL(`${folder}/`))
async function connect() {
  const client = new pg.Client(database.url)
  await client.connect()
  clients.push(client)
  return client
}
const applied = async (client: pg.Client) => (await client.query('select name from migrations order by 1')).rows.map(({ name }) => name)
const killMigration = (client: pg.Client) =>
  client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sterna-migrate' and datname = current_database()`,
  )

describe('migrations', () => {
  const NAMES = ['0001_notes.sql', '0002_more.sql', '0003_most.sql']
  beforeEach(() => {
    for (const name of NAMES.slice(1))
      writeFileSync(join(folder, name), `create table ${name.slice(5, 9)} ();\nalter table notes add column ${name.slice(5, 9)} int;`)
  })

  test('are applied once by processes that start at once', async () => {
    const results = await Promise.all([run(), run(), run()])
    expect(results.flat().sort()).toEqual(NAMES)
    expect(await run()).toEqual([])
  })

  test('killed midway leave nothing half-finished, and the next start continues', async () => {
    const admin = await connect()
    const tables = async () =>
      (
        await admin.query(
          `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'migrations' order by 1`,
        )
      ).rows.map(({ name }) => name)
    for (let round = 0; round < 10; round++) {
      const running = run().catch((err: Error) => err)
      await new Promise((resolve) => setTimeout(resolve, round * 2)) // a different moment each time
      await killMigration(admin)
      await running
      const done = (await applied(admin).catch(() => [])).map((name: string) => name.slice(5, -4))
      expect((await tables()).sort()).toEqual(done.sort())
    }
    await run()
    expect(await applied(admin)).toEqual(NAMES)
  })

  test('changed after they were applied are refused', async () => {
    await run()
    writeFileSync(join(folder, '0002_more.sql'), '-- another text')
    await expect(run()).rejects.toThrow('Migration 0002_more.sql was changed after it had been applied')
  })

  test('of a newer version are left as they are, with a warning', async () => {
    await run()
    rmSync(join(folder, '0003_most.sql'))
    expect(await run()).toEqual([])
    expect(warnings).toEqual([{ newer: ['0003_most.sql'] }])
  })

  test('of before the first release are refused with one line, and nothing is changed', async () => {
    await run()
    rmSync(join(folder, '0001_notes.sql'))
    writeFileSync(join(folder, '0001_other.sql'), 'create table other ();')
    const error = await run().catch((err: Error) => err)
    expect(error).toBeInstanceOf(ConfigError)
    expect((error as Error).message).toMatch(/^This database was made by a development version .* Start with an empty database: .*$/)
    expect(await applied(await connect())).toEqual(NAMES)
  })
})

describe('a migration outside a transaction', () => {
  const indexes = async (client: pg.Client) =>
    (
      await client.query(`select relname as name, indisvalid as valid from pg_index join pg_class on oid = indexrelid
      where relname like 'notes\\_%' and relname <> 'notes_pkey' order by 1`)
    ).rows
  const isBuilding = async (client: pg.Client) =>
    (
      await client.query(`select wait_event from pg_stat_activity
      where datname = current_database() and application_name = 'sterna-migrate' and query like 'create index%'`)
    ).rows[0]?.wait_event === 'virtualxid'

  /** The build waits for this transaction, and everybody else writes on. */
  async function holdOpen() {
    const writer = await connect()
    await writer.query('begin')
    await writer.query(`insert into notes values (1000, 'open')`)
    return writer
  }

  test('builds an index while writers write, and is noted when it is complete', async () => {
    await run()
    writeFileSync(join(folder, '0002_index.sql'), INDEX)
    const [writer, other] = [await holdOpen(), await connect()]
    const migrating = run()
    await expect.poll(() => isBuilding(other)).toBe(true)
    await other.query(`set lock_timeout = '500ms'`)
    await other.query(`insert into notes values (2000, 'written meanwhile')`)
    expect(await applied(other)).toEqual(['0001_notes.sql'])
    await writer.query('commit')
    expect(await migrating).toEqual(['0002_index.sql'])
    expect(await indexes(other)).toEqual([
      { name: 'notes_both', valid: true },
      { name: 'notes_text', valid: true },
    ])
    expect(await run()).toEqual([])
  })

  test('that is killed leaves an invalid index, which the next start replaces', async () => {
    await run()
    writeFileSync(join(folder, '0002_index.sql'), INDEX)
    const [writer, other] = [await holdOpen(), await connect()]
    const killed = run().catch((err: Error) => err)
    await expect.poll(() => isBuilding(other)).toBe(true)
    await killMigration(other)
    expect(await killed).toBeInstanceOf(Error)
    expect(await indexes(other)).toEqual([{ name: 'notes_text', valid: false }])
    expect(await applied(other)).toEqual(['0001_notes.sql'])
    await writer.query('commit')
    expect(await run()).toEqual(['0002_index.sql'])
    expect((await indexes(other)).map(({ valid }) => valid)).toEqual([true, true])
  })

  test('is run by one of several processes that start at once', async () => {
    writeFileSync(join(folder, '0002_index.sql'), INDEX)
    writeFileSync(join(folder, '0003_more.sql'), 'create table more ();')
    const results = await Promise.all([run(), run(), run()])
    expect(results.flat().sort()).toEqual(['0001_notes.sql', '0002_index.sql', '0003_more.sql'])
    expect((await indexes(await connect())).map(({ valid }) => valid)).toEqual([true, true])
  })

  describe('for each partition of a table', () => {
    const PARTITIONED = `create table logs (id int not null, text text) partition by range (id);
create table logs_low partition of logs for values from (0) to (100);
create table logs_high partition of logs for values from (100) to (200);
insert into logs select n, n::text from generate_series(1, 150) n;
`
    const ON_PARTITIONS = `-- sterna: no transaction
create index concurrently if not exists logs_text on each partition of logs (text, id) where id > 0;
`
    beforeEach(async () => {
      writeFileSync(join(folder, '0001_notes.sql'), TABLE + PARTITIONED)
      await run()
      writeFileSync(join(folder, '0002_logs.sql'), ON_PARTITIONS)
    })

    const indexesOfLogs = async (client: pg.Client) =>
      (
        await client.query(`select c.relname as name, i.indisvalid as valid, p.relname as parent
        from pg_index i join pg_class c on c.oid = i.indexrelid left join pg_inherits h on h.inhrelid = c.oid left join pg_class p on p.oid = h.inhparent
        where c.relname like 'logs%' order by 1`)
      ).rows
    const COMPLETE = [
      { name: 'logs_high_logs_text', valid: true, parent: 'logs_text' },
      { name: 'logs_low_logs_text', valid: true, parent: 'logs_text' },
      { name: 'logs_text', valid: true, parent: null },
    ]

    test('builds the indexes while writers write', async () => {
      const [writer, other] = [await connect(), await connect()]
      await writer.query('begin')
      await writer.query(`insert into logs_low values (99, 'open')`)
      const migrating = run()
      await expect.poll(() => isBuilding(other)).toBe(true)
      await other.query(`set lock_timeout = '500ms'`)
      await other.query(`insert into logs values (98, 'written meanwhile'), (198, 'written meanwhile')`)
      await writer.query('commit')
      expect(await migrating).toEqual(['0002_logs.sql'])
      expect(await indexesOfLogs(other)).toEqual(COMPLETE)
    })

    test('covers a partition that is created during the build', async () => {
      const [writer, other] = [await connect(), await connect()]
      await writer.query('begin')
      await writer.query(`insert into logs_low values (99, 'open')`)
      const migrating = run()
      await expect.poll(() => isBuilding(other)).toBe(true)
      await other.query(
        'create table logs_top (like logs including all); alter table logs attach partition logs_top for values from (200) to (300)',
      )
      await writer.query('commit')
      await migrating
      const all = await indexesOfLogs(other)
      expect(all).toHaveLength(4)
      expect(all.filter(({ valid, parent, name }) => valid && (parent === 'logs_text' || name === 'logs_text'))).toHaveLength(4)
    })

    test('continues after a kill', async () => {
      const [writer, other] = [await connect(), await connect()]
      await writer.query('begin')
      await writer.query(`insert into logs_low values (99, 'open')`)
      const killed = run().catch((err: Error) => err)
      await expect.poll(() => isBuilding(other)).toBe(true)
      await killMigration(other)
      expect(await killed).toBeInstanceOf(Error)
      await writer.query('commit')
      expect(await run()).toEqual(['0002_logs.sql'])
      expect(await indexesOfLogs(other)).toEqual(COMPLETE)
    })
  })

  test('whose file was changed after it was applied is refused', async () => {
    writeFileSync(join(folder, '0002_index.sql'), INDEX)
    await run()
    writeFileSync(join(folder, '0002_index.sql'), `${INDEX}\n`)
    await expect(run()).rejects.toThrow('was changed after it had been applied')
  })
})
