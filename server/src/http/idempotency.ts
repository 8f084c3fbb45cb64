import type { FastifyReply, FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { isLockTimeout } from '../db/errors/sql-state.ts'
import { many, type Pool, scalar, type Tx, transact } from '../db/index.ts'
import { prepared } from '../db/prepared.ts'
import { insertRows } from '../db/rows.ts'
import { type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { AppError, fail } from '../lib/errors/errors.ts'

const KEY = /^[\x20-\x7e]{1,255}$/

/**
 * Lock timeout of a batch. A single request waits for a concurrent request with the same key, for less than the statement timeout of 5 s,
 * so that it gets a proper response. A larger batch does not wait for the duplicate of one of its requests: it fails and is retried in
 * halves.
 */
export const lockTimeoutFor = (claims: number) => (claims === 1 ? 4_500 : 50)

const countHeader = ({ raw: { rawHeaders } }: FastifyRequest, wanted: string) =>
  rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === wanted).length

export function readIdempotencyKey(req: FastifyRequest) {
  const key = req.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !KEY.test(key)) {
    fail('BAD_REQUEST', { message: 'Idempotency-Key must be 1 to 255 printable ASCII characters.' })
  }
  // Node joins repeated headers with a comma.
  if (key.includes(', ') && countHeader(req, 'idempotency-key') > 1) fail('BAD_REQUEST', { message: 'Send one Idempotency-Key header.' })
  return key
}

/** `result`: the ids that the first request created, which a refused repeat gets. */
export type KeyClaim = {
  projectId: string
  key: string
  request: string
  result: Record<string, unknown>
  /** From when its lifetime counts, if not from now. */
  livesFrom?: Date | null
  /** SHA-256 of the body, in hex. */
  bodyHash?: string | null
}

/**
 * Claims the keys in the transaction of the work; both commit together or not at all. Returns, in order, whether a claim got its key. The
 * unique index is the lock: a concurrent request with the same key waits here for the commit of the first, then conflicts. An expired key
 * is taken over. `alone`: the transaction serves one request only, so it may fail with the response to it.
 */
export async function claimKeys(tx: Tx, claims: KeyClaim[], { ttlHours, alone }: { ttlHours: number; alone: boolean }): Promise<boolean[]> {
  if (!claims.length) return []
  const firsts = new Map<string, KeyClaim>()
  for (const claim of claims) if (!firsts.has(keyName(claim))) firsts.set(keyName(claim), claim)

  const claimed = await many(tx, claimKeysSql([...firsts.values()], ttlHours)).catch((err) =>
    Promise.reject(isLockTimeout(err) && alone ? stillRunning(claims[0]!) : err),
  )

  const won = new Set(claimed.map((row) => firsts.get(keyName(row))))
  return claims.map((claim) => won.has(claim))
}

/** The refusals of claims that got no key, in order. Read after the work of the transaction: the winner may be in the same batch. */
export async function explainRepeats(tx: Tx, lost: Pick<KeyClaim, 'projectId' | 'key' | 'request' | 'bodyHash'>[]): Promise<AppError[]> {
  const originals = await findOriginals(tx, lost)
  return lost.map((claim) => {
    const original = originals.get(keyName(claim))
    return original ? new RepeatedKey(original, claim.bodyHash ?? null) : stillRunning(claim)
  })
}

export const keyName = ({ projectId, key }: Pick<KeyClaim, 'projectId' | 'key'>) => `${projectId} ${key}`

const claimKeysSql = (claims: KeyClaim[], ttlHours: number) => prepared<{ projectId: string; key: string }>`${requireKeys(claims)}
      on conflict (project_id, key) do update set
        request = excluded.request, status_code = excluded.status_code, result = excluded.result, created_at = now(),
        lives_from = excluded.lives_from, body_hash = excluded.body_hash
      where coalesce(t.lives_from, t.created_at) <= now() - make_interval(hours => ${ttlHours})
      returning project_id as "projectId", key`

/** Optimistic insert: fails as a whole if any key exists, also an expired one. */
export const requireKeys = (claims: KeyClaim[]) => prepared`
      ${insertRows('idempotency_keys', claims, ['projectId', 'key', 'request', 'result', 'livesFrom'], {
        set: { statusCode: sql`200`, bodyHash: sql`decode(r."bodyHash", 'hex')` },
        more: { bodyHash: 'text' },
      })}
      order by r."projectId", r.key -- consistent lock order: avoids deadlocks`

export type Original = {
  projectId: string
  key: string
  request: string
  statusCode: number
  result: object
  emails: object[] | null
  createdAt: Date
  bodyHash: string | null
  /** The contact of the event of the first request. */
  contactId: string | null
}

