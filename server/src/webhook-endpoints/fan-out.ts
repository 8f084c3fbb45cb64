import { sql } from 'kysely'
import { many, maybeOne, type Pool, scalar, type Tx, transact } from '../db/index.ts'
import { inTurnSql } from '../ledger/owner-sql.ts'
import { startProjectLoop } from '../ledger/project-loop.ts'
import { skipScanCte } from '../ledger/skip-scan.ts'
import type { WaitingWork } from '../ledger/turns.ts'
import { crash } from '../lib/crash-point.ts'
import type { Log } from '../lib/log.ts'
import { selectorsOfSql, takeFactsSql } from '../webhooks/facts.ts'

type Deps = { db: Pool; log: Log; isHeld: () => boolean; onFannedOut: () => void; pollMs?: number | undefined }

/** Projects that one process works on at a time, besides one of an owner that has none of them. */
const LANES = 2
const POLL_MS = 250
/** Facts of one project before it is the next one's turn. */
const BATCH = 1_000

/** Makes a delivery for each endpoint that listens, out of what happened. Any number of processes may run it. */
export function startFanOut({ db, log, isHeld, onFannedOut, pollMs = POLL_MS }: Deps) {
  return startProjectLoop({
    name: 'fan out webhooks',
    log,
    isHeld,
    pollMs,
    slots: LANES,
    find: (except) => findProjects(db, except),
    async work({ projectId }) {
      const taken = await transact(db, (tx) => fanOut(tx, projectId))
      if (taken) onFannedOut()
      return taken === BATCH ? 'more' : 'done'
    },
  })
}

/** Looked at first: most looks find nothing, and planning the search takes longer than this. */
const ANY_FACT = sql`select from webhook_outbox order by project_id, id limit 1`

const findProjects = async (db: Pool, except: string[]) => ((await maybeOne(db, ANY_FACT)) ? many(db, projectsSql(except)) : [])

const projectsSql = (except: string[]) => sql<WaitingWork>`
  with recursive ${skipScanCte('waiting', {
    table: 'webhook_outbox',
    by: ['project_id'],
    columns: [sql`created_at as due_at`],
    order: ['project_id', 'id'],
    where: sql`true`,
  })}
  select project_id as "projectId", project_id as key, owner
  from (${inTurnSql(sql`select * from waiting where project_id <> all(${except}::uuid[])`)}) as found`

/**
 * An id of UUIDv7 with the time of the message: of the rest, 60 bits are a hash of message and endpoint, so that the delivery of a message to
 * an endpoint has one id for ever.
 */
const DELIVERY_ID = sql.raw(`(left(m.id::text, 19) || '8' || left(md5(m.id::text || e.id::text), 3) || '-'
  || substr(md5(m.id::text || e.id::text), 4, 12))::uuid`)

/** Returns the number of facts. */
async function fanOut(tx: Tx, projectId: string) {
  const taken = await scalar<number>(tx)`
    with taken as (${takeFactsSql(projectId, BATCH)}
    ), heard as materialized (
      select m.id as message_id, m.type, e.id as endpoint_id, ${DELIVERY_ID} as id
      from taken m join webhook_endpoints e on e.project_id = m.project_id and e.enabled and e.events && ${selectorsOfSql(sql`m.type`)}
    ), stored as (
      insert into webhook_messages (project_id, id, type, name, contact_id, contact_email, email_id, data, created_at)
      select project_id, id, type, name, contact_id, contact_email, email_id, data, created_at
      from taken where id in (select message_id from heard)
    ), queued as (
      insert into webhook_deliveries (project_id, id, endpoint_id, message_id, type)
      select ${projectId}, id, endpoint_id, message_id, type from heard
    )
    select count(*)::int from taken`
  crash('webhooks-fanned-out')
  return taken
}
