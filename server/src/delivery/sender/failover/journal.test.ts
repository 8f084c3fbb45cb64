import { expect, test } from 'vitest'
import { createBeats } from './beats.ts'
import { createJournal } from './journal.ts'

function newJournal(limits = {}) {
  const clock = { now: 0 }
  const journal = createJournal({ now: () => clock.now, ...limits })
  const email = (id: string, attempts = 1, sourceType = 'TRANSACTIONAL' as const) => ({ projectId: 'p', id, attempts, sourceType })
  const end = (id: string, state: 'sent' | 'unknown' | 'failed' | 'queued', at: number, attempts = 1) => {
    journal.ended({ id, attempts, state, providerId: `of ${id}` })
    clock.now = at
    journal.written({ id, attempts })
  }
  return { ...journal, clock, email, end, ids: (time: number) => journal.since(time).emails.map(({ id }) => id) }
}

test('has what was handed over and not committed by that time', () => {
  const { handedOver, email, end, ids, since } = newJournal()
  for (const id of ['early', 'late', 'open', 'lost']) handedOver(email(id))
  end('early', 'sent', 10)
  end('late', 'sent', 20)
  end('lost', 'unknown', 21)
  expect(ids(15)).toEqual(['late', 'open', 'lost'])
  expect(since(15).emails.map(({ isAccepted }) => isAccepted)).toEqual([true, false, false])
  expect(since(15).emails[0]).toMatchObject({ providerId: 'of late' })
  expect(ids(Number.NEGATIVE_INFINITY)).toHaveLength(4)
})

test('does not have emails that may be sent again', () => {
  const { handedOver, email, end, ids } = newJournal()
  for (const id of ['refused', 'put back', 'later']) handedOver(email(id))
  end('refused', 'failed', 1)
  end('put back', 'queued', 2)
  expect(ids(0)).toEqual(['later'])
})

test('takes the outcome of the last attempt', () => {
  const { handedOver, email, end, ids, since } = newJournal()
  handedOver(email('a', 1))
  handedOver(email('a', 2))
  end('a', 'failed', 1, 1)
  expect(ids(0)).toEqual(['a'])
  end('a', 'sent', 2, 2)
  expect(since(0).emails).toMatchObject([{ attempts: 2, isAccepted: true }])
})

test('is bounded, and says since when it is complete', () => {
  const { handedOver, email, end, since, size, clock, dropOld } = newJournal({ maxEntries: 2, keepMs: 100 })
  for (const [n, id] of ['a', 'b', 'c'].entries()) {
    handedOver(email(id))
    end(id, 'sent', 10 * (n + 1))
  }
  expect(size()).toBe(2)
  expect([since(10).isComplete, since(11).isComplete]).toEqual([false, true])
  clock.now = 125
  dropOld()
  expect(since(21).emails.map(({ id }) => id)).toEqual(['c'])
  expect([since(20).isComplete, since(21).isComplete]).toEqual([false, true])
})

test('a value of the counter stands for the time at which it was sent', () => {
  const beats = createBeats()
  expect([beats.last(), beats.sentAt(3)]).toEqual([undefined, Number.NEGATIVE_INFINITY])
  for (const sentAt of [100, 200, 300]) {
    const counter = beats.next()
    if (counter !== 2) beats.acknowledge({ counter, sentAt })
  }
  expect(beats.last()).toBe(3)
  expect([1, 2, 3, 9, undefined].map((stored) => beats.sentAt(stored))).toEqual([100, 100, 300, 300, Number.NEGATIVE_INFINITY])
})
