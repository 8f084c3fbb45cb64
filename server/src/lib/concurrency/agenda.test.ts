import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startAgenda } from './agenda.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** An agenda whose answers the test gives, with the number of times it was read. */
function newBench(answer = () => false) {
  const bench = { reads: 0 }
  const agenda = startAgenda<'emails' | 'jobs'>({
    read: async () => {
      bench.reads++
      return { emails: answer(), jobs: false }
    },
    idleMs: 30,
    busyMs: 5,
  })
  return Object.assign(bench, { agenda })
}
const settle = () => new Promise((resolve) => setImmediate(resolve))

test('everything is due until it was read, and then what the reading says', async () => {
  const { agenda } = newBench()
  expect([agenda.isDue('emails'), agenda.isDue('jobs')]).toEqual([true, true])
  await settle()
  expect([agenda.isDue('emails'), agenda.isDue('jobs')]).toEqual([false, false])
  await agenda.stop()
})

test('everything is due while it cannot be read', async () => {
  const bench = newBench(() => {
    throw new Error('the database is away')
  })
  await settle()
  expect(bench.agenda.isDue('jobs')).toBe(true)
  await bench.agenda.stop()
})

test('is read no more after it was stopped', async () => {
  const bench = newBench()
  await settle()
  await bench.agenda.stop()
  const { reads } = bench
  await settle()
  expect(bench.reads).toBe(reads)
})

test.each([
  ['nothing is due and signals arrive', { due: false, hears: true, isBusy: false }],
  ['something is due', { due: true, hears: true, isBusy: true }],
  ['signals do not arrive', { due: false, hears: false, isBusy: true }],
])('is read at the interval of a process where %s', async (_, { due, hears, isBusy }) => {
  let reads = 0
  const read = async () => {
    reads++
    return { emails: due }
  }
  const agenda = startAgenda({ read, idleMs: 3_600_000, busyMs: 1, hearsSignals: () => hears })
  const end = performance.now() + (isBusy ? 10_000 : 50)
  while (reads < 4 && performance.now() < end) await settle()
  expect(reads > 1).toBe(isBusy)
  await agenda.stop()
})