/** An email names its contact as the first response did, unless one of them was deleted. */
async function findOriginals(tx: Tx, lost: Pick<KeyClaim, 'projectId' | 'key'>[]) {
  if (!lost.length) return new Map<string, Original>()
  const rows = await many<Original>(tx)`
    select k.project_id as "projectId", k.key, k.request, k.status_code as "statusCode", k.result, k.created_at as "createdAt", encode(k.body_hash, 'hex') as "bodyHash",
      (select e.contact_id from events e where e.project_id = k.project_id and e.id = (k.result ->> 'event')::uuid) as "contactId",
      (select jsonb_agg(jsonb_build_object('contact', jsonb_build_object('id', e.contact_id, 'email', e.to_address), 'email', created.id)
         order by created.position)
       from jsonb_array_elements_text(k.result -> 'emails') with ordinality as created(id, position)
       left join emails e on e.project_id = k.project_id and e.id = created.id::uuid) as emails
    from idempotency_keys k
    where (k.project_id, k.key) in (
      select * from unnest(${lost.map(({ projectId }) => projectId)}::uuid[], ${lost.map(({ key }) => key)}::text[]))
  `
  return new Map(rows.map((row) => [keyName(row), row]))
}

/** The refusal of a repeat. A route that replays answers like the first request instead. */
export class RepeatedKey extends AppError {
  readonly original: Original
  private readonly hasSameBody: boolean

  constructor(original: Original, bodyHash: string | null) {
    const { key, request, statusCode, result, emails, createdAt } = original
    // Keys from before hashes were stored have none.
    const bodyDiffers = bodyHash !== null && original.bodyHash !== null && bodyHash !== original.bodyHash
    super('IDEMPOTENCY_KEY_REUSED', {
      details: {
        key,
        originalRequest: request,
        originalRequestAt: createdAt.toISOString(),
        originalStatusCode: statusCode,
        ...result,
        ...(emails ? { emails } : {}),
        ...(bodyDiffers ? { bodyDiffers } : {}),
      },
    })
    this.original = original
    this.hasSameBody = bodyHash !== null && bodyHash === original.bodyHash
  }

  /** Whether the request asks for the answer of the first one, and is the same. */
  mayReplay(req: FastifyRequest) {
    const { method, url } = req.routeOptions
    return req.headers['idempotency-replay'] === 'true' && this.isRepeatOf(`${method} ${url}`)
  }

  /** Whether the first request was the same. */
  isRepeatOf(request: string) {
    return this.hasSameBody && this.original.request === request
  }
}

/** Answers a repeat like the first request, if it asks for that. */
export function replay<Result>(req: FastifyRequest, reply: FastifyReply, answerOf: (original: Original) => Result | undefined) {
  return (err: unknown): Result => {
    const answer = err instanceof RepeatedKey && err.mayReplay(req) ? answerOf(err.original) : undefined
    if (answer === undefined) throw err
    reply.header('idempotency-replayed', 'true')
    return answer
  }
}

/** For a repeat that timed out waiting for the first request, or whose first request, in the same batch, was refused. */
const stillRunning = ({ key, request }: Pick<KeyClaim, 'key' | 'request'>) =>
  new AppError('IDEMPOTENCY_KEY_REUSED', {
    message: 'A request with this Idempotency-Key is still running.',
    details: { key, originalRequest: request, originalRequestAt: null, originalStatusCode: null },
    retryAfter: 1,
  })

/** Deletes claims of this transaction: a refused request leaves no key. */
export const releaseKeys = (tx: Tx, claims: KeyClaim[]) =>
  sql`
    delete from idempotency_keys where (project_id, key) in (
      select * from unnest(${claims.map(({ projectId }) => projectId)}::uuid[], ${claims.map(({ key }) => key)}::text[]))
  `.execute(tx)

/** The key of the request that made an email lives longer, because the email is sent later. */
export const prolongKeyOfEmail = (tx: Tx, { projectId, id }: { projectId: string; id: string }, livesFrom: Date) =>
  sql`
    update idempotency_keys set lives_from = ${livesFrom}
    where project_id = ${projectId} and lives_from < ${livesFrom} and result @> ${JSON.stringify({ emails: [id] })}::jsonb
  `.execute(tx)

export const wipeKeys = (tx: Tx, scope: WipeScope) => wipeRows(tx, 'idempotency_keys', scope, { key: ['key'] })

/** Pages of the table per transaction. */
const PAGES = 1_000

/** Scans the whole table page by page: an index by age would cost every request that has a key. */
export async function dropExpiredKeys(db: Pool, ttlHours: number) {
  const pages = await scalar<number>(db)`
    select (pg_relation_size('idempotency_keys') / current_setting('block_size')::int)::int
  `
  for (let page = 0; page < pages; page += PAGES) {
    await transact(db, (tx) =>
      sql`
        delete from idempotency_keys where ctid = any(array(
          select ctid from idempotency_keys
          where ctid >= ${`(${page},0)`}::tid and ctid < ${`(${page + PAGES},0)`}::tid and coalesce(lives_from, created_at) <= now() - make_interval(hours => ${ttlHours})
          for update skip locked))
      `.execute(tx),
    )
  }
}
