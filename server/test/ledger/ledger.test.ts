import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, many, one, type Pool, type Tx, transact } from '../../src/db/index.ts'
import type { Schema } from '../../src/db/schema.ts'
import { defineLedger, type Sums } from '../../src/ledger/ledger.ts'
import type { RepairScope } from '../../src/ledger/repair.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { cloneDatabase } from '../support/database.ts'

let database: Awaited<ReturnType<typeof cloneDatabase>>
let db: Pool
beforeAll(async () => {
  database = await cloneDatabase()
  db = connect({ url: database.url, max: 8, log: createLog('silent') })
  for (const statement of TABLES) await statement.execute(db)
})
afterAll(async () => {
  await db.destroy()
  await database.drop()
})

/** Sales are the facts: counted in total, by day and kind, in columns of their shop, and by pages. */
const TABLES = [
  sql`create table sales (project_id uuid, id uuid default gen_random_uuid(), kind text not null, day date not null, primary key (project_id, id))`,
  sql`create table sale_deltas (project_id uuid, id bigint generated always as identity, kind text not null, day date not null, n int not null,
    created_at timestamptz not null default now(), primary key (project_id, id))`,
  sql`create table sale_totals (project_id uuid primary key, n bigint not null)`,
  sql`create table sale_days (project_id uuid, day date, kind text, n int not null, noted int not null default 0, primary key (project_id, day, kind))`,
  sql`create table shops (project_id uuid, kind text, name text not null, sold int not null default 0, primary key (project_id, kind))`,
  sql`create table sale_pages (project_id uuid, kind text, n bigint not null, primary key (project_id, kind))`,
]
const DAYS = ['2026-01-01', '2026-01-02', '2026-01-03']
const KINDS = ['a', 'b', 'c']
const PAGE = 3

/** Tables of this test are not in the schema. */
const tableName = (name: string) => name as keyof Schema
const withTableNames = (sums: Record<string, Sums>) => sums as Record<keyof Schema, Sums>
const page = ({ projectId, after }: RepairScope) =>
  sql`select id, kind from sales where project_id = ${projectId} and id > ${after} order by id limit ${PAGE}`
const DELTA_N = { n: sql`d.n` }

const ledger = defineLedger({
  name: 'sales',
  deltas: tableName('sale_deltas'),
  batch: 4,
  sums: withTableNames({
    sale_totals: {
      key: {},
      values: DELTA_N,
      actual: ({ projectId }) => sql`select count(*) as n from sales where project_id = ${projectId}`,
    },
    sale_days: {
      key: { day: sql`d.day`, kind: sql`d.kind` },
      values: DELTA_N,
      notes: { noted: sql`abs(d.n)` },
      where: sql`d.kind <> 'c'`,
      parts: async () => DAYS,
      within: ({ part }) => sql`day = ${part}::date`,
      actual: ({ projectId, part }) =>
        sql`select day, kind, 1 as n from sales where project_id = ${projectId} and day = ${part}::date and kind <> 'c'`,
    },
    shops: {
      key: { kind: sql`d.kind` },
      values: { sold: sql`d.n` },
      rows: 'existing',
      actual: ({ projectId }) => sql`select kind, count(*) as sold from sales where project_id = ${projectId} group by 1`,
    },
    sale_pages: {
      key: { kind: sql`d.kind` },
      values: DELTA_N,
      actual: (scope) => sql`select kind, count(*) as n from (${page(scope)}) as page group by 1`,
      nextPage: (scope) => sql<{ id: string }>`select id from (${page(scope)}) as page order by id desc limit 1`,
    },
  }),
})

const COUNTS = {
  sale_totals: sql`null::date as day, null::text as kind, n`,
  sale_days: sql`day, kind, n`,
  shops: sql`null::date as day, kind, sold as n`,
  sale_pages: sql`null::date as day, kind, n`,
}
const FACTS = {
  sale_totals: sql`null::date as day, null::text as kind, 1 as n`,
  sale_days: sql`day, case when kind <> 'c' then kind end as kind, case when kind = 'c' then 0 else 1 end as n`,
  shops: sql`null::date as day, kind, 1 as n`,
  sale_pages: sql`null::date as day, kind, 1 as n`,
}
const NAMES = Object.keys(COUNTS) as (keyof typeof COUNTS)[]

