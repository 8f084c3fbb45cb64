import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PRIORITIES } from '../outbox/stream-of.ts'
import { BULK_SHARE, buildBatches, CAPACITY, isTooMuchReady, nextInTurn, roomFor, WORTHWHILE } from './capacity.ts'

const { transactional, bulk } = PRIORITIES
const emails = (projectId: string, count: number, priority: number = transactional) =>
  Array.from({ length: count }, () => ({ projectId, priority }))

describe('room for a claim', () => {
  test('is three quarters of the capacity for a single project, and a newcomer still gets some of the rest', () => {
    let held = emails('a', 0)
    for (let room = roomFor(transactional, held, false); room && !room.except.includes('a'); room = roomFor(transactional, held, false))
      held = [...held, ...emails('a', room.limit)]
    expect(held).toHaveLength(0.75 * CAPACITY)
    expect(roomFor(transactional, held, true)).toEqual({ limit: 8, except: ['a'] })
  })

  test('excludes a project that would exceed half of the capacity beside another', () => {
    expect(roomFor(transactional, [...emails('a', 33), ...emails('b', 1)], true)).toEqual({ limit: WORTHWHILE, except: ['a'] })
    expect(roomFor(transactional, [...emails('a', 32), ...emails('b', 1)], true)).toEqual({ limit: WORTHWHILE, except: [] })
  })

  test('is not given for a small claim while emails are ready or being built', () => {
    expect(roomFor(transactional, [...emails('a', 5), ...emails('b', 5)], false)?.except).toEqual([])
    const many = Array.from({ length: 20 }, (_, n) => emails(`p${n}`, 4)).flat()
    expect(roomFor(transactional, many, true)).toBeUndefined()
    expect(roomFor(transactional, many, false)).toEqual({ limit: 16, except: [] })
  })

  test('for bulk ends at its share, and a newcomer still gets some of that', () => {
    const share = Math.floor(CAPACITY * BULK_SHARE)
    expect(roomFor(bulk, emails('a', share, bulk), true)).toBeUndefined()
    expect(roomFor(bulk, emails('a', share - 22, bulk), true)).toEqual({ limit: 8, except: ['a'] })
    expect(roomFor(transactional, emails('a', share, bulk), true)?.limit).toBeGreaterThan(0)
    expect(roomFor(bulk, emails('a', CAPACITY), true)).toBeUndefined()
  })

  const held = fc
    .array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom(transactional, bulk)), { maxLength: CAPACITY })
    .map((all) => all.map(([projectId, priority]) => ({ projectId, priority })))

  test('never lets a project exceed its share, and never excludes a project with few emails from the reserve', () => {
    fc.assert(
      fc.property(held, fc.constantFrom(transactional, bulk), fc.boolean(), (all, priority, hasMore) => {
        const room = roomFor(priority, all, hasMore)
        if (!room) return
        const counted = priority === bulk ? all.filter((each) => each.priority === bulk) : all
        const capacity = priority === bulk ? Math.floor(CAPACITY * BULK_SHARE) : CAPACITY
        expect(all.length + room.limit).toBeLessThanOrEqual(CAPACITY)
        expect(counted.length + room.limit).toBeLessThanOrEqual(capacity)
        for (const projectId of new Set(counted.map((each) => each.projectId))) {
          const own = counted.filter((each) => each.projectId === projectId).length
          if (room.except.includes(projectId)) expect(own).toBeGreaterThanOrEqual(8)
          else if (own < counted.length && own >= 8) expect(own + room.limit).toBeLessThanOrEqual(capacity / 2)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('batches', () => {
  test('of a project with many emails are built one after the other; small projects share theirs', () => {
    const claim = [...emails('a', 50), ...emails('b', 1), ...emails('c', 5), ...emails('d', 6)]
    const rows = buildBatches(claim).map((row) => row.map((batch) => [...new Set(batch.map(({ projectId }) => projectId)), batch.length]))
    expect(rows).toEqual([
      [
        ['a', 24],
        ['a', 24],
        ['a', 2],
      ],
      [['d', 6]],
      [['b', 'c', 6]],
    ])
  })

  test('are few when many projects have one email each', () => {
    const claim = Array.from({ length: 60 }, (_, n) => emails(`p${n}`, 1)).flat()
    expect(buildBatches(claim).map((row) => row.map((batch) => batch.length))).toEqual([[24], [24], [12]])
  })
})

describe('ready messages', () => {
  const MB = 1024 * 1024
  const readyMessage = (projectId: string, megabytes: number) => ({
    email: { projectId, priority: 0 },
    outgoing: { message: new Uint8Array(megabytes * MB) },
  })

  test('hold up the project they belong to, and no other', () => {
    expect(isTooMuchReady([readyMessage('a', 17)], emails('a', 3))).toBe(true)
    expect(isTooMuchReady([readyMessage('a', 15)], emails('a', 3))).toBe(false)
    expect(isTooMuchReady([readyMessage('a', 16), readyMessage('b', 17)], emails('a', 3))).toBe(true)
    expect(isTooMuchReady([readyMessage('a', 16), readyMessage('b', 17)], emails('c', 3))).toBe(false)
    expect(isTooMuchReady([readyMessage('a', 17)], [...emails('a', 3), ...emails('b', 1)])).toBe(false)
  })

  test('are sent in turn: a project with half of the slots lets the others pass', () => {
    const ready = [...emails('a', 2), ...emails('b', 1)].map((email) => ({ email }))
    expect(nextInTurn(ready, emails('a', 7), 16)).toBe(0)
    expect(nextInTurn(ready, emails('a', 8), 16)).toBe(2)
    expect(nextInTurn(ready.slice(0, 2), emails('a', 8), 16)).toBe(0)
  })
})
