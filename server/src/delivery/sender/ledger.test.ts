import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PRIORITIES } from '../outbox/stream-of.ts'
import { BULK_SHARE, CAPACITY } from './capacity.ts'
import { CONCURRENCY, createLedger, type LedgerEmail, MAX_LINGERING } from './ledger.ts'

const { transactional, bulk } = PRIORITIES

let lastId = 0
const emails = (count: number, projectId = 'a', priority: number = transactional): LedgerEmail[] =>
  Array.from({ length: count }, () => ({ id: `email ${++lastId}`, projectId, priority }))
const built = (all: LedgerEmail[]) => all.map((email) => ({ email, outgoing: { message: new Uint8Array(1) } }))

function start() {
  const ledger = createLedger<ReturnType<typeof built>[number]>()
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
      while (ledger.hasNext()) {
        const { email } = ledger.takeNext()
        ledger.takeSlot(email)
        sent.push(email)
      }
      return sent
    },
    finishBuild: ledger.addReady,
  }
}

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

  test('of an abandoned build are released, and no longer count as being built', () => {
    const { startBuilding, abandonBuild, heldIds, roomFor } = start()
    const many = Array.from({ length: 20 }, (_, index) => emails(4, `project ${index}`)).flat()
    startBuilding(transactional, many)
    expect(roomFor(transactional)).toBeUndefined()
    abandonBuild(transactional, new Set(many))
    expect(heldIds()).toEqual([])
    expect(roomFor(transactional)).toEqual({ limit: CAPACITY / 2, except: [] })
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
    expect(roomFor(transactional)).toEqual({ limit: 32, except: [] })
    for (const email of all) freeSlot(email)
    expect(roomFor(transactional)).toBeUndefined()
  })

  test('is given for a small claim only when nothing of that priority is ready or being built', () => {
    const { addReady, hold, roomFor } = start()
    for (let index = 0; index < 20; index++) for (const email of emails(4, `project ${index}`)) hold(email)
    expect(roomFor(transactional)).toEqual({ limit: 16, except: [] })
    addReady(emails(1, 'another'), bulk)
    expect(roomFor(transactional)).toEqual({ limit: 15, except: [] })
    addReady(emails(1, 'another'))
    expect(roomFor(transactional)).toBeUndefined()
  })
})

describe('slots on the wire', () => {
  test('are limited, and bulk has a share of them', () => {
    const { addReady, sendAll, hasNext, freeSlot } = start()
    addReady(emails(CONCURRENCY, 'a', bulk), bulk)
    const sent = sendAll()
    expect(sent).toHaveLength(Math.ceil(CONCURRENCY * BULK_SHARE))
    addReady(emails(CONCURRENCY))
    expect(sendAll()).toHaveLength(CONCURRENCY - sent.length)
    expect(hasNext()).toBe(false)
    freeSlot(sent[0]!)
    expect(sendAll()).toMatchObject([{ priority: transactional }])
  })

  test('go to transactional emails first, and in turn to projects with less than half of them', () => {
    const { addReady, sendAll, takeNext } = start()
    addReady(emails(1, 'campaign', bulk), bulk)
    addReady(emails(CONCURRENCY / 2, 'busy'))
    sendAll()
    addReady(emails(2, 'busy'))
    addReady(emails(1, 'other'))
    expect(takeNext().email.projectId).toBe('other')
    expect(takeNext().email.projectId).toBe('busy')
  })

  test('go to a preferred email, or to the first when none is', () => {
    const { addReady, takeNext } = start()
    addReady([...emails(2, 'a'), ...emails(1, 'b')])
    expect(takeNext(({ projectId }) => projectId === 'b').email.projectId).toBe('b')
    expect(takeNext(({ projectId }) => projectId === 'b').email.projectId).toBe('a')
  })

  test('are given up by emails that linger, until too many do', () => {
    const { addReady, sendAll, linger, freeSlot } = start()
    for (let count = 0; count < MAX_LINGERING; count++) {
      addReady(emails(1))
      expect(linger(sendAll()[0]!)).toBe(true)
    }
    addReady(emails(CONCURRENCY + 1))
    const sent = sendAll()
    expect(sent).toHaveLength(CONCURRENCY)
    expect(linger(sent[0]!)).toBe(false)
    expect(sendAll()).toEqual([])
    freeSlot(sent[0]!)
    expect(sendAll()).toHaveLength(1)
  })
})

test('in any order of steps, the emails on the wire, in use and lingering stay within their limits', () => {
  const step = fc.record({
    kind: fc.constantFrom('claim', 'build', 'send', 'linger', 'settle'),
    priority: fc.constantFrom(transactional, bulk),
    projectId: fc.constantFrom('a', 'b', 'c'),
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
          if (!room || room.except.includes(projectId)) return
          const claimed = emails(room.limit, projectId, priority)
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
          ledger.freeSlot(email)
          ledger.release(email)
          onWire = without(onWire, email)
          lingering = without(lingering, email)
        },
      }
      for (const { kind, priority, projectId, pick } of steps) {
        apply[kind](priority, projectId, pick)
        expect(onWire.length).toBeLessThanOrEqual(CONCURRENCY)
        expect(onWire.filter(isBulk).length).toBeLessThanOrEqual(Math.ceil(CONCURRENCY * BULK_SHARE))
        expect(lingering.length).toBeLessThanOrEqual(MAX_LINGERING)
        expect(ledger.heldIds().length - lingering.length).toBeLessThanOrEqual(CAPACITY)
      }
    }),
    { numRuns: 200 },
  )
})
