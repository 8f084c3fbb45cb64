import { afterAll, expect, test } from 'vitest'
import { destroyClusters } from '../nodes/nodes.ts'
import { readSeed } from '../support/random.ts'
import { feedbackUnderFaults } from './feedback.ts'

/** Drawn from all kinds by the seed; `npm run chaos` has every kind. */
const FAULTS = 2
const WITHIN_MS = 120_000
/** Each of the 20 histories of an email, in each of the three states that it may have at its first report. */
const MAILS = 60
/** Notifications are under way at any moment; more would only slow down the tests beside this one. */
const PER_SECOND = 100
const seed = readSeed()

afterAll(destroyClusters)

test(`every provider notification is applied once, in any order, whichever process is killed (SEED=${seed})`, {
  timeout: 600_000,
}, async () => {
  const run = await feedbackUnderFaults({ seed, mails: MAILS, perSecond: PER_SECOND, faults: FAULTS, calmMs: 300, withinMs: WITHIN_MS })
  expect(run.problems).toEqual([])
  expect(Object.values(run.injected).reduce((sum, count) => sum + count, 0)).toBe(FAULTS)
  expect(run.survivors()).toEqual([])
})
