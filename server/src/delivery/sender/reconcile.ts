import { type Pool, transact } from '../../db/index.ts'
import { releaseUnheld } from '../outbox/claim.ts'

/** Interval of regular reconciliations: a claim whose reply was lost leaves rows with a worker that does not know of them. */
const RECONCILE_MS = 3_000

type Deps = { db: Pool; worker: number; heldIds: () => string[] }
export type Reconciler = ReturnType<typeof createReconciler>

/**
 * Releases the rows that the database assigns to this worker and the worker does not hold. Never run it during a claim: the emails of that
 * claim are assigned and not held yet.
 */
export function createReconciler({ db, worker, heldIds }: Deps) {
  // A worker starts without knowledge of an earlier life of its number.
  let isRequested = true
  let ranAt = 0

  async function run() {
    // Before the statement: a failure meanwhile may leave rows that it does not see, and requests another run.
    isRequested = false
    await transact(db, (tx) => releaseUnheld(tx, worker, heldIds())).catch((err) => {
      isRequested = true
      throw err
    })
    ranAt = performance.now()
  }

  return {
    run,
    runIfDue: async () => {
      if (isRequested || performance.now() - ranAt > RECONCILE_MS) await run()
    },
    /** After a failure, which may have left rows that are assigned and not held. */
    request() {
      isRequested = true
    },
    isRequested: () => isRequested,
  }
}
