import type { FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { maybeOne, one, type Tx, transact } from '../db/index.ts'
import { fail } from '../lib/errors.ts'
import type { App, Deps } from './server.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Runs the work in a transaction, at most once per Idempotency-Key. `name` picks what a refused repeat is told of the
     * first result (the ids it made).
     */
    once<T>(work: (tx: Tx) => Promise<T>, name?: (result: T) => Record<string, unknown>): Promise<T>
  }
}

const KEY = /^[\x20-\x7e]{1,255}$/
/** Below the 5 s that any statement may take, so that a twin gets this answer and not a time-out. */
const WAIT_FOR_TWIN = '4500ms'

export function addOnce(app: App, { db, config }: Deps) {
  const ttlHours = config.idempotencyTtlHours
  app.decorateRequest('once', function <
    T,
  >(this: FastifyRequest, work: (tx: Tx) => Promise<T>, name?: (result: T) => Record<string, unknown>) {
    const key = readKey(this)
    if (key === undefined) return transact(db, work)
    const claim = { projectId: this.project.id, key, request: `${this.method} ${this.routeOptions.url}`, ttlHours }
    return transact(db, async (tx) => {
      await claimKey(tx, claim)
      const result = await work(tx)
      if (name) await nameResult(tx, claim, name(result))
      return result
    })
  })
}

function readKey(req: FastifyRequest) {
  const key = req.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !KEY.test(key)) {
    fail('BAD_REQUEST', { message: 'Idempotency-Key must be 1 to 255 printable ASCII characters.' })
  }
  return key
}

type Claim = { projectId: string; key: string; request: string; ttlHours: number }

/** The unique index is the lock: a concurrent twin waits here for our commit, then conflicts. An expired key is taken over. */
async function claimKey(tx: Tx, { projectId, key, request, ttlHours }: Claim) {
  await sql`select set_config('lock_timeout', ${WAIT_FOR_TWIN}, true)`.execute(tx)
  const claimed = await maybeOne(
    tx,
    sql<{ key: string }>`
      insert into idempotency_keys as k (project_id, key, request, status_code)
      values (${projectId}, ${key}, ${request}, 200)
      on conflict (project_id, key) do update set
        request = excluded.request, status_code = excluded.status_code, result = '{}', created_at = now()
      where k.created_at <= now() - make_interval(hours => ${ttlHours})
      returning key
    `,
  ).catch((err: { code?: string }) => (err.code === '55P03' ? stillRunning(key, request) : Promise.reject(err)))
  if (!claimed) await refuseRepeat(tx, projectId, key)
}

async function refuseRepeat(tx: Tx, projectId: string, key: string): Promise<never> {
  const first = await one(
    tx,
    sql<{ request: string; status_code: number; result: object; created_at: Date }>`
      select request, status_code, result, created_at from idempotency_keys where project_id = ${projectId} and key = ${key}
    `,
  )
  return fail('IDEMPOTENCY_KEY_REUSED', {
    details: {
      key,
      originalRequest: first.request,
      originalRequestAt: first.created_at.toISOString(),
      originalStatusCode: first.status_code,
      ...first.result,
    },
  })
}

const stillRunning = (key: string, request: string): never =>
  fail('IDEMPOTENCY_KEY_REUSED', {
    message: 'A request with this Idempotency-Key is still running.',
    details: { key, originalRequest: request, originalRequestAt: null, originalStatusCode: null },
    retryAfter: 1,
  })

const nameResult = (tx: Tx, { projectId, key }: Claim, result: Record<string, unknown>) =>
  sql`update idempotency_keys set result = ${JSON.stringify(result)}::jsonb where project_id = ${projectId} and key = ${key}`.execute(tx)

export async function wipeKeys(tx: Tx, { projectId, before, limit }: { projectId: string; before: string; limit: number }) {
  const { numAffectedRows = 0n } = await sql`
    delete from idempotency_keys where (project_id, key) in (
      select project_id, key from idempotency_keys where project_id = ${projectId} and created_at <= ${before}::timestamptz limit ${limit})
  `.execute(tx)
  return Number(numAffectedRows)
}

export async function dropExpiredKeys(tx: Tx, { ttlHours, limit }: { ttlHours: number; limit: number }) {
  const { numAffectedRows = 0n } = await sql`
    delete from idempotency_keys where (project_id, key) in (
      select project_id, key from idempotency_keys where created_at <= now() - make_interval(hours => ${ttlHours}) limit ${limit} for update skip locked)
  `.execute(tx)
  return Number(numAffectedRows)
}
