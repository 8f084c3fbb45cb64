import { KB, SECOND } from '../text/units.ts'
import {
  type BytePool,
  changePools,
  createBytePool,
  equalShareOf,
  exceedsOwnShare,
  findFullPool,
  isInPool,
  type PoolPlace,
} from './byte-pool.ts'

export const BYTE_BUDGET_LIMITS = {
  /** Longest wait for room. Longer than `graceMs`: every body has to prove its pace before the wait ends. */
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
  /** Whether the bytes, `total` so far, fit. A promise while they wait for room. */
  grow(total: number): boolean | Promise<boolean>
  /** May be called more than once. */
  release(): void
}

/** `slackMs`: the time for which it may pause before it counts as slow. */
type Hold = {
  owner: string
  places: PoolPlace[]
  arrival: Arrival
  bytes: number
  readMs: number
  slackMs: number
  seenBytes: number
  seenAt: number
}
type Waiting = { hold: Hold; bytes: number; since: number; end: (isGranted: boolean) => void }

/**
 * Bounds the bytes held at once. While a pool is full, an owner within an equal share waits a moment, owners beyond it get no more bytes, and
 * the slowest of their bodies that are still arriving are cut off. A single body is always admitted to an empty pool: its size has a limit
 * of its own.
 */
export function createByteBudget(total: number, given: Partial<ByteBudgetLimits> = {}) {
  const limits = { ...BYTE_BUDGET_LIMITS, ...given }
  const holds = new Set<Hold>()
  const waiting = new Set<Waiting>()
  let timer: NodeJS.Timeout | undefined

  const whole = createBytePool(total)
  const wanting = () => [...waiting].map(({ hold }) => hold)

  const isBeyondShare = (pool: BytePool, hold: Hold, bytes: number) =>
    pool.byOwner.of(hold.owner) + bytes > equalShareOf(pool, [...wanting(), hold])

  const isWantedByOthers = (pool: BytePool, owner: string) => wanting().some((other) => other.owner !== owner && isInPool(pool, other))

  function take(hold: Hold, bytes: number): boolean | Promise<boolean> {
    if (exceedsOwnShare(hold, bytes)) return false
    const full = findFullPool(hold, bytes)
    if (full) return isBeyondShare(full, hold, bytes) ? false : wait(hold, bytes)
    if (waiting.size && hold.places.some(({ pool }) => isWantedByOthers(pool, hold.owner) && isBeyondShare(pool, hold, bytes))) return false
    change(hold, bytes)
    return true
  }

  function change(hold: Hold, by: number) {
    hold.bytes += by
    changePools(hold, by)
  }

  function wait(hold: Hold, bytes: number): boolean | Promise<boolean> {
    if ([...waiting].filter((other) => other.hold.owner === hold.owner).length >= limits.waiting) return false
    return new Promise((resolve) => {
      const timeout = setTimeout(() => own.end(false), limits.waitMs).unref()
      const own: Waiting = {
        hold,
        bytes,
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
    const heldBy = ({ hold }: Waiting) => whole.byOwner.of(hold.owner)
    for (const each of [...waiting].sort((a, b) => heldBy(a) - heldBy(b))) {
      if (findFullPool(each.hold, each.bytes) || exceedsOwnShare(each.hold, each.bytes)) continue
      change(each.hold, each.bytes)
      each.end(true)
    }
  }

  function release(hold: Hold) {
    holds.delete(hold)
    for (const each of waiting) if (each.hold === hold) each.end(false)
    if (!hold.bytes) return
    change(hold, -hold.bytes)
    if (waiting.size) grantWaiting()
  }

  /** Cuts off as many as those that wait need. */
  function relieve() {
    for (const each of waiting) {
      for (let slowest = findSlowest(each); slowest && waiting.has(each); slowest = findSlowest(each)) {
        release(slowest)
        slowest.arrival.cutOff()
      }
    }
  }

  function findSlowest({ hold, bytes, since }: Waiting): Hold | undefined {
    const pool = findFullPool(hold, bytes)
    if (!pool) return undefined
    const share = equalShareOf(pool, wanting())
    const longestSlack = performance.now() - since < limits.patienceMs ? 0 : Number.POSITIVE_INFINITY
    let slowest: Hold | undefined
    for (const each of holds) {
      if (!each.bytes || !isInPool(pool, each) || pool.byOwner.of(each.owner) <= share) continue
      if (each.readMs < limits.graceMs || each.slackMs > longestSlack || !each.arrival.isReading()) continue
      if (!slowest || each.slackMs < slowest.slackMs) slowest = each
    }
    return slowest
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
    hold(owner: string, places: PoolPlace[], arrival: Arrival): ByteHold {
      const start = { readMs: 0, slackMs: limits.graceMs, seenBytes: arrival.bytes(), seenAt: performance.now() }
      const hold: Hold = { owner, places, arrival, bytes: 0, ...start }
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

/** A late call means that this process did not read meanwhile, so at most the interval counts. */
function measure(hold: Hold, { watchMs, graceMs, bytesPerSecond }: ByteBudgetLimits) {
  const [now, bytes] = [performance.now(), hold.arrival.bytes()]
  const ms = hold.arrival.isReading() ? Math.min(now - hold.seenAt, watchMs) : 0
  hold.readMs += ms
  hold.slackMs = Math.min(graceMs, hold.slackMs - ms + ((bytes - hold.seenBytes) / bytesPerSecond) * SECOND)
  hold.seenAt = now
  hold.seenBytes = bytes
}
