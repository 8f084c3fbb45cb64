import { many, type Pool, type Tx, transact } from '../../db/index.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import type { Config } from '../../lib/config.ts'
import { createDns } from '../../lib/network/dns.ts'
import type { Log } from '../../lib/process/log.ts'
import { readTransport } from '../../nodes/instance.ts'
import { finishChecks, isCheckRunning, STARTED_CHECK_COLUMNS, type StartedCheck } from './check.ts'
import { sendingMethodOf } from './records.ts'
import { createIdentities } from './ses-identity.ts'
import { syncWithTransport } from './sync-with-transport.ts'

type Options = { db: Pool; config: Config; log: Log; maxRunMs?: number }

/** Domains checked concurrently. A check makes a few lookups, and a batch ends with its slowest reply: 10,000 domains take 5 minutes. */
const BATCH = { dns: 100, ses: 10 }
export const MAX_CHECK_RUN_MS = 5_000

/** Checks due domains in batches. The rest is left to a new job, so that a stopping worker waits for one batch at most. */
export async function checkDueDomains({ db, config, log, maxRunMs = MAX_CHECK_RUN_MS }: Options) {
  const transport = await readTransport(db)
  if (transport) await transact(db, (tx) => syncWithTransport(tx, transport))
  if (transport === 'sandbox' || transport !== config.transportKind) return
  const identities = config.ses && createIdentities(config.ses)
  const deps = { db, log, dns: createDns({ servers: config.dnsServers }), method: sendingMethodOf(config), identities }
  for (const deadline = performance.now() + maxRunMs; performance.now() < deadline; ) {
    const started = await transact(db, (tx) => startDueChecks(tx, identities ? BATCH.ses : BATCH.dns))
    if (!started.length) return
    await finishChecks(deps, started, { all: false })
  }
  await transact(db, (tx) => enqueue(tx, 'domains.check-due', {}, { key: 'domains.check-due' }))
}

/** Due again in 5 minutes, in case this process dies before it stores the result. */
const startDueChecks = (tx: Tx, limit: number) =>
  many<StartedCheck>(tx)`
    update domains set check_number = check_number + 1, check_began_at = now(), next_check_at = now() + interval '5 minutes'
    where (project_id, id) in (
      select project_id, id from domains where next_check_at <= now() and ${isCheckRunning} is not true
      order by next_check_at limit ${limit} for update skip locked)
    returning ${STARTED_CHECK_COLUMNS}
  `
