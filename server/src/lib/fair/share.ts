import type { Held } from './counts.ts'

/**
 * Something that owners share: slots for work, emails in hand, bytes in memory. The rules are the same for all of them. An owner has a share,
 * half of the pool unless given: while others wait it gets nothing beyond that. Who holds the least is next. A newcomer starts at once.
 */
export type SharedPool = {
  size: number
  /** The most that one owner may hold while others wait. */
  share?: number
  /** The most that one owner may hold while no other waits: everything, unless given. */
  alone?: number
  /** Slots that an owner beyond its share leaves free for newcomers. */
  reserve?: number
  /** Slots beyond the size, for owners that hold none. */
  extra?: number
}

type Request = { othersWait?: boolean; amount?: number }

/** An equal share for each of some owners. */
export const equalShare = (size: number, owners: number) => size / Math.max(1, owners)

/** Everything fits into an empty pool: single pieces have limits of their own. */
export const fits = (held: Held, size: number, amount = 1) => held.sum() === 0 || held.sum() + amount <= size

/** An owner that holds nothing is within any share. */
export const isWithin = (held: Held, owner: string, share: number, amount = 1) => held.of(owner) === 0 || held.of(owner) + amount <= share

/** Whether an owner may take more of a pool. */
export function mayTake(
  held: Held,
  owner: string,
  { size, share = Math.max(1, Math.floor(size / 2)), alone = size, reserve = 0, extra = 0 }: SharedPool,
  { othersWait = true, amount = 1 }: Request = {},
) {
  if (held.of(owner) === 0) return fits(held, size + extra, amount)
  if (!fits(held, size, amount)) return false
  if (isWithin(held, owner, share, amount)) return true
  return !othersWait && isWithin(held, owner, alone, amount) && fits(held, size - reserve, amount)
}

/** Owners that may not take more now: a claim leaves their work out. */
export const excludedOwners = (held: Held, pool: SharedPool, request?: Request) =>
  [...held.counts.keys()].filter((owner) => !mayTake(held, owner, pool, request))

/**
 * The first with the lowest rank among those that may start. Ranks are compared number by number, such as what the owner holds, then what its
 * project holds; nothing is below zero. Without a rank it is left out.
 */
export function chooseNext<Item>(
  waiting: Iterable<Item>,
  rankOf: (item: Item) => number[] | undefined,
  mayStart: (item: Item) => boolean,
): Item | undefined {
  let best: { item: Item; rank: number[] } | undefined
  for (const item of waiting) {
    const rank = rankOf(item)
    if (!rank || (best && !isLower(rank, best.rank)) || !mayStart(item)) continue
    best = { item, rank }
    if (rank.every((each) => each === 0)) break
  }
  return best?.item
}

function isLower(rank: number[], other: number[]) {
  const at = rank.findIndex((each, index) => each !== other[index])
  return at >= 0 && rank[at]! < other[at]!
}
