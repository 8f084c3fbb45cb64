import { sql } from 'kysely'
import type { Tx } from '../db/index.ts'
import { ownerSql } from '../ledger/owner-sql.ts'
import { isId } from '../lib/id.ts'
import { OWNER_FLAG } from './job-shares.ts'

/** Payloads of all jobs, by name. The handlers are in the folders of their features. */
export type Jobs = {
  'billing.cancel': { subscription: string; projectId: string }
  'billing.sync': { customer: string }
  'campaigns.apply-brand': { projectId: string; jobId: string }
  'campaigns.copy-to-segment': { projectId: string; jobId: string }
  'campaigns.export': { projectId: string; jobId: string }
  'contacts.bulk': { projectId: string; jobId: string }
  'contacts.import': { projectId: string; jobId: string }
  'contacts.export': { projectId: string; jobId: string }
  'contacts.delete-field': { projectId: string; jobId: string }
  'contacts.count-fields': { projectId: string }
  'delivery.count-unsubscription': { projectId: string; contactId: string; emailId: string }
  'delivery.export-emails': { projectId: string; jobId: string }
  'delivery.export-suppressions': { projectId: string; jobId: string }
  'domains.check-due': Record<string, never>
  'domains.remove-identity': { domain: string }
  'projects.wipe': { projectId: string; since?: string }
  'events.delete-name': { projectId: string; jobId: string }
  'events.forget-contacts': { projectId: string; contactIds: string[]; since?: string }
  'segments.compute': { projectId: string; jobId: string }
  'segments.copy-members': { projectId: string; from: string; to: string; after: string }
  'segments.count': { projectId: string; segmentId?: string }
  'segments.forget-members': { projectId: string; segmentId: string }
  'webhooks.abandon': { projectId: string; endpointId: string }
  'webhooks.forget': { projectId: string; endpointId: string }
  'webhooks.replay': { projectId: string; jobId: string }
  'workflows.erase': { projectId: string; workflowId: string }
  'workflows.fire': { projectId: string; firingId: string; size?: number }
  'uploads.remove': { projectId: string; keys: string[] }
}

/** A kill counts as an attempt, like a failure. A job that a customer waits for must end eventually, if only as failed. */
const MAX_ATTEMPTS = 25

/** Jobs that keep a core busy for long: of one project only one at a time, so that its others do not take the places of other projects. */
const ONE_AT_A_TIME: ReadonlySet<keyof Jobs> = new Set(['contacts.import'])
/** The queue keeps a row for each name forever, so projects share names. */
const QUEUE_NAMES = 64

function queueNameOf<Name extends keyof Jobs>(name: Name, payload: Jobs[Name]) {
  if (!ONE_AT_A_TIME.has(name) || !('projectId' in payload)) return null
  return `imports ${Number.parseInt(payload.projectId.slice(-4), 16) % QUEUE_NAMES}`
}

/** The owner of the project: owners share the slots of the queue, see job-shares.ts. Jobs of the installation have no flag. */
const flagsSql = (payload: Jobs[keyof Jobs]) =>
  'projectId' in payload && isId(payload.projectId) ? sql`array[${OWNER_FLAG} || ${ownerSql(sql`${payload.projectId}::uuid`)}]` : sql`null`

/** `runAt`: in database time. A job starts within a second of its time. */
type Options = { key?: string; delaySeconds?: number; runAt?: Date }

/** The job exists exactly when the caller's transaction commits. With a `key` at most one such job waits. */
export async function enqueue<Name extends keyof Jobs>(tx: Tx, name: Name, payload: Jobs[Name], options: Options = {}) {
  const { key, delaySeconds, runAt } = options
  await sql`
    select graphile_worker.add_job(${name}, ${JSON.stringify(payload)}::json, queue_name := ${queueNameOf(name, payload)}, job_key := ${key ?? null},
      max_attempts := ${MAX_ATTEMPTS}, flags := ${flagsSql(payload)}, run_at := coalesce(${runAt ?? null}::timestamptz, now() + make_interval(secs => ${delaySeconds ?? null})))
  `.execute(tx)
}
