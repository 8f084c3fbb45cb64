import { afterAll, expect, test } from 'vitest'
import { cloneDatabase } from '../../test/support/database.ts'
import { destroyClusters } from '../nodes/nodes.ts'
import { createRandom, readSeed } from '../support/random.ts'
import { ATTACK_NAMES } from './attacks.ts'
import { neighboursUnderAttack } from './neighbours.ts'

/** Drawn from all kinds by the seed; `npm run chaos` has every kind. */
const ATTACKS = 2
/** Far less than a node refuses for being overloaded, however slow the machine is. */
const PENDING = 16
const seed = readSeed()

let database: Awaited<ReturnType<typeof cloneDatabase>> | undefined
afterAll(async () => {
  await destroyClusters()
  await database?.drop()
})

test(`only the attacking project is refused, and the others' emails leave (SEED=${seed})`, { timeout: 600_000 }, async () => {
  // Its time limits are longer than those of the embedded one: a busy machine must not be taken for an attack.
  database = await cloneDatabase()
  const run = await neighboursUnderAttack({
    seed,
    databaseUrl: database.url,
    mostPending: PENDING,
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
