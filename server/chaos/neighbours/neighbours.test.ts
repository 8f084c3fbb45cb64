import { afterAll, expect, test } from 'vitest'
import { destroyClusters } from '../nodes/nodes.ts'
import { createRandom, readSeed } from '../support/random.ts'
import { ATTACK_NAMES } from './attacks.ts'
import { neighboursUnderAttack } from './neighbours.ts'

/** Drawn from all kinds by the seed; `npm run chaos` has every kind. */
const ATTACKS = 2
const seed = readSeed()

afterAll(destroyClusters)

test(`only the attacking project is refused, and the others' emails leave (SEED=${seed})`, { timeout: 300_000 }, async () => {
  const run = await neighboursUnderAttack({
    seed,
    attacks: createRandom(seed).shuffle(ATTACK_NAMES).slice(0, ATTACKS),
    requests: 12,
    bigContacts: 100,
    idleMs: 500,
    lastsMs: 300,
    say: (line) => process.stdout.write(`${line}\n`),
  })
  expect(run.problems).toEqual([])
  expect(run.survivors()).toEqual([])
})
