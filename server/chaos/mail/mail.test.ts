import { afterAll, expect, test } from 'vitest'
import { destroyClusters } from '../nodes/nodes.ts'
import { readSeed } from '../support/random.ts'
import { mailUnderFaults } from './mail.ts'

/** Drawn from all kinds by the seed; `npm run chaos` has every kind. */
const FAULTS = 2
const WITHIN_MS = 150_000
/** Some emails are under way at any moment; more would only slow down the tests beside this one. */
const PER_SECOND = 30
const seed = readSeed()

afterAll(destroyClusters)

test(`every accepted email arrives exactly once, whichever process is killed or frozen (SEED=${seed})`, { timeout: 600_000 }, async () => {
  const run = await mailUnderFaults({ seed, faults: FAULTS, few: true, perSecond: PER_SECOND, calmMs: 300, withinMs: WITHIN_MS })
  expect(run.problems).toEqual([])
  expect(Object.values(run.injected).reduce((sum, count) => sum + count, 0)).toBe(FAULTS)
  expect(run.survivors()).toEqual([])
})
