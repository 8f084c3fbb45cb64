import { type Insertable, type RawBuilder, sql } from 'kysely'
import { type Db, many, one, type Pool, prepared, type Tx, transact } from '../db/index.ts'
import type { Schema } from '../db/schema.ts'
import { type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { NIL_ID } from '../lib/id.ts'
import {
  columnsSql,
  correct,
  describeSums,
  differencesByPages,
  differencesSql,
  dropEmpty,
  foldSql,
  isWiped,
  type Row,
  rowsSql,
  type SumsTable,
} from './ledger-sql.ts'
import { lock, tryLock } from './locks.ts'

type Sql = RawBuilder<unknown>
type Table = keyof Schema

/** What a repair counts anew: the sums of a project, or a part of them. `after`: for pages, the last fact of the page before. */
export type RepairScope = { projectId: string; part: string; after: string }

/** A table of sums, with what a delta `d` adds to it: each column is an expression on `d`. */
export type Sums = {
  /** Columns that identify a row within its project. */
  key: Record<string, Sql>
  /** Columns that are added up, and that a repair corrects. */
  values: Record<string, Sql>
  /** Columns that are added up, and that no fact is left of: a repair leaves them alone. */
  notes?: Record<string, Sql>
  /** Condition on `d`: other deltas add nothing. */
  where?: Sql
  /** `existing`: rows of something else, such as a campaign, that have columns for sums. What belongs to no row is lost. */
  rows?: 'existing'
  /**
   * What the sums should be: a select of the columns of `key` and `values`, counted from facts. Rows with the same key are added up. Facts and
   * their deltas are written in the same transactions, so that a snapshot has both or none.
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
}

type Definition<Deltas extends Table, Names extends Table> = {
  name: string
  /** Writers append what a transaction changes: they never wait for each other. Its key is (project_id, id). */
  deltas: Deltas
  sums: Record<Names, Sums>
  /** Rows folded in one transaction. */
  batch?: number
}

/** Called in the transaction that folds, with what it adds to a table of sums: rows of `project_id` and the other columns. */
export type FoldListener = (tx: Tx, changes: Row[]) => Promise<unknown>

/** Number of rows that were wrong, and are corrected, by table of sums. */
export type Drift<Names extends string = string> = Record<Names, number>

const BATCH = 20_000
/** Transactions of one fold; the next one takes the rest. */
const MAX_ROUNDS = 20
/** Rows corrected in one transaction. */
const MAX_CORRECTED = 5_000
/** Time to count millions of facts. */
const REPAIR_MS = 14_000

/**
 * Defines counts. What happens changes them by deltas, which are folded into sums. The sum over both is exact at any time, whatever is written,
 * folded or repaired meanwhile.
 */
export function defineLedger<Deltas extends Table, Names extends Table>({ name, deltas, sums, batch = BATCH }: Definition<Deltas, Names>) {
  const tables = Object.keys(sums) as Names[]
  const described = tables.map((table) => describeSums(deltas, table, sums[table]))
  const sumsOf = (table: Names): SumsTable => described[tables.indexOf(table)]!
  type Listeners = Partial<Record<Names, FoldListener[]>>
  type Delta = Partial<Insertable<Schema[Deltas]>> & { project_id: string }

  /** Folds a batch of the deltas `d` that a condition selects. The caller holds the lock. */
  async function foldSome(tx: Tx, which: Sql, listeners: Listeners = {}): Promise<number> {
    const { taken, added } = await one(tx, foldSql(deltas, described, { which, batch, heard: Object.keys(listeners) }))
    for (const [index, table] of tables.entries()) {
      const { empty, changes } = added[index]!
      if (empty) await dropEmpty(tx, sumsOf(table), empty)
      if (changes) for (const listen of listeners[table] ?? []) await listen(tx, changes)
    }
    return taken
  }

  /** Corrects a part by its difference. Returns the number of rows that were wrong, at most MAX_CORRECTED. */
  async function repairPart(tx: Tx, table: Names, { projectId, part = '' }: { projectId: string; part?: string }): Promise<number> {
    await lock(tx, 'repair', `${name} ${projectId}`)
    await sql`set local statement_timeout = ${sql.lit(REPAIR_MS)}`.execute(tx)
    const scope = { projectId, part, after: NIL_ID }
    const actual = sums[table].actual(scope)
    return correct(tx, sumsOf(table), await many(tx, differencesSql(sumsOf(table), scope, { actual, limit: MAX_CORRECTED })))
  }

  async function repairPages(tx: Tx, table: Names, { db, projectId }: { db: Pool; projectId: string }) {
    await lock(tx, 'repair', `${name} ${projectId}`)
    return correct(tx, sumsOf(table), await differencesByPages(tx, sumsOf(table), { db, projectId, limit: MAX_CORRECTED }))
  }

  async function repairTable(db: Pool, table: Names, projectId: string) {
    const { parts, nextPage } = sums[table]
    let wrong = 0
    for (const part of parts ? await parts(db, projectId) : ['']) {
      const repair = (tx: Tx) => (nextPage ? repairPages(tx, table, { db, projectId }) : repairPart(tx, table, { projectId, part }))
      for (let rows = MAX_CORRECTED; rows === MAX_CORRECTED; wrong += rows) rows = await transact(db, repair)
    }
    return wrong
  }

  return {
    name,
    repairPart,

    async append(tx: Tx, rows: Delta[]) {
      if (!rows.length) return
      const columns = columnsSql(Object.keys(rows[0]!))
      await sql`${prepared}
        insert into ${sql.table(deltas)} (${columns})
        select ${columns} from jsonb_populate_recordset(null::${sql.table(deltas)}, ${JSON.stringify(rows)}::jsonb)
      `.execute(tx)
    },

    /** Appends a select of these columns, as a statement or a CTE. */
    appendSql: (columns: (keyof Schema[Deltas] & string)[], rows: Sql) =>
      sql`insert into ${sql.table(deltas)} (${columnsSql(columns)}) ${rows}`,

    /** Rows of a project in a table of sums, and of its deltas in the same columns, to be added up: a derived table named `counted`. */
    readSql: (table: Names, projectId: string | Sql) => sql`(${rowsSql(sumsOf(table), sql`${projectId}`)}) as counted`,

    /**
     * Moves deltas into the sums, unless another process does it. Deltas of uncommitted transactions are not visible, and stay. Those of a
     * project that is being wiped stay too: the sums would outlive the wipe.
     */
    async fold(db: Pool, listeners: Listeners = {}) {
      const which = sql`not ${isWiped(sql`d.project_id`)}`
      const foldNext = async (tx: Tx) => ((await tryLock(tx, 'fold', name)) ? foldSome(tx, which, listeners) : 0)
      for (let round = 0; round < MAX_ROUNDS; round++) if ((await transact(db, foldNext)) < batch) return
    },

    /** Counts the facts of a project anew, and corrects the sums. Nothing while it is being wiped. */
    async repair(db: Pool, projectId: string): Promise<Drift<Names>> {
      const { wiped } = await one(db, sql<{ wiped: boolean }>`select ${isWiped(sql`${projectId}`)} as wiped`)
      const drift = {} as Drift<Names>
      for (const table of tables) drift[table] = wiped ? 0 : await repairTable(db, table, projectId)
      return drift
    },

    /**
     * For a project reset or deletion: deletes a chunk of the rows, those of a deleted project or those that a condition on a row `t` of any of the
     * tables selects. Without a condition, a reset subtracts the facts that it removes: then rows are removed that add up to nothing.
     */
    async wipe(tx: Tx, scope: WipeScope, which?: Sql) {
      if (!which && scope.before !== 'infinity') {
        await lock(tx, 'fold', name)
        await foldSome(tx, sql`d.project_id = ${scope.projectId}`)
        return 0
      }
      const selection = { which: which ?? sql`true` }
      let removed = await wipeRows(tx, deltas, scope, selection)
      for (const { name: table, key, rows } of described) if (!rows) removed += await wipeRows(tx, table, scope, { key, ...selection })
      return removed
    },
  }
}