/** Rows by which counts and facts differ, read in one snapshot. */
const differences = (projectId: string, of: (table: keyof typeof COUNTS) => ReturnType<typeof sql>) =>
  many(
    db,
    sql.join(
      NAMES.map(
        (table) => sql`
          select ${sql.lit(table)} as table, day::text, kind, sum(n)::int as n from (
            select ${FACTS[table]} from sales where project_id = ${projectId}
            union all
            select day, kind, -n from (select ${COUNTS[table]} from ${of(table)}) as counted
          ) as compared group by 2, 3 having sum(n) <> 0`,
      ),
      sql` union all `,
    ),
  )
const wrong = (projectId: string) => differences(projectId, (table) => ledger.readSql(tableName(table), projectId))
const wrongSums = (projectId: string) =>
  differences(projectId, (table) => sql`(select * from ${sql.table(table)} where project_id = ${projectId}) as sums`)

async function newProject() {
  const projectId = randomUUID()
  await sql`insert into shops (project_id, kind, name) select ${projectId}, unnest(${KINDS}::text[]), 'shop'`.execute(db)
  return projectId
}

type Sale = { kind: string; day: string }

async function sell(tx: Tx, projectId: string, sales: Sale[]) {
  const rows = sales.map((sale) => ({ project_id: projectId, ...sale }))
  await sql`insert into sales (project_id, kind, day) select project_id, kind, day
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as s(project_id uuid, kind text, day date)`.execute(tx)
  await ledger.append(tx, rows.map((row) => ({ ...row, n: 1 })) as never)
}

const takeBack = (tx: Tx, projectId: string, limit: number) =>
  sql`with gone as (
      delete from sales where (project_id, id) in (select project_id, id from sales where project_id = ${projectId} limit ${limit} for update skip locked)
      returning project_id, kind, day
    ) ${ledger.appendSql(['project_id', 'kind', 'day', 'n'] as never[], sql`select project_id, kind, day, -count(*) from gone group by 1, 2, 3`)}`.execute(
    tx,
  )

const corrupt = async (projectId: string, { kind, day }: Sale, by: number) => {
  await sql`insert into sale_totals values (${projectId}, ${by}) on conflict (project_id) do update set n = sale_totals.n + ${by}`.execute(
    db,
  )
  await sql`insert into sale_days values (${projectId}, ${day}, ${kind === 'c' ? 'a' : kind}, ${by}) on conflict (project_id, day, kind) do update set n = sale_days.n + ${by}`.execute(
    db,
  )
  await sql`update shops set sold = sold + ${by} where project_id = ${projectId} and kind = ${kind}`.execute(db)
  await sql`insert into sale_pages values (${projectId}, ${kind}, ${by}) on conflict (project_id, kind) do update set n = sale_pages.n + ${by}`.execute(
    db,
  )
}

const sale = fc.record({ kind: fc.constantFrom(...KINDS), day: fc.constantFrom(...DAYS) })
type Step = { do: 'sell'; sales: Sale[]; fails: boolean } | { do: 'take back'; limit: number } | { do: 'fold' | 'repair' }
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('sell' as const), sales: fc.array(sale, { minLength: 1, maxLength: 5 }), fails: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('take back' as const), limit: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('fold' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('repair' as const) }) },
)

