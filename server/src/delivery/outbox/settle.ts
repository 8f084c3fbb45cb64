import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { isPermanent } from '../../db/errors/sql-state.ts'
import { many, type Pool, transact, transactAtOnce } from '../../db/index.ts'
import { given, prepared } from '../../db/prepared.ts'
import { fewRows, recordset } from '../../db/rows.ts'
import { recordActivitiesCte } from '../../events/activities.ts'
import { recordEventsCte } from '../../events/record.ts'
import { createBatcher } from '../../lib/concurrency/batch.ts'
import { newId } from '../../lib/id.ts'
import { storable } from '../../lib/text/storable.ts'
import { insertEntriesSql } from './outcomes/email-ledger.ts'
import { END_COLUMNS, isoTime, OPEN_TO_EVIDENCE } from './outcomes/ended.ts'
import { settleByEvidence } from './outcomes/evidence.ts'
import type { Settlement } from './outcomes/settlement.ts'
import {
  acceptedAfterCte,
  endStreaksSql,
  holdSql,
  type IsOnWire,
  REFUSAL_TIMING,
  type RefusalTiming,
  releaseHeldCtes,
} from './refusals/hold.ts'
import { insertRefusalsSql } from './refusals/refusal.ts'
import { PRIORITIES } from './streams/stream-of.ts'

/** How refusals are held. */
type RefusalOptions = { timing: RefusalTiming; isOnWire?: IsOnWire }

const RETRY_MS = 250
const BATCHES = { maxWaitMs: 3, lanes: 2 }
/** A settled email of a campaign frees capacity and nothing else, so it can wait: half as many statements. */
const BULK_BATCHES = { maxWaitMs: 25, lanes: 1 }

/**
 * Settles attempts, many in one commit, with their events. A settlement counts even if other workers declared this one dead meanwhile and the
 * outcome unknown: now it is known. Retried while the database is away, because no other process knows the outcome.
 */
export function createSettle(db: Pool, until: AbortSignal, refusals: RefusalOptions = { timing: REFUSAL_TIMING }) {
  const isOver = () => until.aborted
  const batches = (pace: typeof BATCHES) =>
    createBatcher<Settlement, boolean>({
      name: 'settle',
      run: (settlements) => retryUntilWritten(() => settle(db, settlements, refusals), isOver),
      mayBeOneItem: isPermanent,
      maxItems: 500,
      maxPending: 100_000,
      ...pace,
    })
  const bulk = batches(BULK_BATCHES)
  const others = batches(BATCHES)
  return (settlement: Settlement) => (settlement.priority === PRIORITIES.bulk ? bulk : others).submit(settlement)
}

/** Retries a write until it succeeds, fails permanently, or `isOver`. */
export async function retryUntilWritten<T>(write: () => Promise<T>, isOver: () => boolean, retryMs = RETRY_MS): Promise<T> {
  for (;;) {
    try {
      return await write()
    } catch (err) {
      if (isOver() || isPermanent(err)) throw err
      await sleep(retryMs)
    }
  }
}

/** True, in order, for each email that was still open. A single statement, so that a process that freezes midway holds no locks. */
async function settle(db: Pool, settlements: Settlement[], { timing, isOnWire }: RefusalOptions) {
  // Of several attempts of one email, the accepted one counts: the statement would take any.
  const accepted = new Set(settlements.flatMap(({ id, state }) => (state === 'sent' ? [id] : [])))
  const ending = settlements.filter(({ id, state, refusal }) => !refusal && (state === 'sent' || !accepted.has(id)))
  const ended = ending.length ? await many(db, settleSql(partsFor(ending)).with({ rows: rowsOf(ending), count: ending.length })) : []
  const settled = new Set(ended.map(({ id }) => id))
  // Refusals are rare. After the others: accepted recipients end a streak, and `holdSql` knows which refusals they follow.
  if (settlements.some(({ refusal }) => refusal))
    for (const { id } of (await transactAtOnce(db, [...holdSql(settlements, timing, isOnWire)]))[0]!) settled.add(id)
  // An email that was given up, or that evidence has settled already. The first changes a counter back, which takes a lock and more statements.
  const late = settlements.filter(({ id, state }) => state === 'sent' && !settled.has(id))
  const corrected = late.length ? await transact(db, (tx) => settleByEvidence(tx, late)) : []
  for (const id of corrected) settled.add(id)
  return settlements.map(({ id }) => ({ value: settled.has(id) }))
}

/** An email that is put back again and again waits in between: whatever keeps it from leaving, such as a lock, would be asked at full speed. */
const MAX_PUT_BACK_AT_ONCE = 3
const PUT_BACK_WAIT_SECONDS = sql.lit(1)
const KEEPS_COMING_BACK = sql`(s."putBack" and e.put_back >= ${sql.lit(MAX_PUT_BACK_AT_ONCE)})`
const MAX_SMALLINT = sql.lit(32_767)

