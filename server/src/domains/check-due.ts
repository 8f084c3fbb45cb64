import { sql } from 'kysely'
import { many, type Pool, type Tx, transact } from '../db/index.ts'
import { readTransport } from '../db/instance.ts'
import { enqueue } from '../jobs/enqueue.ts'
import type { Config } from '../lib/config.ts'
import { createDns } from '../lib/dns.ts'
import type { Log } from '../lib/log.ts'
import { BEGUN_COLUMNS, finishCheck, isUnderWay, type StartedCheck } from './check.ts'
import { siteOf } from './records.ts'
import { createIdentities } from './ses-identity.ts'
import { followMode } from './sync-with-transport.ts'

/** Each asks a few questions at once, and a batch ends with its slowest answer: 10,000 domains are checked within 5 minutes. */
const BATCH = { dns: 100, ses: 10 }
const WORK_MS = 5_000

/** Checks what is due, a batch at a time. The rest is a new job, so that a worker that wants to stop waits for a batch only. */
export async function checkDueDomains({ db, config, log }: { db: Pool; config: Config; log: Log }) {
  const transport = await readTransport(db)
  if (transport) await transact(db, (tx) => followMode(tx, transport))
  if (transport === 'sandbox' || transport !== config.transportKind) return
  const identities = config.ses && createIdentities(config.ses)
  const port = { db, log, dns: createDns({ servers: config.dnsServers }), site: siteOf(config), identities }
  for (const deadline = performance.now() + WORK_MS; performance.now() < deadline; ) {
    const begun = await transact(db, (tx) => beginDue(tx, identities ? BATCH.ses : BATCH.dns))
    if (!begun.length) return
    await finishCheck(port, begun, { all: false })
  }
  await transact(db, (tx) => enqueue(tx, 'domains.check-due', {}, { key: 'domains.check-due' }))
}

/** Due again in 5 minutes, should this process die before it settles what it found. */
const beginDue = (tx: Tx, limit: number) =>
  many(
    tx,
    sql<StartedCheck>`
      update domains set check_number = check_number + 1, check_began_at = now(), next_check_at = now() + interval '5 minutes'
      where (project_id, id) in (
        -- Null is what an older version writes for a domain that it gives up.
        select project_id, id from domains where (next_check_at <= now() or next_check_at is null) and ${isUnderWay} is not true
        order by next_check_at limit ${limit} for update skip locked)
      returning ${BEGUN_COLUMNS}
    `,
  )