test('deltas and sums are the number of facts at any time, whatever is written, folded and repaired at once', async () => {
  const perform = async (projectId: string, each: Step, othersEnded: Promise<unknown>) => {
    if (each.do === 'fold') return ledger.fold(db)
    if (each.do === 'repair') return ledger.repair(db, projectId)
    // Writers stay open while the others work, and some of them fail.
    const write = transact(db, async (tx) => {
      if (each.do === 'sell') await sell(tx, projectId, each.sales)
      else if (each.do === 'take back') await takeBack(tx, projectId, each.limit)
      await othersEnded
      if (each.do === 'sell' && each.fails) throw new Error('taken back')
    })
    return write.catch((err) => expect(err.message).toBe('taken back'))
  }
  const isWriter = ({ do: what }: Step) => what === 'sell' || what === 'take back'
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 6 }), async (rounds) => {
      const projectId = await newProject()
      for (const steps of rounds) {
        const others = Promise.all(steps.filter((each) => !isWriter(each)).map((each) => perform(projectId, each, Promise.resolve())))
        const writers = steps.filter(isWriter).map((each, index) => perform(projectId, each, index % 2 ? others : Promise.resolve()))
        const looks = Promise.all([1, 2, 3].map(() => wrong(projectId)))
        await Promise.all([others, ...writers])
        expect(await looks).toEqual([[], [], []])
        expect(await wrong(projectId)).toEqual([])
      }
      await corrupt(projectId, { kind: 'a', day: DAYS[0]! }, 7)
      const drift = Object.values(await ledger.repair(db, projectId))
      expect(drift).toEqual([1, 1, 1, 1])
      expect(await wrong(projectId)).toEqual([])
      await ledger.fold(db)
      expect(await many(db, sql`select 1 from sale_deltas`)).toEqual([])
      expect(await wrongSums(projectId)).toEqual([])
    }),
    { numRuns: 8 },
  )
})

test('a repair during a fold corrects by what was wrong, no more', async () => {
  const projectId = await newProject()
  await transact(db, (tx) => sell(tx, projectId, [{ kind: 'a', day: DAYS[0]! }]))
  await corrupt(projectId, { kind: 'a', day: DAYS[0]! }, 3)
  const isWaiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const [folding, repairing] = await transact(db, async (tx) => {
    await sql`select from shops where project_id = ${projectId} for update`.execute(tx)
    // The fold has changed the first table, and waits for the row of the shop. The repair waits for the first table.
    const fold = ledger.fold(db)
    await expect.poll(() => many(db, isWaiting)).toHaveLength(1)
    const repair = ledger.repair(db, projectId)
    await expect.poll(() => many(db, isWaiting)).toHaveLength(2)
    return [fold, repair].map((promise) => ({ promise }))
  })
  await Promise.all([folding!.promise, repairing!.promise])
  expect(await wrong(projectId)).toEqual([])
  expect(await wrongSums(projectId)).toEqual([])
})

test('rows that add up to nothing are removed, but not what is only noted', async () => {
  const projectId = await newProject()
  await transact(db, (tx) => sell(tx, projectId, [{ kind: 'a', day: DAYS[0]! }]))
  await ledger.fold(db)
  await transact(db, (tx) => takeBack(tx, projectId, 1))
  await ledger.fold(db)
  const rows = (table: string) => many(db, sql`select n from ${sql.table(table)} where project_id = ${projectId}`)
  expect([await rows('sale_totals'), await rows('sale_pages')]).toEqual([[], []])
  expect(await many(db, sql`select n, noted from sale_days where project_id = ${projectId}`)).toEqual([{ n: 0, noted: 2 }])
})

test('deltas of a project that is being wiped wait, and a deleted project leaves nothing', async () => {
  const projectId = await newProject()
  await transact(db, (tx) => sell(tx, projectId, [{ kind: 'a', day: DAYS[0]! }]))
  await ledger.fold(db)
  await transact(db, (tx) => sell(tx, projectId, [{ kind: 'b', day: DAYS[1]! }]))
  await sql`alter table project_wipes drop constraint project_wipes_project_id_fkey`.execute(db)
  await sql`insert into project_wipes (project_id) values (${projectId})`.execute(db)
  await ledger.fold(db)
  const { n } = await one(db, sql<{ n: number }>`select count(*)::int as n from sale_deltas where project_id = ${projectId}`)
  expect(n).toBe(1)
  const wipe = (before: string) => transact(db, (tx) => ledger.wipe(tx, { projectId, before, limit: 1 }))
  expect(await wipe('2026-01-01')).toBe(0)
  for (let chunk = 0; chunk < 10 && (await wipe('infinity')); chunk++);
  const left = await Promise.all(
    ['sale_deltas', 'sale_totals', 'sale_days', 'sale_pages'].map((table) =>
      many(db, sql`select 1 from ${sql.table(table)} where project_id = ${projectId}`),
    ),
  )
  expect(left).toEqual([[], [], [], []])
})
