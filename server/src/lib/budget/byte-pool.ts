import { createCounts } from '../concurrency/counts.ts'

/** Bytes that may be held at once, with what each owner holds of them. */
export type BytePool = { size: number; held: number; byOwner: ReturnType<typeof createCounts> }
/** `share`: what one owner may hold of the pool, however little the others need. */
export type PoolPlace = { pool: BytePool; share: number }
export type PoolMember = { owner: string; places: PoolPlace[] }

export const createBytePool = (size: number): BytePool => ({ size, held: 0, byOwner: createCounts() })

export const isInPool = (pool: BytePool, { places }: PoolMember) => places.some((place) => place.pool === pool)

/** The pool that has no room for more bytes of a member. */
export const findFullPool = ({ places }: PoolMember, bytes: number) =>
  places.find(({ pool }) => pool.held > 0 && pool.held + bytes > pool.size)?.pool

export const exceedsOwnShare = ({ owner, places }: PoolMember, bytes: number) =>
  places.some(({ pool, share }) => pool.byOwner.of(owner) > 0 && pool.byOwner.of(owner) + bytes > pool.size * share)

/** An equal share for each owner that holds bytes of the pool or wants some, at most half. */
export function equalShareOf(pool: BytePool, wanting: PoolMember[]) {
  const owners = new Set(pool.byOwner.counts.keys())
  for (const member of wanting) if (isInPool(pool, member)) owners.add(member.owner)
  return pool.size / Math.max(2, owners.size)
}

export function changePools({ owner, places }: PoolMember, by: number) {
  for (const { pool } of places) {
    pool.held += by
    pool.byOwner.change(owner, by)
  }
}
