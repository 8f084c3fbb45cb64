import { availableParallelism } from 'node:os'
import type { Pool, Tx } from '../db/index.ts'
import { withStatementTimeout } from '../db/statement-timeout.ts'
import { createSharedSemaphore } from '../lib/concurrency/shares.ts'
import { SECOND } from '../lib/text/units.ts'
import { createOwners } from './owner.ts'

/**
 * Scans look at many contacts of a project. Each may occupy a processor of the database for seconds, so an owner has one at a time in each
 * process, whatever it is for. A scan is quick until proven otherwise: quick ones and long ones have places of their own, and half of the
 * processors stay free for other statements when the database runs on this machine.
 */
const PLACES = Math.max(1, Math.floor(availableParallelism() / 2))
/** A scan that takes longer begins again in a place for long ones. */
const QUICK_MS = 200
/** Longest wait of a request. */
const MAX_WAIT_MS = 5 * SECOND
/** In the background: longer than the longest scan, so that requests cannot keep an owner's other scans from their turn. */
const BACKGROUND_WAIT_MS = 12 * SECOND
const MAX_WAITING = 200

/** A scan has waited too long for other scans. */
class NoTurnError extends Error {}

const limits = { each: 1, maxWaiting: MAX_WAITING, maxWaitMs: MAX_WAIT_MS, refusal: () => new NoTurnError('too many scans at once') }
const ofOwner = createSharedSemaphore({ ...limits, total: Number.POSITIVE_INFINITY })
const places = {
  quick: createSharedSemaphore({ ...limits, total: PLACES }),
  long: createSharedSemaphore({ ...limits, total: PLACES }),
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
  const scan = (place: keyof typeof places, limit: number) =>
    places[place](owner, () => withStatementTimeout(db, limit, async (tx) => ({ found: await read(tx) })), { waitMs })
  const tryQuickly = async () => (expectedMs > QUICK_MS && ms > QUICK_MS ? undefined : scan('quick', Math.min(ms, QUICK_MS)))
  const scanInTurn = async () => (await tryQuickly()) ?? (ms > QUICK_MS ? scan('long', ms) : undefined)
  const scanned = await ofOwner(owner, scanInTurn, { waitMs }).catch(noTurn)
  return scanned ? scanned.found : (orElse?.() as Other)
}

function noTurn(err: unknown): undefined {
  if (!(err instanceof NoTurnError)) throw err
}

/** Runs a scan in the background that bounds its own time. Calls `orElse` when other scans leave no time for it. */
export async function inScanTurn<Result, Other>(
  db: Pool,
  { projectId, isLong = false }: { projectId: string; isLong?: boolean },
  scan: () => Promise<Result>,
  orElse: () => Other | Promise<Other>,
): Promise<Result | Other> {
  const owner = await readOwner(db, projectId)
  const place = places[isLong ? 'long' : 'quick']
  const inPlace = () => place(owner, async () => ({ found: await scan() }), { waitMs: BACKGROUND_WAIT_MS })
  const scanned = await ofOwner(owner, inPlace, { waitMs: BACKGROUND_WAIT_MS }).catch(noTurn)
  return scanned ? scanned.found : orElse()
}
