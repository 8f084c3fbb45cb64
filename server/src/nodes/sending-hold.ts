import { type RawBuilder, sql } from 'kysely'
import { countAffected, type Db, maybeOne, type Pool, type Tx, transact } from '../db/index.ts'
import { every } from '../lib/concurrency/every.ts'
import { fail } from '../lib/errors/errors.ts'
import { NIL_ID } from '../lib/id.ts'
import { STERNA } from '../lib/process/command.ts'
import type { Log } from '../lib/process/log.ts'
import { CURRENT_TIMELINE } from './server-identity.ts'

/**
 * While sending is held in full, nothing leaves: no email, no request to a webhook endpoint or of a WEBHOOK step, no report of usage. Executions
 * stand still, and neither schedules nor campaigns start. Everything else goes on: requests are accepted, events are stored. In part: after a
 * failover that lost commits, emails, webhook deliveries and executions that were recorded before it wait, and later ones run.
 */
export type SendingHold = {
  kind: (typeof HOLD_KINDS)[number]
  since: Date
  reason: string
  /** Until a person ends it. Otherwise it ends when all workers have repeated what they settled. */
  untilResumed: boolean
}
export const HOLD_KINDS = ['full', 'partial'] as const

/** The reason why sending is held, if it is: a person, or a database that may be older than what was sent. */
export const readSendingHold = (db: Db) =>
  maybeOne<SendingHold>(db)`
    select case when sending_held_at is null then 'partial' else 'full' end as kind, coalesce(sending_held_at, sending_waits_before) as since,
      coalesce(sending_held_reason, sending_waits_reason) as reason, sending_held_at is not null or sending_waits_for_person as "untilResumed"
    from instance where sending_held_at is not null or sending_waits_before is not null
  `

export const isHeldInFull = async (db: Db) => (await readSendingHold(db))?.kind === 'full'

/** SQL condition: what was recorded at that time may run. */
export const runsSince = (recordedAt: RawBuilder<unknown>) =>
  sql<boolean>`${recordedAt} >= coalesce((select sending_waits_before from instance), '-infinity')`

/** SQL value: emails, campaigns and messages with lower ids wait. Null: none does. */
export const WAITING_UP_TO = sql<string | null>`(select sending_waits_up_to from instance)`

/** SQL condition: an email or message with this id may leave. */
export const runsFromId = (id: RawBuilder<unknown>) => sql<boolean>`${id} >= coalesce(${WAITING_UP_TO}, ${sql.lit(NIL_ID)})`

export const holdSending = (tx: Tx, reason: string) =>
  sql`update instance set sending_held_at = now(), sending_held_reason = ${reason}`.execute(tx)

/** An email id is a time and random bits: this one is lower than all that are made from now on. */
const LOWEST_ID_NOW = sql`(lpad(to_hex(floor(extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid`

/** Adds to a partial hold that is there already. */
export const holdPartially = (tx: Tx, { reason, untilResumed }: { reason: string; untilResumed: boolean }) =>
  sql`
    update instance set sending_waits_before = coalesce(sending_waits_before, clock_timestamp()),
      sending_waits_up_to = coalesce(sending_waits_up_to, ${LOWEST_ID_NOW}), sending_waits_reason = coalesce(sending_waits_reason, ${reason}),
      sending_waits_for_person = sending_waits_for_person or ${untilResumed}
  `.execute(tx)

/** Refuses what a person asks for and would leave at once. */
export async function refuseWhileHeld(db: Db) {
  if (!(await isHeldInFull(db))) return
  const message = 'An operator has held sending on this installation, so no request leaves. Try again when it goes on.'
  fail('CONFLICT', { message, details: { reason: 'sending_held' } })
}

const END_PARTIAL = sql`sending_waits_before = null, sending_waits_up_to = null, sending_waits_reason = null, sending_waits_for_person = false`

/** False if sending was not held. */
export const resumeSending = async (tx: Tx) =>
  (await countAffected(tx)`
    update instance set sending_held_at = null, sending_held_reason = null, ${END_PARTIAL}
    where sending_held_at is not null or sending_waits_before is not null
  `) > 0

/** Longer than any worker needs to come back to a database that is there again. */
const ALL_ARE_BACK = sql`interval '15 s'`

/** Ends a partial hold when every worker that settled anything has repeated it. */
const endIfRepeated = (db: Pool) =>
  transact(db, (tx) =>
    sql`
      update instance set ${END_PARTIAL}
      where sending_waits_before < now() - ${ALL_ARE_BACK} and not sending_waits_for_person
        and not exists (select from senders where timeline <> ${CURRENT_TIMELINE})
    `.execute(tx),
  )

/** For logs and the command line. */
export const UNTIL_RESUMED = `nothing is sent until you run: ${STERNA} sending resume (no email, webhook or usage report; workflows stand still)`
export const PARTLY = `emails, webhook deliveries and workflow executions that were recorded before wait`

const NOW: Record<SendingHold['kind'], string> = {
  full: 'sending is held: nothing leaves',
  partial: `sending is held in part: ${PARTLY}`,
}

const POLL_MS = 2_000

/** Whether anything may leave, as of the last few seconds. */
export async function watchSendingHold(db: Pool, log: Log) {
  let hold = await readSendingHold(db)
  const look = async () => {
    const before = hold?.kind
    if (hold?.kind === 'partial' && !hold.untilResumed) await endIfRepeated(db)
    hold = await readSendingHold(db)
    if (before !== hold?.kind) log.info({ reason: hold?.reason }, hold ? NOW[hold.kind] : 'sending goes on')
  }
  const polling = every(POLL_MS, 'look whether sending is held', look, log)
  return { mayLeave: () => hold?.kind !== 'full', stop: polling.stop }
}
