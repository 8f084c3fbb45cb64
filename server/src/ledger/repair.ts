import { type RawBuilder, sql } from 'kysely'
import { countAffected, type Db, maybeScalar, type Pool, scalar, scalars, type Tx, transact } from '../db/index.ts'
import type { Schema } from '../db/schema.ts'
import { NIL_ID } from '../lib/id.ts'
import { addSql, columnsSql, dropEmpty, each, isWiped, type Row, rowsSql } from './ledger-sql.ts'
import { lock } from './locks.ts'

type Sql = RawBuilder<unknown>

/** The scope of a recount: the sums of a project, or a part of them. `after`: for pages, the last fact of the page before. */
export type RepairScope = { projectId: string; part: string; after: string }

/** How sums are recounted. */
export type HowToRecount = {
  /** `existing`: rows of something else, such as a project, that have columns for sums. Counts that belong to no row are lost. */
  rows?: 'existing'
  /**
   * The correct sums: a select of the columns of `key` and `values`, counted from facts. Rows with the same key are added up. Facts and
   * entries that wait are written in the same transactions, so that a snapshot has both or none.
   */
  actual: (scope: RepairScope) => Sql
  /** Condition on the columns of `key`: a repair leaves other rows alone. */
  within?: (scope: RepairScope) => Sql
  /** Parts that are repaired one by one, so that no statement is long. `actual` and `within` restrict to `part`. */
  parts?: (db: Db, projectId: string) => Promise<string[]>
  /**
   * For facts that are too many for one statement, and belong to no part: `actual` counts a page of them, those that follow `after`, and this
   * selects the `id` of the last one of that page, or no row. All pages are read in one snapshot.
   */
  nextPage?: (scope: RepairScope) => RawBuilder<{ id: string }>
  /** Held from before the sums are read until they are corrected: keeps off writers that replace sums. */
  lock?: (tx: Tx) => Promise<unknown>
  /** Corrects differences, instead of adding them to the sums. */
  correct?: (tx: Tx, differences: Row[]) => Promise<unknown>
}

/** A table of sums. `key` starts with project_id; a repair corrects `values`, which are columns of `summed`. */
export type Recounted = HowToRecount & {
  name: keyof Schema
  key: string[]
  values: string[]
  summed: string[]
  /** Rows of the columns of `key` and `summed` that are not added to the sums yet. */
  waiting?: (projectId: Sql) => Sql
}

/** Number of rows that were wrong, and are corrected, by table of sums. */
export type Drift = Record<string, number>

/** Rows corrected in one transaction. */
const MAX_CORRECTED = 5_000
/** Time to count millions of facts. */
const REPAIR_MS = 14_000

/** Two corrections at a time would both add the difference. */
export const repairLockOf = (name: string, projectId: string) => `${name} ${projectId}`

/** Returns a function that recounts a project and corrects its sums. It does nothing while the project is being wiped. */
export const createRepair = (name: string, tables: Recounted[]) =>
  async function repair(db: Pool, projectId: string): Promise<Drift> {
    const wiped = await scalar<boolean>(db)`select ${isWiped(sql`${projectId}`)}`
    const drift: Drift = {}
    for (const sums of tables) drift[sums.name] = wiped ? 0 : await repairTable(db, sums, { name, projectId })
    return drift
  }

async function repairTable(db: Pool, sums: Recounted, { name, projectId }: { name: string; projectId: string }) {
  let wrong = 0
  for (const part of sums.parts ? await sums.parts(db, projectId) : ['']) {
    const scope = { projectId, part, after: NIL_ID }
    const repairSome = async (tx: Tx) => {
      await lock(tx, 'repair', repairLockOf(name, projectId))
      await sums.lock?.(tx)
      return correct(tx, sums, await (sums.nextPage ? differencesByPages(db, sums, { holder: tx, scope }) : differencesOf(tx, sums, scope)))
    }
    for (let rows = MAX_CORRECTED; rows === MAX_CORRECTED; wrong += rows) rows = await transact(db, repairSome)
  }
  return wrong
}

async function differencesOf(tx: Tx, sums: Recounted, scope: RepairScope) {
  await sql`set local statement_timeout = ${sql.lit(REPAIR_MS)}`.execute(tx)
  return readDifferences(tx, sums, scope, sums.actual(scope))
}

/** Differences to add to the sums, so that sums and waiting entries equal the count, in the snapshot of the statement. */
function readDifferences(tx: Tx, sums: Recounted, scope: RepairScope, actual: Sql): Promise<Row[]> {
  const { key, values, within } = sums
  return scalars<Row>(tx)`
    select to_jsonb(d) from (
      select ${columnsSql(key)}, ${each(values, (column) => sql`sum(${column}) as ${column}`)}
      from (
        select ${scope.projectId}::uuid as project_id, ${columnsSql([...key.slice(1), ...values])} from (${actual}) as actual
        union all
        select ${columnsSql(key)}, ${each(values, (column) => sql`-${column}`)} from (${rowsSql(sums, sql`${scope.projectId}`)}) as known
      ) as compared
      where ${within?.(scope) ?? sql`true`}
      group by ${columnsSql(key)} having ${each(values, (column) => sql`sum(${column}) <> 0`, sql` or `)}
      limit ${MAX_CORRECTED}
    ) as d
  `
}

/** The same for facts in pages, collected in one snapshot by a connection of its own. `holder`: the transaction that holds the locks. */
const differencesByPages = (db: Pool, sums: Recounted, { holder, scope }: { holder: Tx; scope: RepairScope }) =>
  db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (tx) => {
      const columns = columnsSql([...sums.key.slice(1), ...sums.values])
      await sql`create temporary table actual_pages on commit drop as select ${columns} from ${sql.table(sums.name)} limit 0`.execute(tx)
      for (let after: string | undefined = NIL_ID; after; ) {
        // It must not seem idle.
        await sql`select 1`.execute(holder)
        const page: RepairScope = { ...scope, after }
        after = await maybeScalar<string>(tx)`${sums.nextPage!(page)}`
        if (after) await sql`insert into actual_pages (${columns}) select ${columns} from (${sums.actual(page)}) as page`.execute(tx)
      }
      return readDifferences(tx, sums, scope, sql`select ${columns} from actual_pages`)
    })

/** Adds differences to the sums: what other transactions have added meanwhile is kept. Returns the number of rows. */
async function correct(tx: Tx, sums: Recounted, differences: Row[]): Promise<number> {
  if (!differences.length) return 0
  if (sums.correct) {
    await sums.correct(tx, differences)
    return differences.length
  }
  const changes = sql`jsonb_populate_recordset(null::${sql.table(sums.name)}, ${JSON.stringify(differences)}::jsonb)`
  const corrected = await countAffected(tx, addSql(sums, changes, sums.values))
  if (!sums.rows) await dropEmpty(tx, sums, differences)
  return corrected
}

type OtherSums = HowToRecount & Pick<Recounted, 'waiting'> & { key: string[]; values: string[] }

/** Sums that are added up by other code than a ledger's, to be recounted as those of a ledger. */
export const defineSums = <Names extends keyof Schema>({ name, sums }: { name: string; sums: Record<Names, OtherSums> }) => ({
  name,
  repair: createRepair(
    name,
    (Object.entries(sums) as [Names, OtherSums][]).map(([table, { key, values, ...rest }]) => ({
      ...rest,
      name: table,
      key: ['project_id', ...key],
      values,
      summed: values,
    })),
  ),
})
