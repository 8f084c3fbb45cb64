import { type RawBuilder, sql } from 'kysely'
import { Gauge, type Registry } from 'prom-client'
import { countRows, type Pool, poolStates, scalar } from '../db/index.ts'
import type { Schema } from '../db/schema.ts'
import { PRIORITIES } from '../delivery/outbox/streams/stream-of.ts'
import { readPauses } from '../delivery/sender/limits/stored-pauses.ts'
import { listDrift } from '../ledger/checks.ts'
import { skipScanCte } from '../ledger/skip-scan.ts'
import { atMostEvery } from '../lib/concurrency/every.ts'
import { SECOND } from '../lib/text/units.ts'
import { listPresent } from '../nodes/presence.ts'
import { HOLD_KINDS, readSendingHold } from '../nodes/sending-hold.ts'

/** However often somebody asks, the database is read this often. */
const READ_EVERY_MS = 5 * SECOND
/** Rows are counted up to this number: a count must not cost more than what it watches. */
const MAX_COUNTED = 100_000

type Value = { value: number; labels?: Record<string, string> }
type Reading = { name: string; help: string; labels?: string[]; read: (db: Pool, ledgers: FoldedLedger[]) => Promise<Value[]> }

/** A gauge without labels. */
const single = (name: string, help: string, read: (db: Pool) => Promise<number>): Reading => ({
  name,
  help,
  read: async (db) => [{ value: await read(db) }],
})

/** The age in seconds of the oldest row of a query, by its column `since`; 0 without rows. */
const ageOfOldest = (db: Pool, rows: RawBuilder<unknown>) =>
  scalar<number>(db)`select coalesce(greatest(extract(epoch from now() - min(since)), 0), 0)::float8 from (${rows}) as rows`

const priorities = Object.entries(PRIORITIES) as [keyof typeof PRIORITIES, number][]
const byPriority = (read: (priority: number) => Promise<number>) =>
  Promise.all(priorities.map(async ([name, priority]) => ({ value: await read(priority), labels: { priority: name } })))

const queuedSql = (priority: number) => sql`state = 'queued' and lane = ${sql.lit(priority)}`

const MAX_STREAMS = 1_000

/** Each stream is sent in the order of its emails, so its first one is its oldest. A scheduled email waits since its time. */
function ageOfQueue(db: Pool, priority: number) {
  const streams = skipScanCte('streams', {
    table: 'emails',
    by: ['project_id', 'stream_id'],
    columns: [sql`greatest(created_at, send_at) as since`],
    order: ['lane', 'project_id', 'stream_id', 'id'],
    where: queuedSql(priority),
  })
  return ageOfOldest(
    db,
    sql`
      with recursive ${streams}
      select s.since from (select * from streams limit ${MAX_STREAMS}) as s
      where not exists (select from campaigns c where c.project_id = s.project_id and c.id = s.stream_id and c.paused_at is not null)`,
  )
}

const UNKNOWN = sql`select from emails where state = 'unknown' limit ${MAX_COUNTED}`
const FACTS = sql`select created_at as since from webhook_outbox cross join unnest(message_ids) limit ${MAX_COUNTED}`
const DELIVERIES = sql`
  select since from (
    (select due_at as since from webhook_deliveries where status = 'pending' and due_at <= now() limit ${MAX_COUNTED})
    union all (select created_at from webhook_batches cross join unnest(message_ids) limit ${MAX_COUNTED})
  ) as due limit ${MAX_COUNTED}`
const JOBS = sql`select created_at as since from jobs where finished_at is null limit ${MAX_COUNTED}`
const ENTRIES = sql`select created_at as since from email_ledger limit ${MAX_COUNTED}`

/** Deltas that are folded into sums: the composition root names all of them. */
export type FoldedLedger = { name: string; deltas: keyof Schema }

const countDeltas = (db: Pool, ledgers: FoldedLedger[]) =>
  Promise.all(
    ledgers.map(async ({ name, deltas }) => ({
      value: await countRows(db, sql`select from ${sql.table(deltas)} limit ${MAX_COUNTED}`),
      labels: { ledger: name },
    })),
  )

const countNodes = async (db: Pool) => {
  const names = await listPresent(db)
  const workers = names.filter((name) => name.includes('worker')).length
  return [
    { value: names.length - workers, labels: { kind: 'api' } },
    { value: workers, labels: { kind: 'worker' } },
  ]
}

