import { afterAll, expect, test } from 'vitest'
import { neighboursUnderAttack } from './neighbours.ts'
import { destroyClusters } from './nodes.ts'
import { readSeed } from './random.ts'

const seed = readSeed()

afterAll(destroyClusters)

test(`only the attacking project is refused, and the others' emails leave (SEED=${seed})`, { timeout: 300_000 }, async () => {
  const run = await neighboursUnderAttack({
    seed,
    requests: 12,
    bigContacts: 100,
    idleMs: 500,
    lastsMs: 300,
    say: (line) => process.stdout.write(`${line}\n`),
  })
  expect(run.problems).toEqual([])
  expect(run.survivors()).toEqual([])
})
