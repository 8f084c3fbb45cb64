import { type Insertable, type RawBuilder, sql } from 'kysely'
import { one, type Pool, type Tx, transact } from '../db/index.ts'
import { prepared } from '../db/prepared.ts'
import type { Schema } from '../db/schema.ts'
import { type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { columnsSql, describeSums, dropEmpty, foldSql, isWiped, rowsSql } from './ledger-sql.ts'
import { lock, tryLock } from './locks.ts'
import { createRepair, type HowToRecount } from './repair.ts'

type Sql = RawBuilder<unknown>
type Table = keyof Schema

/** A table of sums, with what a delta `d` adds to it: each column is an expression on `d`. */
export type Sums = HowToRecount & {
  /** Columns that identify a row within its project. */
  key: Record<string, Sql>
  /** Columns that are added up, and that a repair corrects. */
  values: Record<string, Sql>
  /** Columns that are added up, and that no fact is left of: a repair leaves them alone. */
  notes?: Record<string, Sql>
  /** Condition on `d`: other deltas add nothing. */
  where?: Sql
}

type Definition<Deltas extends Table, Names extends Table> = {
  name: string
  /** Writers append what a transaction changes: they never wait for each other. Its key is (project_id, id). */
  deltas: Deltas
  sums: Record<Names, Sums>
  /** Rows folded in one transaction. */
  batch?: number
}

const BATCH = 20_000
/** Transactions of one fold; the next one takes the rest. */
const MAX_ROUNDS = 20

/**
 * Defines counts. Writers append deltas, which are folded into sums. The sum over both is exact at any time, whatever is written,
 * folded or repaired meanwhile.
 */
export function defineLedger<Deltas extends Table, Names extends Table>({ name, deltas, sums, batch = BATCH }: Definition<Deltas, Names>) {
  const tables = Object.keys(sums) as Names[]
  const described = tables.map((table) => describeSums(deltas, table, sums[table]))
  type Delta = Partial<Insertable<Schema[Deltas]>> & { project_id: string }

  /** Folds a batch of the deltas `d` that a condition selects. The caller holds the lock. */
  async function foldSome(tx: Tx, which: Sql): Promise<number> {
    const { taken, empty } = await one(tx, foldSql(deltas, described, { which, batch }))
    for (const [index, rows] of empty.entries()) if (rows) await dropEmpty(tx, described[index]!, rows)
    return taken
  }

  return {
    name,
    deltas,
    /** Recounts the facts of a project, and corrects the sums. */
    repair: createRepair(name, described),

    async append(tx: Tx, rows: Delta[]) {
      if (!rows.length) return
      const columns = columnsSql(Object.keys(rows[0]!))
      await prepared`
        insert into ${sql.table(deltas)} (${columns})
        select ${columns} from jsonb_populate_recordset(null::${sql.table(deltas)}, ${JSON.stringify(rows)}::jsonb)
      `.execute(tx)
    },

    /** Appends a select of these columns, as a statement or a CTE. */
    appendSql: (columns: (keyof Schema[Deltas] & string)[], rows: Sql) =>
      sql`insert into ${sql.table(deltas)} (${columnsSql(columns)}) ${rows}`,

    /** Rows of a project in a table of sums, and of its deltas in the same columns, to be added up: a derived table named `counted`. */
    readSql: (table: Names, projectId: string | Sql) => sql`(${rowsSql(described[tables.indexOf(table)]!, sql`${projectId}`)}) as counted`,

    /**
     * Moves deltas into the sums, unless another process does it. Deltas of uncommitted transactions are not visible, and stay. Those of a
     * project that is being wiped stay too: the sums would outlive the wipe.
     */
    async fold(db: Pool) {
      const which = sql`not ${isWiped(sql`d.project_id`)}`
      const foldNext = async (tx: Tx) => ((await tryLock(tx, 'fold', name)) ? foldSome(tx, which) : 0)
      for (let round = 0; round < MAX_ROUNDS; round++) if ((await transact(db, foldNext)) < batch) return
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
