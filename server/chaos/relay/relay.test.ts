import { afterAll, expect, test } from 'vitest'
import { destroyClusters } from '../nodes/nodes.ts'
import { readSeed } from '../support/random.ts'
import { relayUnderFaults } from './relay.ts'

/** Drawn from all kinds by the seed; `npm run chaos` has every kind. */
const FAULTS = 2
const WITHIN_MS = 200_000
/** Emails that wait while the relay is slowed down must all be sent in the end. */
const PER_SECOND = 30
const seed = readSeed()

afterAll(destroyClusters)

test(`every accepted email arrives once or ends by a reply about itself, however the relay behaves (SEED=${seed})`, {
  timeout: 600_000,
}, async () => {
  const run = await relayUnderFaults({ seed, faults: FAULTS, perSecond: PER_SECOND, calmMs: 100, withinMs: WITHIN_MS })
  expect(run.problems).toEqual([])
  expect(Object.values(run.injected).reduce((sum, count) => sum + count, 0)).toBe(FAULTS)
  expect(run.survivors()).toEqual([])
})
