import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCounts } from '../../../lib/fair/counts.ts'
import { PRIORITIES } from '../../outbox/streams/stream-of.ts'
import { CAPACITY as ALL_HELD, buildBatches, isTooMuchReady, limitsOf, nextToSend, roomFor as roomForOwners } from './capacity.ts'

const { transactional, bulk } = PRIORITIES
const { capacity: CAPACITY, worthwhile: WORTHWHILE } = limitsOf(transactional)
const emails = (projectId: string, count: number, priority: number = transactional) =>
  Array.from({ length: count }, () => ({ projectId, priority }))

/** Projects of one owner have the same first letter. */
const ownerOf = (projectId: string) => projectId[0]!
const countsOf = (projectIds: string[]) => {
  const { counts, change } = createCounts()
  for (const projectId of projectIds) change(projectId, 1)
  return counts
}
const roomFor = (priority: number, held: ReturnType<typeof emails>, hasMore: boolean) => {
  const ofPriority = held.filter((email) => email.priority === priority).map(({ projectId }) => projectId)
  return roomForOwners(priority, countsOf(ofPriority), { hasMore, ownerOf })
}

describe('room for a claim', () => {
  test('is three quarters of the capacity for a single owner, and a newcomer still gets some of the rest', () => {
    let held = emails('a', 0)
    for (let room = roomFor(transactional, held, false); room && !room.except.includes('a'); room = roomFor(transactional, held, false))
      held = [...held, ...emails('a', room.limit)]
    expect(held).toHaveLength(0.75 * CAPACITY)
    expect(roomFor(transactional, held, true)).toEqual({ limit: 8, except: ['a'] })
  })

  test('excludes an owner that would exceed half of the capacity beside another', () => {
    const most = CAPACITY / 2 - WORTHWHILE
    expect(roomFor(transactional, [...emails('a', most + 1), ...emails('b', 1)], true)).toEqual({ limit: WORTHWHILE, except: ['a'] })
    expect(roomFor(transactional, [...emails('a', most), ...emails('b', 1)], true)).toEqual({ limit: WORTHWHILE, except: [] })
  })

  test('is the same for an owner of many projects as for one of a single project', () => {
    const many = Array.from({ length: 60 }, (_, n) => emails(`a${n}`, 1)).flat()
    expect(roomFor(transactional, [...many, ...emails('b', 1)], true)).toEqual({ limit: WORTHWHILE, except: ['a'] })
  })

  test('is not given for a small claim while emails are ready or being built', () => {
    expect(roomFor(transactional, [...emails('a', 5), ...emails('b', 5)], false)?.except).toEqual([])
    const many = Array.from({ length: 20 }, (_, n) => emails(String.fromCharCode(97 + n), 4)).flat()
    expect(roomFor(transactional, many, true)).toBeUndefined()
    expect(roomFor(transactional, many, false)).toEqual({ limit: 0.75 * CAPACITY - many.length, except: [] })
  })

  test('for bulk is its own, and a newcomer still gets some of it', () => {
    const { capacity } = limitsOf(bulk)
    expect(roomFor(bulk, emails('a', capacity, bulk), true)).toBeUndefined()
    expect(roomFor(bulk, emails('a', 0.75 * capacity, bulk), true)).toEqual({ limit: 8, except: ['a'] })
    expect(roomFor(transactional, emails('a', capacity, bulk), true)).toEqual(roomFor(transactional, [], true))
    expect(roomFor(bulk, emails('a', CAPACITY), true)).toEqual(roomFor(bulk, [], true))
  })

  const held = fc
    .array(fc.tuple(fc.constantFrom('a1', 'a2', 'b', 'c', 'd'), fc.constantFrom(transactional, bulk)), { maxLength: ALL_HELD })
    .map((all) => all.map(([projectId, priority]) => ({ projectId, priority })))

  test('never lets an owner exceed its share, and never excludes an owner with few emails from the reserve', () => {
    fc.assert(
      fc.property(held, fc.constantFrom(transactional, bulk), fc.boolean(), (all, priority, hasMore) => {
        const room = roomFor(priority, all, hasMore)
        if (!room) return
        const counted = all.filter((each) => each.priority === priority)
        const { capacity } = limitsOf(priority)
        expect(counted.length + room.limit).toBeLessThanOrEqual(capacity)
        for (const owner of new Set(counted.map((each) => ownerOf(each.projectId)))) {
          const own = counted.filter((each) => ownerOf(each.projectId) === owner).length
          if (room.except.includes(owner)) expect(own).toBeGreaterThanOrEqual(8)
          else if (own < counted.length && own >= 8) expect(own + room.limit).toBeLessThanOrEqual(capacity / 2)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('batches', () => {
  test('of a project with many emails are built one after the other; small projects share theirs', () => {
    const claim = [...emails('a', 98), ...emails('b', 1), ...emails('c', 5), ...emails('d', 6)]
    const rows = buildBatches(claim).map((row) => row.map((batch) => [...new Set(batch.map(({ projectId }) => projectId)), batch.length]))
    expect(rows).toEqual([
      [
        ['a', 48],
        ['a', 48],
        ['a', 2],
      ],
      [['d', 6]],
      [['b', 'c', 6]],
    ])
  })

  test('are few when many projects have one email each', () => {
    const claim = Array.from({ length: 108 }, (_, n) => emails(`p${n}`, 1)).flat()
    expect(buildBatches(claim).map((row) => row.map((batch) => batch.length))).toEqual([[48], [48], [12]])
  })
})

describe('ready messages', () => {
  const MB = 1024 * 1024
  const readyMessage = (projectId: string, megabytes: number) => ({
    email: { projectId, priority: 0 },
    outgoing: { message: new Uint8Array(megabytes * MB) },
  })

  const isTooMuch = (ready: ReturnType<typeof readyMessage>[], batch: ReturnType<typeof emails>, isLarge = false) =>
    isTooMuchReady(ready, { batch, ownerOf, isLarge })

  test('hold up the owner they belong to, and no other', () => {
    expect(isTooMuch([readyMessage('a', 33)], emails('a', 3))).toBe(true)
    expect(isTooMuch([readyMessage('a', 31)], emails('a', 3))).toBe(false)
    expect(isTooMuch([readyMessage('a1', 17), readyMessage('a2', 16)], emails('a3', 3))).toBe(true)
    expect(isTooMuch([readyMessage('a', 32), readyMessage('b', 33)], emails('a', 3))).toBe(true)
    expect(isTooMuch([readyMessage('a', 32), readyMessage('b', 33)], emails('c', 3))).toBe(false)
    expect(isTooMuch([readyMessage('a', 33)], [...emails('a', 3), ...emails('b', 1)])).toBe(false)
  })

  test('hold up every owner of a large message while there is no room', () => {
    expect(isTooMuch([readyMessage('a', 32), readyMessage('b', 33)], emails('c', 1), true)).toBe(true)
    expect(isTooMuch([readyMessage('a', 32), readyMessage('b', 32)], emails('c', 1), true)).toBe(false)
  })

  test('are sent in turn: first those of the owner with the fewest on the wire, and of its project with the fewest', () => {
    const next = (ready: string[], wire: string[], maySend = (_: { projectId: string }, own: number) => own < 3) =>
      nextToSend(
        ready.map((projectId) => ({ email: { projectId, priority: transactional } })),
        { onWire: countsOf(wire), ownerOf, maySend },
      )
    expect(next(['a', 'a', 'b'], [])).toBe(0)
    expect(next(['a', 'a', 'b'], ['a'])).toBe(2)
    expect(next(['a', 'a', 'b'], ['a', 'b', 'b'])).toBe(0)
    expect(next(['a1', 'a1', 'a2'], ['a1'])).toBe(2)
    expect(next(['a1', 'a2', 'b'], ['a3', 'b'])).toBe(0)
    expect(next(['a1', 'a2'], ['a1', 'a2', 'a3'])).toBe(-1)
    expect(next(['a', 'b'], ['b'], ({ projectId }) => projectId === 'b')).toBe(1)
  })
})