const rowsOf = (settlements: Settlement[]) =>
  settlements.map(({ beganAt, ...settlement }) => ({
    ...settlement,
    secondsSinceBegin: beganAt === undefined ? null : (performance.now() - beganAt) / 1_000,
    error: settlement.error && storable(settlement.error),
    subject: settlement.subject && storable(settlement.subject),
    eventId: newId(),
  }))

/** What a settlement has beside columns of its email. */
const GIVEN = {
  ...({
    code: 'text',
    waitSeconds: 'float8',
    failed: 'boolean',
    unknownRecipient: 'boolean',
    toAddress: 'text',
    putBack: 'boolean',
  } as const),
  ...({ timedOut: 'boolean', eventId: 'uuid', domain: 'text', wasHeld: 'boolean', secondsSinceBegin: 'float8' } as const),
}

const recordSkippedCte = sql`, new_activities as materialized (
      select "projectId" as project_id, "eventId" as id, 'email.skipped' as type, "contactId" as contact_id,
        facts || jsonb_build_object('reason', error) as data
      from settled where state = 'skipped' and not test
    ), ${recordActivitiesCte(sql`new_activities`)}`

type Settling = { rows: ReturnType<typeof rowsOf>; count: number }
const settling = given<Settling>()

/** Few batches need these parts: an empty one costs time too. */
type SettleParts = { hasSkipped: boolean; wereHeld: boolean }

const partsFor = (settlements: Settlement[]): SettleParts => ({
  hasSkipped: settlements.some(({ state }) => state === 'skipped'),
  wereHeld: settlements.some(({ wasHeld }) => wasHeld),
})

const statements: Record<string, ReturnType<typeof prepared<{ id: string }, Settling>>> = {}

const settleSql = ({ hasSkipped, wereHeld }: SettleParts) =>
  (statements[`${hasSkipped} ${wereHeld}`] ??= prepared<{ id: string }, Settling>`
    with settled as (
      update emails e set
        state = case when ${KEEPS_COMING_BACK} then 'deferred' else s.state end,
        error = s.error,
        error_code = s.code,
        subject = coalesce(s.subject, e.subject),
        -- Variables of the request, such as one-time codes, are not kept longer than needed.
        vars = case when s.state in ('sent', 'skipped') or s."unknownRecipient" then null else e.vars end,
        provider_id = coalesce(s."providerId", e.provider_id),
        worker = case when s.state = 'unknown' then e.worker end,
        handed_over_at = case when s.state in ('queued', 'deferred') then null else e.handed_over_at end,
        unknown_since = case when s.state = 'unknown' then now() end,
        due_at = now() + make_interval(secs => case when ${KEEPS_COMING_BACK} then ${PUT_BACK_WAIT_SECONDS} else s."waitSeconds" end),
        to_address = coalesce(s."toAddress", e.to_address),
        put_back = least(${MAX_SMALLINT}, e.put_back + case when s."putBack" then 1 else 0 end),
        timeouts = e.timeouts + case when s."timedOut" then 1 else 0 end,
        failures = e.failures + case when s.failed then 1 else 0 end,
        first_failed_at = case when s.failed then coalesce(e.first_failed_at, now()) else e.first_failed_at end,
        sent_at = case when s.state = 'sent' then now() else e.sent_at end,
        updated_at = now()
      from ${fewRows(
        recordset('emails', settling.rows, ['projectId', 'id', 'attempts', 'state', 'error', 'subject', 'providerId'], GIVEN),
        settling.count,
      )} as s
      where e.project_id = s."projectId" and e.id = s.id
        and (e.attempts = s.attempts and e.state in ('sending', 'unknown') or s.state = 'sent' and e.state <> 'failed' and ${OPEN_TO_EVIDENCE})
      returning ${END_COLUMNS}, s."unknownRecipient", s."eventId", e.source_type, e.created_at, s.domain, s."wasHeld", s.code, s."secondsSinceBegin"
    ), refused as (
      ${insertRefusalsSql(sql`select "projectId", id, facts ->> 'messageId' as "messageId", error as reason from settled where "unknownRecipient"`)}
    ), new_events as materialized (
      select "projectId" as project_id, "eventId" as id, 'email.' || state as name, "contactId" as contact_id, id as email_id,
        facts || case when state = 'sent' then jsonb_build_object('sentAt', ${isoTime(sql.ref('sentAt'))})
          else jsonb_build_object('reason', error) end as data
      from settled where not test and (state = 'sent' or state = 'failed' and "unknownRecipient" is not true)
    ), ${recordEventsCte(sql`new_events`)}, counted as (
      ${insertEntriesSql(sql`
        select "projectId", id, state as kind, 1 as n, case state when 'skipped' then source_type end as source, "campaignId", test,
          case when metered then case state when 'sent' then "sentAt" when 'skipped' then created_at end end as "countedAt"
        from settled where state in ('sent', 'failed', 'skipped')`)}
    ), ended_streaks as (
      ${endStreaksSql}
    )${hasSkipped ? recordSkippedCte : sql``}${wereHeld ? releaseHeldCtes : sql``}${acceptedAfterCte({ wereHeld })}
    select id from settled`)
