import { afterAll, expect, test } from 'vitest'
import { destroyClusters } from '../nodes/nodes.ts'
import { readSeed } from '../support/random.ts'
import { submissionUnderFaults } from './submission.ts'

const FAULTS = 2
const seed = readSeed()

afterAll(destroyClusters)

test(`every 250 of SMTP submission is one email, whatever is killed meanwhile (SEED=${seed})`, { timeout: 600_000 }, async () => {
  const run = await submissionUnderFaults({ seed, faults: FAULTS, messages: 60, connections: 10, calmMs: 100 })
  expect(run.problems).toEqual([])
  expect(Object.values(run.injected).reduce((sum, count) => sum + count, 0)).toBe(FAULTS)
  expect(run.survivors()).toEqual([])
})