const readHolds = async (db: Pool) => {
  const hold = await readSendingHold(db)
  return HOLD_KINDS.map((kind) => ({ value: Number(hold?.kind === kind), labels: { kind } }))
}

/** Metrics that the database has for the whole installation: every node answers the same. */
const READINGS: Reading[] = [
  {
    name: 'sterna_queue_emails',
    help: `Emails that are ready to be sent, counted up to ${MAX_COUNTED}.`,
    labels: ['priority'],
    read: (db) => byPriority((priority) => countRows(db, sql`select from emails where ${queuedSql(priority)} limit ${MAX_COUNTED}`)),
  },
  {
    name: 'sterna_queue_oldest_seconds',
    help: 'How long the oldest email waits that is ready to be sent, without paused campaigns.',
    labels: ['priority'],
    read: (db) => byPriority((priority) => ageOfQueue(db, priority)),
  },
  single('sterna_emails_unknown', 'Emails of which it is not known whether the provider took them.', (db) => countRows(db, UNKNOWN)),
  single('sterna_webhook_facts', 'Facts that no worker has passed to webhook endpoints yet.', (db) => countRows(db, FACTS)),
  single('sterna_webhook_backlog', 'Deliveries to webhook endpoints that are due.', (db) => countRows(db, DELIVERIES)),
  single('sterna_webhook_oldest_seconds', 'How long the oldest delivery to a webhook endpoint is overdue.', (db) =>
    ageOfOldest(db, DELIVERIES),
  ),
  single('sterna_jobs_unfinished', 'Imports, exports and other jobs that customers wait for.', (db) => countRows(db, JOBS)),
  single('sterna_jobs_oldest_seconds', 'Time since the oldest unfinished job was requested.', (db) => ageOfOldest(db, JOBS)),
  single('sterna_fold_lag_seconds', 'Age of the oldest outcome of an email that is not added up yet: figures are this far behind.', (db) =>
    ageOfOldest(db, ENTRIES),
  ),
  { name: 'sterna_fold_waiting', help: 'Changes of counts that are not added up yet.', labels: ['ledger'], read: countDeltas },
  single(
    'sterna_ledger_drift_projects',
    'Projects whose counts were wrong in the last seven days, and were corrected; at most 20.',
    async (db) => (await listDrift(db)).length,
  ),
  single(
    'sterna_sending_pauses',
    'Pauses after refusals by the provider: of all sending, or of a sender domain.',
    async (db) => (await readPauses(db)).length,
  ),
  {
    name: 'sterna_sending_held',
    help: '1 while sending is held: in full, by a person or after a restore, or in part, after a failover.',
    labels: ['kind'],
    read: readHolds,
  },
  { name: 'sterna_nodes', help: 'Running nodes.', labels: ['kind'], read: countNodes },
]

/** Registers what is read from the database, when somebody asks and at most every five seconds. Without a database these have no value. */
export function registerDatabaseGauges(registry: Registry, db: Pool, ledgers: FoldedLedger[]) {
  const refresh = atMostEvery(READ_EVERY_MS, readAll)
  const newGauge = ({ name, help, labels: labelNames = [] }: Omit<Reading, 'read'>) =>
    new Gauge({ name, help, labelNames, registers: [registry], collect: refresh })
  const gauges = READINGS.map((reading) => ({ ...reading, gauge: newGauge(reading) }))
  const up = newGauge({ name: 'sterna_database_up', help: '1 if the database answers, 0 if not.' })

  async function readAll() {
    const results = await Promise.allSettled(
      gauges.map(async ({ gauge, read }) => {
        gauge.reset()
        for (const { value, labels = {} } of await read(db, ledgers)) gauge.set(labels, value)
      }),
    )
    up.set(results.some(({ status }) => status === 'fulfilled') ? 1 : 0)
  }
}

/** Connections of this process: of requests and background work, and of the sender alone. */
export function registerPoolGauges(registry: Registry) {
  new Gauge({
    name: 'sterna_pool_connections',
    help: 'Connections to the database, by pool and by what they do.',
    labelNames: ['pool', 'state'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { name, total, idle } of poolStates()) {
        this.set({ pool: name, state: 'idle' }, idle)
        this.set({ pool: name, state: 'busy' }, total - idle)
      }
    },
  })
  new Gauge({
    name: 'sterna_pool_waiting',
    help: 'Requests and background work that wait for a connection.',
    labelNames: ['pool'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { name, waiting } of poolStates()) this.set({ pool: name }, waiting)
    },
  })
}
