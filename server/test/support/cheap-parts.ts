import { createPasswords } from '../../src/auth/passwords.ts'
import { REFUSAL_TIMING } from '../../src/delivery/outbox/refusals/hold.ts'
import { type DomainKey, newDkimKey } from '../../src/domains/sender-domains/dkim-key.ts'

/** Distinct keys in a row: tests that compare the keys of domains add a few at a time. */
const KEYS = 4
const keys: Promise<DomainKey>[] = []
let added = 0

/**
 * Replaces the two parts of the product that are slow on purpose. Tests sign up a thousand people and add five hundred domains; at the
 * production cost of a password hash and of an RSA key, that is a minute and a half of CPU. A route that writes past its audit entry fails.
 * Tests make hundreds of requests at once; how many of them a node admits depends on its pace, and so on the machine.
 */
export const CHEAP_PARTS = {
  passwords: createPasswords({ memoryCost: 1_024, timeCost: 1, parallelism: 1 }),
  newDkimKey: () => (keys[added++ % KEYS] ??= newDkimKey()),
  admitsAll: true,
  onUnaudited: (route: string) => {
    throw new Error(`${route} declares \`audit\`, and has written nothing by \`req.db\``)
  },
}

/** A refused recipient is held for ten seconds before the refusal stands; many tests wait for the end of a refused email. */
export const QUICK_TIMING = { refusals: { ...REFUSAL_TIMING, holdMs: 500 } }

/**
 * How often a worker reads its agenda: tests wait for what it finds there. An app that reads it every 50 ms takes a twentieth of a core
 * while nothing happens, and four are open at a time.
 */
export const QUICK_AGENDA = { idleMs: 200, busyMs: 100 }
