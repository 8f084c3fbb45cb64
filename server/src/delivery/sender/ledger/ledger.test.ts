import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PRIORITIES } from '../../outbox/streams/stream-of.ts'
import { CAPACITY as ALL_HELD, limitsOf } from '../limits/capacity.ts'
import { CONNECTIONS, createSlots } from '../limits/slots.ts'
import { createLedger, type LedgerEmail } from './ledger.ts'
import { maxLingering } from './lingering.ts'

const { transactional, bulk } = PRIORITIES
const { capacity: CAPACITY, worthwhile: WORTHWHILE } = limitsOf(transactional)
const CONCURRENCY = createSlots().most
const MAX_LINGERING = maxLingering(CONCURRENCY)

let lastId = 0
const emails = (count: number, projectId = 'a', priority: number = transactional, streamId = projectId): LedgerEmail[] =>
  Array.from({ length: count }, () => ({ id: `email ${++lastId}`, projectId, priority, streamId }))
/** Projects of one owner have the same name before the dot. */
const ownerOf = (projectId: string) => projectId.split('.')[0]!
/** Nothing is silent. */
const ALL = { silent: [], trying: [] }
const built = (all: LedgerEmail[]) => all.map((email) => ({ email, outgoing: { message: new Uint8Array(1) } }))

function start() {
  const ledger = createLedger<ReturnType<typeof built>[number]>(ownerOf, createSlots())
  const addReady = (all: LedgerEmail[], priority: number = transactional) => {
    ledger.startBuilding(priority, all)
    ledger.addReady(priority, all, built(all))
  }
  return {
    ...ledger,
    addReady,
    /** Takes slots until no email is ready or no slot is free. */
    sendAll() {
      const sent: LedgerEmail[] = []
      for (let next = ledger.takeNext(); next; next = ledger.takeNext()) {
        ledger.takeSlot(next.email)
        sent.push(next.email)
      }
      return sent
    },
    finishBuild: ledger.addReady,
  }
}

test('messages count until they have left', () => {
  const { startBuilding, finishBuild, sendAll, freeSlot, isTooMuchReady } = start()
  const [large, next] = emails(2) as [LedgerEmail, LedgerEmail]
  startBuilding(transactional, [large])
  finishBuild(transactional, [large], [{ email: large, outgoing: { message: new Uint8Array(33 * 1024 * 1024) } }])
  expect(isTooMuchReady([next])).toBe(true)
  expect(sendAll()).toEqual([large])
  expect(isTooMuchReady([next])).toBe(true)
  freeSlot(large)
  expect(isTooMuchReady([next])).toBe(false)
})

describe('held emails', () => {
  test('are those from the claim to the release; one settled during the build is released with it', () => {
    const { startBuilding, finishBuild, release, heldIds } = start()
    const [sent, refused] = emails(2) as [LedgerEmail, LedgerEmail]
    startBuilding(transactional, [sent, refused])
    expect(heldIds()).toEqual([sent.id, refused.id])
    finishBuild(transactional, [sent, refused], built([sent]))
    expect(heldIds()).toEqual([sent.id])
    release(sent)
    expect(heldIds()).toEqual([])
  })

  test('stay held when an earlier attempt of the same email ends', () => {
    const { hold, release, heldIds } = start()
    const [earlier] = emails(1) as [LedgerEmail]
    const later = { ...earlier }
    hold(earlier)
    hold(later)
    release(earlier)
    expect(heldIds()).toEqual([later.id])
    release(later)
    expect(heldIds()).toEqual([])
  })

  test('of an abandoned build are released, and no longer count as being built', () => {
    const { startBuilding, abandonBuild, heldIds, roomFor } = start()
    const many = Array.from({ length: 20 }, (_, index) => emails(4, `project ${index}`)).flat()
    startBuilding(transactional, many)
    expect(roomFor(transactional)).toBeUndefined()
    abandonBuild(transactional, new Set(many))
    expect(heldIds()).toEqual([])
    expect(roomFor(transactional)).toEqual({ limit: CAPACITY / 2, except: [], ...ALL })
  })

  test('that linger or are handed over leave the worker idle; others do not', () => {
    const { hold, linger, handOver, isIdle } = start()
    const [slow, marked, waiting] = emails(3) as [LedgerEmail, LedgerEmail, LedgerEmail]
    expect(isIdle()).toBe(true)
    hold(slow)
    hold(marked)
    expect(isIdle()).toBe(false)
    linger(slow)
    handOver(marked)
    expect(isIdle()).toBe(true)
    hold(waiting)
    expect(isIdle()).toBe(false)
  })

  test('are released on shutdown, except those handed over', () => {
    const { hold, handOver, endHandOver, releaseAllButHandedOver, heldIds, countHandedOver } = start()
    const [marked, withdrawn, waiting] = emails(3) as [LedgerEmail, LedgerEmail, LedgerEmail]
    for (const email of [marked, withdrawn, waiting]) hold(email)
    handOver(marked)
    handOver(withdrawn)
    endHandOver(withdrawn)
    releaseAllButHandedOver()
    expect(heldIds()).toEqual([marked.id])
    expect(countHandedOver()).toBe(1)
  })
})

