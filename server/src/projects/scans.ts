import { availableParallelism } from 'node:os'
import type { Pool, Tx } from '../db/index.ts'
import { withStatementTimeout } from '../db/statement-timeout.ts'
import { createFairSemaphore } from '../lib/fair/semaphore.ts'
import { SECOND } from '../lib/text/units.ts'
import { createOwners } from './owner.ts'

/**
 * Scans look at many contacts of a project. Each may occupy a processor of the database for seconds, so an owner has one at a time in each
 * process, whatever it is for. A scan is quick until proven otherwise: quick ones and long ones have slots of their own, and half of the
 * processors stay free for other statements when the database runs on this machine.
 */
const SLOTS = Math.max(1, Math.floor(availableParallelism() / 2))
/** A scan that takes longer begins again in a slot for long ones. */
const QUICK_MS = 200
/** Longest wait of a request. */
const MAX_WAIT_MS = 5 * SECOND
/** In the background: longer than the longest scan, so that requests cannot keep an owner's other scans from their turn. */
const BACKGROUND_WAIT_MS = 12 * SECOND
const MAX_WAITING = 200

/** A scan has waited too long for a slot. */
class NoSlotError extends Error {}

const limits = { each: 1, maxWaiting: MAX_WAITING, maxWaitMs: MAX_WAIT_MS, refusal: () => new NoSlotError('too many scans at once') }
const ofOwner = createFairSemaphore({ ...limits, slots: Number.POSITIVE_INFINITY })
const shares = {
  quick: createFairSemaphore({ ...limits, slots: SLOTS }),
  long: createFairSemaphore({ ...limits, slots: SLOTS }),
}

const ownersOf = new WeakMap<Pool, ReturnType<typeof createOwners>>()

async function readOwner(db: Pool, projectId: string) {
  const owners = ownersOf.get(db) ?? createOwners(db)
  ownersOf.set(db, owners)
  return (await owners.read([projectId])).get(projectId)!
}

/** `expectedMs`: what the same scan took last time. One that is expected to be long is not tried among the quick ones first. */
type Scan = { projectId: string; ms: number; waitMs?: number; expectedMs?: number }

/**
 * Runs a read over contacts with a limit for each of its statements. When one exceeds it, and when other scans leave
 * no time for it, calls `orElse`, or returns undefined. The read may run twice.
 */
export async function scanContacts<Result, Other = undefined>(
  db: Pool,
  { projectId, ms, waitMs = Math.min(ms, MAX_WAIT_MS), expectedMs = 0 }: Scan,
  read: (tx: Tx) => Promise<Result>,
  orElse?: () => Other | Promise<Other>,
): Promise<Result | Other> {
  const owner = await readOwner(db, projectId)
  const scan = (kind: keyof typeof shares, limit: number) =>
    shares[kind](owner, () => withStatementTimeout(db, limit, async (tx) => ({ found: await read(tx) })), { waitMs })
  const tryQuickly = async () => (expectedMs > QUICK_MS && ms > QUICK_MS ? undefined : scan('quick', Math.min(ms, QUICK_MS)))
  const scanInTurn = async () => (await tryQuickly()) ?? (ms > QUICK_MS ? scan('long', ms) : undefined)
  const scanned = await ofOwner(owner, scanInTurn, { waitMs }).catch(noSlot)
  return scanned ? scanned.found : (orElse?.() as Other)
}

function noSlot(err: unknown): undefined {
  if (!(err instanceof NoSlotError)) throw err
}

/** Runs a scan in the background that bounds its own time. Calls `orElse` when other scans leave no time for it. */
export async function inScanTurn<Result, Other>(
  db: Pool,
  { projectId, isLong = false }: { projectId: string; isLong?: boolean },
  scan: () => Promise<Result>,
  orElse: () => Other | Promise<Other>,
): Promise<Result | Other> {
  const owner = await readOwner(db, projectId)
  const share = shares[isLong ? 'long' : 'quick']
  const inSlot = () => share(owner, async () => ({ found: await scan() }), { waitMs: BACKGROUND_WAIT_MS })
  const scanned = await ofOwner(owner, inSlot, { waitMs: BACKGROUND_WAIT_MS }).catch(noSlot)
  return scanned ? scanned.found : orElse()
}
