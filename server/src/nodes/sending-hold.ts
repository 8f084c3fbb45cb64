import { sql } from 'kysely'
import { countAffected, type Db, maybeOne, type Pool, scalar, type Tx, transact } from '../db/index.ts'
import { every } from '../lib/concurrency/every.ts'
import { fail } from '../lib/errors/errors.ts'
import { STERNA } from '../lib/process/command.ts'
import type { Log } from '../lib/process/log.ts'

/**
 * While sending is held in full, nothing leaves: no email, no request to a webhook endpoint or of a WEBHOOK step, no report of usage. Executions
 * stand still, and neither schedules nor campaigns start. Everything else goes on: requests are accepted, events are stored.
 */
export type SendingHold = { kind: (typeof HOLD_KINDS)[number]; since: Date; reason: string }
export const HOLD_KINDS = ['full'] as const

/** What holds sending, if anything does: a person, or a database that may be older than what was sent. */
export const readSendingHold = (db: Db) =>
  maybeOne<SendingHold>(db)`
    select 'full' as kind, sending_held_at as since, sending_held_reason as reason from instance where sending_held_at is not null
  `

export const holdSending = (tx: Tx, reason: string) =>
  sql`update instance set sending_held_at = now(), sending_held_reason = ${reason}`.execute(tx)

/** Refuses what a person asks for and would leave at once. */
export async function refuseWhileHeld(db: Db) {
  if (!(await readSendingHold(db))) return
  const message = 'An operator has held sending on this installation, so no request leaves. Try again when it goes on.'
  fail('CONFLICT', { message, details: { reason: 'sending_held' } })
}

/** False if sending was not held. */
export const resumeSending = async (tx: Tx) =>
  (await countAffected(tx)`
    update instance set sending_held_at = null, sending_held_reason = null where sending_held_at is not null
  `) > 0

/** For logs and the command line. */
export const UNTIL_RESUMED = `nothing is sent until you run: ${STERNA} sending resume (no email, webhook or usage report; workflows stand still)`

const MOVED = 'the database was restored, or another server took its place'

/**
 * Holds sending if this is not the database server that the installation was last seen on: a restored dump, or a standby that may lack the last
 * commits. Emails that it holds as waiting may have been sent.
 */
export const checkDatabaseIdentity = (db: Pool, log: Log) =>
  transact(db, async (tx) => {
    const known = await scalar<string | null>(tx)`select database_identity from instance for update`
    const identity = await scalar<string>(tx)`
      select (select system_identifier from pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
    `
    if (known === identity) return
    await sql`update instance set database_identity = ${identity}`.execute(tx)
    if (known === null) return
    await holdSending(tx, MOVED)
    log.error({ from: known, to: identity }, `${MOVED}: ${UNTIL_RESUMED}`)
  })

const POLL_MS = 2_000

/** Whether anything may leave, as of the last few seconds. */
export async function watchSendingHold(db: Pool, log: Log) {
  let hold = await readSendingHold(db)
  const look = async () => {
    const wasHeld = hold !== undefined
    hold = await readSendingHold(db)
    if (wasHeld !== (hold !== undefined)) log.info({ reason: hold?.reason }, hold ? 'sending is held: nothing leaves' : 'sending goes on')
  }
  const polling = every(POLL_MS, 'look whether sending is held', look, log)
  return { mayLeave: () => hold === undefined, stop: polling.stop }
}
