import { type RawBuilder, sql } from 'kysely'
import { type Pool, transactAtOnce } from './db/index.ts'
import { hearsNotifications } from './db/notifications.ts'
import { prepared } from './db/prepared.ts'
import { alongIndexes } from './delivery/outbox/keyed-plans.ts'
import { type Agenda, startAgenda } from './lib/concurrency/agenda.ts'

/** The first row that a task of a worker may have to do something about. In the order of an index: else PostgreSQL may scan the whole table. */
const TASKS = {
  queuedEmails: sql`emails where state = 'queued' order by lane, project_id, stream_id, id`,
  deferredEmails: sql`emails where state = 'deferred' and due_at <= now() order by due_at`,
  emailsInHand: sql`emails where state = 'sending' order by worker`,
  suspectEmails: sql`emails where state = 'queued' and crashes >= 3 order by id`,
  unknownEmails: sql`emails where state = 'unknown' order by unknown_since`,
  cancelledStreams: sql`streams where cancelled_at is not null order by project_id, id`,
  sendingPauses: sql`sending_pauses`,
  heldRefusals: sql`held_refusals`,
  queuedAccountEmails: sql`account_mails where state = 'queued' order by due_at`,
  keptAccountEmails: sql`account_mails where state = 'kept' and link_expires_at > now() order by link_expires_at`,
  accountEmailsInHand: sql`account_mails where state = 'sending' order by worker`,
  notifications: sql`provider_notifications where due_at <= now() order by due_at`,
  scheduledCampaigns: sql`campaigns where status = 'SCHEDULED' and scheduled_for <= now() order by scheduled_for`,
  campaignsAtWork: sql`
    campaigns where status = 'SENDING' or status = 'CANCELLED' and settled_at is null or deleted_at is not null order by project_id, id`,
  reactions: sql`reactions`,
  dueContactsOfSegments: sql`segment_due where due_at <= now() order by due_at`,
  windowsOfSegments: sql`tracked_segments where windows <> '[]' and swept_at < now() order by swept_at`,
  executions: sql`workflow_executions where due_at <= now() and webhook_host is null order by due_at`,
  webhookSteps: sql`workflow_executions where webhook_host is not null order by project_id, webhook_host, due_at`,
  firings: sql`workflows where next_firing_at <= now() order by next_firing_at`,
  webhookFacts: sql`webhook_outbox`,
  webhookBatches: sql`webhook_batches order by project_id, endpoint_id, id`,
  webhookDeliveries: sql`webhook_deliveries where status = 'pending' order by project_id, endpoint_id, due_at`,
  emailLedger: sql`email_ledger`,
  jobs: sql`graphile_worker._private_jobs where run_at <= now() or locked_at is not null`,
} satisfies Record<string, RawBuilder<unknown>>

export type WorkerTask = keyof typeof TASKS
export type WorkerAgenda = Agenda<WorkerTask>

/** For tests of a worker that has little to do. */
export const EVERYTHING_DUE: WorkerAgenda = { isDue: () => true }

const INTERVALS = { idleMs: 1_000, busyMs: 250 }

const READ = prepared<Record<WorkerTask, boolean>>`
  select ${sql.join(Object.entries(TASKS).map(([task, rows]) => sql`(select true from ${rows} limit 1) is not null as ${sql.ref(task)}`))}`

/** Else a plan that was made while a table was small would read all of it, four times a second. */
const SETTINGS = alongIndexes()

/** Tasks that are due for a worker: one statement per second while it is idle, instead of one per task and interval. */
export const startWorkerAgenda = (db: Pool, intervals = INTERVALS) =>
  startAgenda<WorkerTask>({
    read: async () => (await transactAtOnce(db, [SETTINGS, READ]))[1][0]!,
    ...intervals,
    hearsSignals: hearsNotifications,
  })
