import { afterAll, expect, test } from 'vitest'
import { destroyClusters } from '../nodes/nodes.ts'
import { readSeed } from '../support/random.ts'
import { trackUnderFaults } from './track.ts'

/** Drawn from all kinds by the seed; `npm run chaos` has every kind. */
const FAULTS = 2
const WITHIN_MS = 200_000
/** Some calls are under way at any moment; more would only slow down the tests beside this one. */
const PER_SECOND = 100
const seed = readSeed()

afterAll(destroyClusters)

test(`every acknowledged event exists exactly once, whichever process is killed (SEED=${seed})`, { timeout: 400_000 }, async () => {
  const run = await trackUnderFaults({ seed, faults: FAULTS, perSecond: PER_SECOND, calmMs: 300, withinMs: WITHIN_MS })
  expect(run.problems).toEqual([])
  expect(Object.values(run.injected).reduce((sum, count) => sum + count, 0)).toBe(FAULTS)
  expect(run.survivors()).toEqual([])
})
