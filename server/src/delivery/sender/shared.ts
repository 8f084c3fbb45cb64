import type { Pool } from '../../db/index.ts'
import type { Log } from '../../lib/process/log.ts'
import type { ReadyEmail } from './build-email.ts'
import type { Ledger } from './ledger/ledger.ts'
import type { Health } from './limits/health.ts'

/** Tasks of the sender that an idle worker leaves out. */
export type SenderTask =
  | 'queuedEmails'
  | 'deferredEmails'
  | 'emailsInHand'
  | 'suspectEmails'
  | 'unknownEmails'
  | 'cancelledStreams'
  | 'sendingPauses'
  | 'heldRefusals'

/** Shared by the parts of the sender of this worker. */
export type SenderShared = {
  db: Pool
  worker: number
  log: Log
  ledger: Ledger<ReadyEmail>
  health: Health
  /** Reads the owners of projects, which the ledger then knows. */
  readOwners: (projectIds: string[]) => Promise<unknown>
  /** Runs one claim or reconciliation of this process at a time. */
  oneAtATime: <T>(run: () => Promise<T>) => Promise<T>
  /** Whether this worker may claim at all: false while it counts as dead or stops. */
  mayWork: () => boolean
  /** Whether a task may have something to do. */
  isDue: (task: SenderTask) => boolean
  /** Aborted when this worker is asked to stop. */
  stopping: AbortSignal
}
