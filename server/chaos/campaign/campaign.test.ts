import { afterAll, expect, test } from 'vitest'
import { destroyClusters } from '../nodes/nodes.ts'
import { readSeed } from '../support/random.ts'
import { campaignUnderFaults } from './campaign.ts'

/** Drawn from the kinds of `FEW` by the seed; `npm run chaos` has every kind. */
const FAULTS = 2
const WITHIN_MS = 150_000
const seed = readSeed()

afterAll(destroyClusters)

test(`a campaign reaches its recipients once and balances, whatever is killed, frozen, edited or paused (SEED=${seed})`, {
  timeout: 600_000,
}, async () => {
  const run = await campaignUnderFaults({
    seed,
    faults: FAULTS,
    few: true,
    calmMs: 200,
    withinMs: WITHIN_MS,
    contacts: 800,
    lastsSeconds: 8,
    halted: 2,
    scheduled: 2,
  })
  expect(run.problems).toEqual([])
  expect(Object.values(run.injected).reduce((sum, count) => sum + count, 0)).toBe(FAULTS)
  expect(run.pauses + run.cancellations).toBeGreaterThan(0)
  expect(run.survivors()).toEqual([])
})
