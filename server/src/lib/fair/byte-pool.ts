import { createCounts } from './counts.ts'
import { equalShare, fits, isWithin } from './share.ts'

/** Bytes that may be held at once, with what each owner holds of them. */
export type BytePool = { size: number; held: ReturnType<typeof createCounts> }
/** `share`: the part of the pool that one owner may hold, however little the others need. */
export type PoolShare = { pool: BytePool; share: number }
type Member = { owner: string; shares: PoolShare[] }
/** Bytes that a body or message wants of all its pools. */
export type ByteClaim<Hold extends Member = Member> = { hold: Hold; bytes: number }
type Waiting = ReadonlySet<ByteClaim>

export const createBytePool = (size: number): BytePool => ({ size, held: createCounts() })

export const isInPool = (pool: BytePool, { shares }: Member) => shares.some((each) => each.pool === pool)

export const isWithinShares = ({ hold, bytes }: ByteClaim) =>
  hold.shares.every(({ pool, share }) => isWithin(pool.held, hold.owner, pool.size * share, bytes))

/** An equal share for each owner that holds bytes of the pool or wants some, at most half. */
export function equalShareOf(pool: BytePool, wanting: Iterable<ByteClaim>) {
  const owners = new Set(pool.held.counts.keys())
  for (const { hold } of wanting) if (isInPool(pool, hold)) owners.add(hold.owner)
  return equalShare(pool.size, Math.max(2, owners.size))
}

/** Whether the owner of a claim would have more than an equal share. */
export const isBeyond = (pool: BytePool, claim: ByteClaim, waiting: Waiting) =>
  pool.held.of(claim.hold.owner) + claim.bytes > equalShareOf(pool, [...waiting, claim])

/** Whether another owner waits for bytes of its equal share. */
const isOwed = (pool: BytePool, owner: string, waiting: Waiting) =>
  [...waiting].some((other) => other.hold.owner !== owner && isInPool(pool, other.hold) && !isBeyond(pool, other, waiting))

/** The pool that has no bytes left for a claim, or none beyond an equal share, because they are owed to another owner. */
export const findLacking = (claim: ByteClaim, waiting: Waiting) =>
  claim.hold.shares.find(
    ({ pool }) =>
      !fits(pool.held, pool.size, claim.bytes) ||
      (waiting.size > 0 && isBeyond(pool, claim, waiting) && isOwed(pool, claim.hold.owner, waiting)),
  )?.pool
