import { afterAll, expect, test } from 'vitest'
import { destroyClusters } from '../nodes/nodes.ts'
import { readSeed } from '../support/random.ts'
import { workflowUnderFaults } from './workflow.ts'

/** Drawn from the kinds of `FEW` by the seed; `npm run chaos` has every kind. */
const FAULTS = 2
const CONTACTS = 50
const seed = readSeed()

afterAll(destroyClusters)

test(`each contact takes one path through a workflow, with one email per visit, whatever is killed (SEED=${seed})`, {
  timeout: 600_000,
}, async () => {
  const run = await workflowUnderFaults({
    seed,
    faults: FAULTS,
    few: true,
    calmMs: 500,
    withinMs: 120_000,
    contacts: CONTACTS,
    perSecond: 30,
    delaySeconds: 0.3,
    waitSeconds: 2,
  })
  expect(run.problems).toEqual([])
  expect(Object.values(run.injected).reduce((sum, count) => sum + count, 0)).toBe(FAULTS)
  expect(run.executions).toBeGreaterThan(CONTACTS / 2)
  expect(run.reminded).toBeGreaterThan(0)
  expect(run.survivors()).toEqual([])
})
