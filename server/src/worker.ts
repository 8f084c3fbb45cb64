import { dropExpiredSessions } from './auth/sessions.ts'
import { dropExpiredTokens } from './auth/tokens.ts'
import { type Pool, transact } from './db/index.ts'
import { dropEndedAttempts } from './http/attempts.ts'
import { dropExpiredKeys, wipeKeys } from './http/once.ts'
import type { Deps } from './http/server.ts'
import { every, type Recurring } from './lib/recurring.ts'
import { dropOldAccountMails } from './mail/account-mail.ts'
import { dropExpiredInvitations } from './projects/members.ts'
import { type Wiper, wipeNext } from './projects/wipe.ts'

const CHUNK = 5_000

/** What a project reset or deletion removes, in one list. */
const WIPERS: Wiper[] = [wipeKeys]

/** Everything that runs in the background, in one list. Safe on any number of nodes at once. */
export function startWorker({ db, config, log }: Deps): Recurring {
  const chores = [
    every(500, 'wipe projects', () => wipeNext(db, WIPERS), log),
    every(600_000, 'housekeeping', () => keepHouse(db, config.idempotencyTtlHours), log),
  ]
  return {
    async stop() {
      await Promise.all(chores.map((chore) => chore.stop()))
    },
  }
}

async function keepHouse(db: Pool, ttlHours: number) {
  await transact(db, (tx) => dropExpiredSessions(tx))
  await transact(db, (tx) => dropExpiredTokens(tx))
  await transact(db, (tx) => dropExpiredInvitations(tx))
  await transact(db, (tx) => dropOldAccountMails(tx))
  await transact(db, (tx) => dropEndedAttempts(tx))
  while ((await transact(db, (tx) => dropExpiredKeys(tx, { ttlHours, limit: CHUNK }))) === CHUNK);
}
