import { type Pool, type Tx, transact } from '../../db/index.ts'
import { isStatementTimeout } from '../../db/sql-state.ts'
import type { Log } from '../../lib/log.ts'
import { compareWorkflowDays, skipWorkflowDay } from './days.ts'
import { compareFigures, compareStepFigures, mergeFigures, skipFigures, skipStepFigures } from './figures.ts'

/** Workflows that are compared in one transaction. */
const COMPARED = 10

type Comparison = {
  /** Returns the number of workflows compared: 0 when none is due. */
  compare: (tx: Tx, limit: number) => Promise<number>
  /** Marks the first one that is due as compared. */
  skip: (tx: Tx) => Promise<unknown>
}

export async function addUpFigures(db: Pool, log: Log) {
  // First: a comparison that fails must not keep tallies from being added up.
  while ((await transact(db, (tx) => mergeFigures(tx))) > 0);
  await compareDue(db, log, { compare: compareFigures, skip: skipFigures })
  await compareDue(db, log, { compare: compareStepFigures, skip: skipStepFigures })
  await compareDue(db, log, { compare: compareWorkflowDays, skip: skipWorkflowDay })
}

/** One by one after a timeout. A workflow with more executions than can be counted in time waits until it is due again, and holds up no other. */
export async function compareDue(db: Pool, log: Log, { compare, skip }: Comparison) {
  for (let limit = COMPARED; ; ) {
    try {
      if ((await transact(db, (tx) => compare(tx, limit))) === 0) return
      limit = COMPARED
    } catch (err) {
      if (!isStatementTimeout(err)) throw err
      if (limit === 1) {
        log.warn('a workflow has too many executions to compare its figures with them')
        await transact(db, skip)
      }
      limit = limit === 1 ? COMPARED : 1
    }
  }
}
