import { sql } from 'kysely'
import type { Tx } from '../db/index.ts'

/** Payloads of every job, by name. Handlers live with their feature; this list only says what may be asked for. */
export type Jobs = {
  'contacts.bulk': { projectId: string; jobId: string }
  'contacts.import': { projectId: string; jobId: string }
  'contacts.delete-field': { projectId: string; jobId: string }
  'contacts.count-fields': { projectId: string }
  'domains.check-due': Record<string, never>
  'domains.remove-identity': { domain: string }
  'projects.wipe': { projectId: string; since?: string }
  'events.delete-name': { projectId: string; jobId: string }
  'events.forget-contacts': { projectId: string; contactIds: string[]; since?: string }
  'uploads.remove': { projectId: string; keys: string[] }
}

/** A kill uses one up like a failure does. A job a customer waits for must end some time, if only as failed. */
const MAX_ATTEMPTS = 25

type Options = { key?: string; delaySeconds?: number }

/** The job exists exactly when the caller's transaction commits. With a `key` there is at most one that waits. */
export async function enqueue<Name extends keyof Jobs>(tx: Tx, name: Name, payload: Jobs[Name], { key, delaySeconds }: Options = {}) {
  await sql`
    select graphile_worker.add_job(${name}, ${JSON.stringify(payload)}::json, job_key := ${key ?? null}, max_attempts := ${MAX_ATTEMPTS},
      run_at := now() + make_interval(secs => ${delaySeconds ?? null}))
  `.execute(tx)
}
