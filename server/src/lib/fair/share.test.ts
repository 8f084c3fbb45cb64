import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCounts } from './counts.ts'
import { chooseNext, excludedOwners, mayTake, type SharedPool } from './share.ts'

type Work = { owner: string; amount: number }

/** Pools of every kind: slots and bytes, with and without a share of their own, a reserve, and slots beyond the size. */
const pools: fc.Arbitrary<SharedPool> = fc.integer({ min: 2, max: 9 }).chain((size): fc.Arbitrary<SharedPool> => {
  const share = fc.integer({ min: 1, max: size })
  return fc.oneof<fc.Arbitrary<SharedPool>[]>(
    fc.record({ size: fc.constant(size), reserve: fc.nat(1), extra: fc.nat(2) }),
    share.map((each): SharedPool => ({ size, share: each, alone: each })),
    share.map((each): SharedPool => ({ size, share: each })),
  )
})
const scenes = fc.record({
  pool: pools,
  /** The amounts that each owner always wants more of. */
  owners: fc.array(fc.array(fc.integer({ min: 1, max: 2 }), { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 6 }),
  isFewestFirst: fc.boolean(),
  ends: fc.array(fc.nat(), { maxLength: 60 }),
})

/** A pool in use, with the order of those that wait: what an owner holds, if wanted, and then how long ago it started. */
function start({ pool, isFewestFirst = true }: { pool: SharedPool; isFewestFirst?: boolean }) {
  const held = createCounts()
  const lastStart = new Map<string, number>()
  const running: Work[] = []
  let starts = 0
  return {
    held,
    choose(waiting: Work[]) {
      const othersWait = new Set(waiting.map(({ owner }) => owner)).size > 1
      const rankOf = ({ owner }: Work) => [...(isFewestFirst ? [held.of(owner)] : []), lastStart.get(owner) ?? 0]
      return chooseNext(waiting, rankOf, ({ owner, amount }) => mayTake(held, owner, pool, { othersWait, amount }))
    },
    take(work: Work) {
      lastStart.set(work.owner, ++starts)
      held.change(work.owner, work.amount)
      running.push(work)
    },
    end(at: number) {
      const [ended] = running.splice(at % Math.max(1, running.length), 1)
      if (ended) held.change(ended.owner, -ended.amount)
    },
  }
}

test('whatever waits and ends, shares are kept, a newcomer starts at once, and no owner starves', () => {
  fc.assert(
    fc.property(scenes, ({ pool, owners, isFewestFirst, ends }) => {
      const { held, choose, take, end } = start({ pool, isFewestFirst })
      const waiting = owners.flatMap((amounts, owner) => amounts.map((amount) => ({ owner: `o${owner}`, amount })))
      const { size, alone = size, reserve = 0, extra = 0 } = pool
      const share = pool.share ?? Math.max(1, Math.floor(size / 2))
      const othersWait = owners.length > 1
      const couldStart = (owner: string) =>
        waiting.some((each) => each.owner === owner && mayTake(held, owner, pool, { othersWait, amount: each.amount }))
      /** By owner that holds nothing: the owners that started before it since its last start, though it could have started. */
      const passedBy = new Map<string, string[]>()
      for (const at of [...ends, 0]) {
        for (let next = choose(waiting); next; next = choose(waiting)) {
          const { owner, amount } = next
          const [own, all] = [held.of(owner) && held.of(owner) + amount, held.sum() && held.sum() + amount]
          expect(all).toBeLessThanOrEqual(own ? size : size + extra)
          expect(own).toBeLessThanOrEqual(othersWait ? share : Math.max(alone, share))
          if (own > share) expect(all).toBeLessThanOrEqual(size - reserve)
          expect(excludedOwners(held, pool, { othersWait, amount })).not.toContain(owner)
          for (const other of new Set(waiting.map((each) => each.owner))) {
            if (other === owner || held.of(other) || !couldStart(other)) continue
            const passed = passedBy.get(other) ?? []
            expect(passed).not.toContain(owner)
            passedBy.set(other, [...passed, owner])
          }
          passedBy.delete(owner)
          take(next)
        }
        for (const { owner, amount } of waiting) if (!held.of(owner)) expect(held.sum() + amount).toBeGreaterThan(size + extra)
        end(at)
      }
    }),
    { numRuns: 100 },
  )
})

describe('a newcomer', () => {
  const fill = (pool: SharedPool) => {
    const bench = start({ pool })
    const work = { owner: 'ann', amount: 1 }
    while (bench.choose([work])) bench.take(work)
    return bench
  }

  test.each([
    ['of a pool with a reserve', { size: 4, reserve: 1 }, 3],
    ['of a pool with slots beyond its size', { size: 4, extra: 1 }, 4],
    ['of a pool with a limit for each owner', { size: 4, share: 2, alone: 2 }, 2],
  ])('%s starts at once, whatever an owner alone has taken', (_, pool, taken) => {
    const { held, choose } = fill(pool)
    expect(held.of('ann')).toBe(taken)
    expect(choose([{ owner: 'bob', amount: 1 }])).toEqual({ owner: 'bob', amount: 1 })
  })

  test('gets the next free slot of any other pool', () => {
    const { choose, end } = fill({ size: 4 })
    const waiting = ['ann', 'bob'].map((owner) => ({ owner, amount: 1 }))
    expect(choose(waiting)).toBeUndefined()
    end(0)
    expect(choose(waiting)?.owner).toBe('bob')
  })
})

test('a piece of any size fits into an empty pool', () => {
  const held = createCounts()
  expect(mayTake(held, 'ann', { size: 4 }, { amount: 9 })).toBe(true)
  held.change('ann', 9)
  expect(mayTake(held, 'bob', { size: 4 })).toBe(false)
})