describe('room for a claim', () => {
  test('is not used up by emails that linger, and is again once they have their reply', () => {
    const { hold, linger, roomFor, freeSlot } = start()
    const all = Array.from({ length: CAPACITY / 2 }, (_, index) => emails(2, `project ${index}`)).flat()
    for (const email of all) hold(email)
    expect(roomFor(transactional)).toBeUndefined()
    for (const email of all.slice(0, 64)) linger(email)
    expect(roomFor(transactional)).toMatchObject({ limit: 32, except: [] })
    for (const email of all) freeSlot(email)
    expect(roomFor(transactional)).toBeUndefined()
  })

  test('is given for a small claim only when nothing of that priority is ready or being built', () => {
    const { addReady, hold, roomFor } = start()
    for (let index = 0; index < 20; index++) for (const email of emails(4, `project ${index}`)) hold(email)
    const limit = 0.75 * CAPACITY - 80
    expect(limit).toBeLessThan(WORTHWHILE)
    expect(roomFor(transactional)).toEqual({ limit, except: [], ...ALL })
    addReady(emails(1, 'another', bulk), bulk)
    expect(roomFor(transactional)).toEqual({ limit, except: [], ...ALL })
    addReady(emails(1, 'another'))
    expect(roomFor(transactional)).toBeUndefined()
  })
})

describe('slots on the wire', () => {
  test('are limited, and bulk has a share of them', () => {
    const { addReady, sendAll, takeNext, freeSlot } = start()
    addReady(emails(CONCURRENCY, 'a', bulk), bulk)
    const sent = sendAll()
    expect(sent).toHaveLength(CONNECTIONS)
    addReady(emails(CONCURRENCY))
    expect(sendAll()).toHaveLength(CONCURRENCY - sent.length)
    expect(takeNext()).toBeUndefined()
    freeSlot(sent[0]!)
    expect(sendAll()).toMatchObject([{ priority: transactional }])
  })

  test('go to transactional emails first, and in turn to the owner with the fewest', () => {
    const { addReady, sendAll, takeNext } = start()
    addReady(emails(1, 'campaign', bulk), bulk)
    addReady(emails(CONCURRENCY / 2, 'busy'))
    sendAll()
    addReady(emails(2, 'busy'))
    addReady(emails(1, 'other'))
    expect(takeNext()?.email.projectId).toBe('other')
    expect(takeNext()?.email.projectId).toBe('busy')
  })

  test('go to a preferred email, or to the first when none is', () => {
    const { addReady, takeNext } = start()
    addReady([...emails(2, 'a'), ...emails(1, 'b')])
    const preferred = ({ projectId }: LedgerEmail) => projectId === 'b'
    expect(takeNext({ preferred })?.email.projectId).toBe('b')
    expect(takeNext({ preferred })?.email.projectId).toBe('a')
  })

  test('are not taken when the pace does not allow it, and the email stays ready', () => {
    const { addReady, takeNext } = start()
    addReady(emails(1))
    expect(takeNext({ mayTake: () => false })).toBeUndefined()
    expect(takeNext({ mayTake: () => true })).toBeDefined()
  })

  test('beyond all others are for owners that have none: one for each priority', () => {
    const { addReady, sendAll } = start()
    addReady(emails(CONCURRENCY + 1, 'busy'))
    expect(sendAll()).toHaveLength(CONCURRENCY)
    addReady(emails(1, 'busy.2'))
    addReady(emails(2, 'campaign', bulk), bulk)
    addReady(emails(1, 'campaign.2', bulk), bulk)
    expect(sendAll().map(({ projectId }) => projectId)).toEqual(['campaign'])
    addReady(emails(1, 'another campaign', bulk), bulk)
    expect(sendAll()).toEqual([])
    addReady([...emails(2, 'reset'), ...emails(1, 'another')])
    expect(sendAll().map(({ projectId }) => projectId)).toEqual(['reset'])
  })

  test('beyond the share of bulk are for owners that have none', () => {
    const { addReady, sendAll } = start()
    addReady(emails(CONCURRENCY, 'busy', bulk), bulk)
    const most = sendAll().length
    expect(most).toBeLessThan(CONCURRENCY)
    addReady([...emails(2, 'small', bulk), ...emails(1, 'another', bulk)], bulk)
    expect(sendAll().map(({ projectId }) => projectId)).toEqual(['small'])
  })
})

