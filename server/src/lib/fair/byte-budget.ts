import { KB, SECOND } from '../text/units.ts'
import {
  type ByteClaim,
  createBytePool,
  equalShareOf,
  findLacking,
  isBeyond,
  isInPool,
  isWithinShares,
  type PoolShare,
} from './byte-pool.ts'

export const BYTE_BUDGET_LIMITS = {
  /** Longest wait for bytes. Longer than `graceMs`: every body has to prove its pace before the wait ends. */
  waitMs: 15 * SECOND,
  /** Bodies and messages of one owner that may wait at once. */
  waiting: 16,
  /** Lowest pace of a holder beyond its share while another owner waits. */
  bytesPerSecond: 64 * KB,
  /** Time before that pace is demanded, and the longest pause that earlier bytes make up for. */
  graceMs: 10 * SECOND,
  /** Wait after which the slowest holder beyond its share is cut off at any pace: otherwise several owners together could fill the budget. */
  patienceMs: 5 * SECOND,
  /** Interval at which paces are measured. */
  watchMs: SECOND,
}
export type ByteBudgetLimits = typeof BYTE_BUDGET_LIMITS

/** Bodies and messages up to this size are not counted: a connection costs as much memory, and a full budget must not refuse a sign-in. */
export const SMALL_BODY = 16 * KB

/** A body or message on its way. */
export type Arrival = {
  /** Bytes received so far. */
  bytes: () => number
  /** False while this process does not read, and when everything has arrived. */
  isReading: () => boolean
  /** Ends it. Its bytes are free already. */
  cutOff: () => void
}

export type ByteHold = {
  /** Whether the bytes, `total` so far, fit. A promise while they wait for others to end. */
  grow(total: number): boolean | Promise<boolean>
  /** May be called more than once. */
  release(): void
}

/** `slackMs`: the time for which it may pause before it counts as slow. */
type Hold = {
  owner: string
  shares: PoolShare[]
  arrival: Arrival
  bytes: number
  readMs: number
  slackMs: number
  seenBytes: number
  seenAt: number
}
type Waiting = ByteClaim<Hold> & { since: number; end: (isGranted: boolean) => void }
type Held = { holds: ReadonlySet<Hold>; waiting: ReadonlySet<Waiting>; limits: ByteBudgetLimits }

/**
 * Bounds the bytes held at once. While a pool is full, an owner within an equal share waits a moment. Owners beyond it get no new bodies in; those
 * that have begun keep what they have and wait for more, and the slowest are cut off. A single body is always admitted to an empty pool: its
 * size has a limit of its own.
 */
export function createByteBudget(total: number, given: Partial<ByteBudgetLimits> = {}) {
  const limits = { ...BYTE_BUDGET_LIMITS, ...given }
  const holds = new Set<Hold>()
  const waiting = new Set<Waiting>()
  let timer: NodeJS.Timeout | undefined

  const whole = createBytePool(total)
  const held = { holds, waiting, limits }

  function take(hold: Hold, bytes: number): boolean | Promise<boolean> {
    const claim = { hold, bytes }
    if (!isWithinShares(claim)) return false
    const lacking = findLacking(claim, waiting)
    if (lacking) return !hold.bytes && isBeyond(lacking, claim, waiting) ? false : wait(claim)
    change(claim)
    return true
  }

  function change({ hold, bytes }: ByteClaim<Hold>) {
    hold.bytes += bytes
    for (const { pool } of hold.shares) pool.held.change(hold.owner, bytes)
  }

  function wait(claim: ByteClaim<Hold>): boolean | Promise<boolean> {
    if ([...waiting].filter(({ hold }) => hold.owner === claim.hold.owner).length >= limits.waiting) return false
    return new Promise((resolve) => {
      const timeout = setTimeout(() => {
        own.end(false)
        grantWaiting()
      }, limits.waitMs).unref()
      const own: Waiting = {
        ...claim,
        since: performance.now(),
        end(isGranted) {
          clearTimeout(timeout)
          waiting.delete(own)
          resolve(isGranted)
        },
      }
      waiting.add(own)
      relieve()
    })
  }

  /** The owners that hold the least come first. */
  function grantWaiting() {
    const heldBy = ({ hold }: Waiting) => whole.held.of(hold.owner)
    for (const each of [...waiting].sort((a, b) => heldBy(a) - heldBy(b))) {
      if (findLacking(each, waiting) || !isWithinShares(each)) continue
      change(each)
      each.end(true)
    }
  }

  function release(hold: Hold) {
    holds.delete(hold)
    for (const each of waitsOf(hold, waiting)) each.end(false)
    if (hold.bytes) change({ hold, bytes: -hold.bytes })
    grantWaiting()
  }

  /** Cuts off as many as those that wait need. */
  function relieve() {
    for (const each of waiting) {
      for (let slowest = findSlowest(each, held); slowest && waiting.has(each); slowest = findSlowest(each, held)) {
        release(slowest)
        slowest.arrival.cutOff()
      }
    }
  }

  function watch() {
    for (const hold of holds) measure(hold, limits)
    relieve()
    if (holds.size) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    whole,
    /** A part of the budget that some holders have to share. */
    part: (share: number) => createBytePool(total * share),
    hold(owner: string, shares: PoolShare[], arrival: Arrival): ByteHold {
      const start = { readMs: 0, slackMs: limits.graceMs, seenBytes: arrival.bytes(), seenAt: performance.now() }
      const hold: Hold = { owner, shares, arrival, bytes: 0, ...start }
      return {
        grow(size) {
          if (size <= SMALL_BODY) return true
          holds.add(hold)
          timer ??= setInterval(watch, limits.watchMs).unref()
          return take(hold, size - hold.bytes)
        },
        release: () => release(hold),
      }
    },
  }
}

const waitsOf = (hold: Hold, waiting: Held['waiting']) => [...waiting].filter((each) => each.hold === hold)

/** For holders of owners beyond an equal share. A body that waits for more is not read, but gives way like those that are. */
function findSlowest(claim: Waiting, { holds, waiting, limits }: Held): Hold | undefined {
  const pool = findLacking(claim, waiting)
  if (!pool || isBeyond(pool, claim, waiting)) return undefined
  const share = equalShareOf(pool, waiting)
  const longestSlack = performance.now() - claim.since < limits.patienceMs ? 0 : Number.POSITIVE_INFINITY
  let slowest: Hold | undefined
  for (const each of holds) {
    if (!each.bytes || !isInPool(pool, each) || pool.held.of(each.owner) <= share || each.slackMs > longestSlack) continue
    if (!waitsOf(each, waiting).length && (each.readMs < limits.graceMs || !each.arrival.isReading())) continue
    if (!slowest || each.slackMs < slowest.slackMs) slowest = each
  }
  return slowest
}

/** A late call means that this process did not read meanwhile, so at most the interval counts. */
function measure(hold: Hold, { watchMs, graceMs, bytesPerSecond }: ByteBudgetLimits) {
  const [now, bytes] = [performance.now(), hold.arrival.bytes()]
  const ms = hold.arrival.isReading() ? Math.min(now - hold.seenAt, watchMs) : 0
  hold.readMs += ms
  hold.slackMs = Math.min(graceMs, hold.slackMs - ms + ((bytes - hold.seenBytes) / bytesPerSecond) * SECOND)
  hold.seenAt = now
  hold.seenBytes = bytes
}