describe('emails without a reply', () => {
  /** Sends what is ready, and lets it linger, until nothing is sent any more. Returns how much was. */
  function lingerAll(ledger: ReturnType<typeof start>, refill: () => LedgerEmail[]) {
    let count = 0
    for (let round = 0; round < 2 * MAX_LINGERING; round++) {
      ledger.addReady(refill())
      const sent = ledger.sendAll()
      for (const email of sent) ledger.linger(email)
      count += sent.length
      if (!sent.length) return count
    }
    return count
  }

  test('give up their slots; the next of their stream are sent one at a time, up to half of what the owner may have', () => {
    const ledger = start()
    ledger.addReady(emails(CONCURRENCY))
    for (const email of ledger.sendAll()) expect(ledger.linger(email)).toBe(true)
    ledger.addReady(emails(3))
    const [next, ...more] = ledger.sendAll()
    expect([more, ledger.isSilent(next!)]).toEqual([[], true])
    ledger.linger(next!)
    expect(lingerAll(ledger, () => emails(1))).toBe(MAX_LINGERING / 4 - CONCURRENCY - 1)
  })

  test('leave all slots but one to other owners', () => {
    const ledger = start()
    ledger.addReady(emails(CONCURRENCY))
    for (const email of ledger.sendAll()) ledger.linger(email)
    ledger.addReady(emails(1))
    ledger.addReady(emails(CONCURRENCY + 5, 'b'))
    expect(ledger.sendAll().map(({ projectId }) => projectId)).toEqual(['a', ...Array(CONCURRENCY - 1).fill('b')])
  })

  test('do not hold up other streams of their owner, as long as it has few of them', () => {
    const ledger = start()
    ledger.addReady(emails(3, 'a', bulk, 'campaign'), bulk)
    for (const email of ledger.sendAll()) ledger.linger(email)
    ledger.addReady(emails(CONCURRENCY, 'a'))
    expect(ledger.sendAll()).toHaveLength(CONCURRENCY - 3)
  })

  test('of an owner are limited, however many projects and streams it has', () => {
    const ledger = start()
    let project = 0
    expect(lingerAll(ledger, () => Array.from({ length: CONCURRENCY }, () => emails(1, `a.${++project}`)).flat())).toBe(MAX_LINGERING / 2)
    expect(ledger.roomFor(transactional)).toMatchObject({ except: ['a'] })
    ledger.addReady(emails(CONCURRENCY, 'b'))
    expect(ledger.sendAll()).toHaveLength(CONCURRENCY)
  })

  test('of several owners are limited together, and leave room for one more owner', () => {
    const ledger = start()
    const counts = ['a', 'b', 'c', 'd'].map((owner) => lingerAll(ledger, () => emails(1, owner)))
    expect(counts).toEqual([2, 3, 4, 5].map((shares) => Math.floor(Math.floor(MAX_LINGERING / shares) / 2)))
  })

  test('keep their slots while too many linger', () => {
    const ledger = start()
    for (const email of emails(MAX_LINGERING, 'b')) ledger.linger(email)
    ledger.addReady(emails(CONCURRENCY))
    const sent = ledger.sendAll()
    expect(sent.map((email) => ledger.linger(email))).toEqual(sent.map(() => false))
    ledger.addReady(emails(1))
    expect(ledger.sendAll()).toEqual([])
    ledger.addReady(emails(2, 'c'))
    expect(ledger.sendAll()).toHaveLength(1)
  })

  test('let the others of their stream go when one gets a reply, or when the last of them has ended', () => {
    for (const hasReply of [true, false]) {
      const ledger = start()
      ledger.addReady(emails(2))
      const [first, last] = ledger.sendAll() as [LedgerEmail, LedgerEmail]
      ledger.linger(first)
      ledger.linger(last)
      ledger.freeSlot(first, hasReply)
      expect(ledger.isSilent(last)).toBe(!hasReply)
      if (!hasReply) ledger.freeSlot(last)
      ledger.addReady(emails(CONCURRENCY))
      expect(ledger.sendAll()).toHaveLength(hasReply ? CONCURRENCY - 1 : CONCURRENCY)
    }
  })

  test('make the ready emails of their stream be given back, and those that are built later but one', () => {
    const ledger = start()
    const others = emails(2, 'b')
    const building = emails(4)
    ledger.startBuilding(transactional, building)
    ledger.addReady(emails(CONCURRENCY + 9))
    ledger.addReady(others)
    const sent = ledger.sendAll()
    for (const email of sent.filter(({ projectId }) => projectId === 'a')) ledger.linger(email)
    ledger.finishBuild(transactional, building, built(building))
    expect(new Set(ledger.heldIds())).toEqual(new Set([building[0]!, ...sent].map(({ id }) => id)))
  })

  test('exclude their streams from claims, except for one email of one stream of the owner in turn', () => {
    const ledger = start()
    for (const stream of ['x', 'y', 'z']) ledger.addReady(emails(1, 'a', bulk, stream), bulk)
    for (const email of ledger.sendAll()) ledger.linger(email)
    expect(ledger.roomFor(transactional)).toMatchObject({ except: [], ...ALL })
    const tried = Array.from({ length: 4 }, () => ledger.roomFor(bulk)!)
    expect(tried.map(({ trying }) => trying)).toEqual([['x'], ['y'], ['z'], ['x']])
    for (const { silent } of tried) expect(silent.toSorted()).toEqual(['x', 'y', 'z'])
    ledger.startBuilding(bulk, emails(1, 'a', bulk, 'y'))
    expect(ledger.roomFor(bulk)!.trying).toEqual([])
  })
})

test('in any order of steps, the emails on the wire, in use and lingering stay within their limits, and none is forgotten', () => {
  const step = fc.record({
    kind: fc.constantFrom('claim', 'build', 'send', 'linger', 'settle'),
    priority: fc.constantFrom(transactional, bulk),
    projectId: fc.constantFrom('a', 'b.1', 'b.2', 'c'),
    pick: fc.nat(),
  })
  const isBulk = ({ priority }: LedgerEmail) => priority === bulk
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const ledger = start()
      const building: LedgerEmail[] = []
      let onWire: LedgerEmail[] = []
      let lingering: LedgerEmail[] = []
      const without = (all: LedgerEmail[], email: LedgerEmail) => all.filter((each) => each !== email)
      const apply = {
        claim(priority: number, projectId: string) {
          const room = ledger.roomFor(priority)
          if (!room || room.except.includes(ownerOf(projectId))) return
          const isSilent = room.silent.includes(projectId)
          if (isSilent && !room.trying.includes(projectId)) return
          const claimed = emails(isSilent ? 1 : room.limit, projectId, priority)
          ledger.startBuilding(priority, claimed)
          building.push(...claimed)
        },
        build(priority: number, _: string, pick: number) {
          const done = building.filter((email) => email.priority === priority).slice(0, pick % 30)
          for (const email of done) building.splice(building.indexOf(email), 1)
          ledger.finishBuild(priority, done, built(done))
        },
        send: () => onWire.push(...ledger.sendAll()),
        linger(_: number, __: string, pick: number) {
          const email = onWire[pick % (onWire.length || 1)]
          if (!email || !ledger.linger(email)) return
          onWire = without(onWire, email)
          lingering.push(email)
        },
        settle(_: number, __: string, pick: number) {
          const email = [...onWire, ...lingering][pick % (onWire.length + lingering.length || 1)]
          if (!email) return
          ledger.freeSlot(email, pick % 2 === 0)
          ledger.release(email)
          onWire = without(onWire, email)
          lingering = without(lingering, email)
        },
      }
      for (const { kind, priority, projectId, pick } of steps) {
        apply[kind](priority, projectId, pick)
        expect(onWire.length).toBeLessThanOrEqual(CONCURRENCY + 2)
        expect(onWire.filter(isBulk).length).toBeLessThanOrEqual(CONNECTIONS + 1)
        expect(lingering.length).toBeLessThanOrEqual(MAX_LINGERING)
        expect(ledger.heldIds().length - lingering.length).toBeLessThanOrEqual(ALL_HELD)
      }
      // Whatever happened: once everything on the wire has ended, everything in hand is sent, and nothing is left.
      for (let round = 0; round < 2 * ALL_HELD && ledger.heldIds().length; round++) {
        apply.build(transactional, '', 29)
        apply.build(bulk, '', 29)
        apply.send()
        while (onWire.length + lingering.length) apply.settle(0, '', 1)
      }
      expect(ledger.heldIds()).toEqual([])
      for (const priority of [transactional, bulk]) expect(ledger.roomFor(priority)).toEqual(start().roomFor(priority))
    }),
    { numRuns: 200 },
  )
})
