import type { FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { type Pool, type Tx, transact, withLastStep } from '../db/index.ts'
import { dropRows, OF_DELETED_PROJECT, type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { newId } from '../lib/id.ts'
import { networkOf } from '../lib/network/network.ts'
import { maskQuery } from '../lib/text/mask.ts'
import type { AuditAction } from './auth/declaration.ts'
import type { App } from './core/types.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Requests by key are not in the audit trail: they change one contact, or members of a segment, and there are many of them. */
    auditsOnlyPeople?: boolean
    /** The body has settings: the audit trail has their values too. */
    auditsValues?: boolean
  }
  interface FastifyRequest {
    /** The pool, whose transactions also write the audit entry of this request: one entry, with the first transaction that writes anything. */
    db: Pool
    /** The record that `resource()` found, for the name of the target. */
    record: unknown
    /** A transaction of `db` has ended. */
    hasAuditedTransaction: boolean
    /** Set by a handler whose request is a dry run. */
    changesNothing: boolean
  }
}

/** `onMissing`: a request has succeeded without a transaction that could have written its audit entry. */
export function auditRequests(app: App, db: Pool, onMissing: (route: string) => void) {
  // A handle of its own for a request that is audited, when its handler asks for it.
  const handles = new WeakMap<FastifyRequest, Pool>()
  app.decorateRequest('db', {
    getter(this: FastifyRequest) {
      if (!isAudited(this)) return db
      const handle = handles.get(this) ?? auditing(this, db)
      handles.set(this, handle)
      return handle
    },
  })
  app.decorateRequest('record', null)
  app.decorateRequest('hasAuditedTransaction', false)
  app.decorateRequest('changesNothing', false)
  app.addHook('preSerialization', async (req, reply, payload) => {
    const { method, url } = req.routeOptions
    if (reply.statusCode < 300 && isAudited(req) && !req.hasAuditedTransaction && !req.changesNothing) onMissing(`${method} ${url}`)
    return payload
  })
}

function isAudited({ routeOptions: { config }, person }: FastifyRequest) {
  return typeof config.audit === 'string' && !(config.auditsOnlyPeople && !person)
}

function auditing(req: FastifyRequest, db: Pool) {
  // One id for all attempts and transactions of the request: the first that commits keeps the entry.
  const id = newId()
  return withLastStep(db, async (tx, result) => {
    req.hasAuditedTransaction = true
    const action = req.routeOptions.config.audit!
    const projectId = projectOf(req, result)
    if (projectId)
      await insertEntry(tx, { id, projectId, action, ...actorOfRequest(req), ...describeChange(req, result) }, { onlyIfWritten: true })
  })
}

/** For a request that changes nothing here, such as one that opens a page of the billing provider. */
export const auditWithoutChange = (req: FastifyRequest) => transact(req.db, (tx) => sql`select pg_current_xact_id()`.execute(tx))

type Entry = {
  id: string
  projectId: string
  action: AuditAction
  actorType: 'user' | 'key' | 'system'
  actorId?: string | null
  targetId?: string | null
  targetName?: string | null
  changes?: { field: string; value?: unknown }[]
  network?: string
}

/** An entry for what Sterna does without a request. */
export const auditSystem = (tx: Tx, entry: Pick<Entry, 'projectId' | 'action' | 'targetId' | 'targetName' | 'changes'>) =>
  insertEntry(tx, { id: newId(), actorType: 'system', ...entry })

const insertEntry = (tx: Tx, entry: Entry, { onlyIfWritten = false } = {}) => {
  const { id, projectId, action, actorType, actorId = null, targetId = null, targetName = null, changes = [], network = null } = entry
  const actorName =
    actorType === 'user'
      ? sql`(select email from users where id = ${actorId}::uuid)`
      : sql`(select k.name from api_keys k where k.project_id = p.id and k.id = ${actorId}::uuid)`
  return sql`
    insert into audit_entries
      (project_id, id, created_at, actor_type, actor_id, actor_name, action, target_type, target_id, target_name, changes, network)
    select p.id, ${id}, clock_timestamp(), ${actorType}, ${actorId}::text, ${actorName}, ${action}, ${action.split('.')[0]},
      ${targetId}::text, ${targetName}::text, ${JSON.stringify(changes)}::jsonb, ${network}::text
    from projects p
    where p.id = ${projectId} and p.deleted_at is null
      -- A transaction that has written, or locked, nothing has no id.
      and (${!onlyIfWritten} or pg_current_xact_id_if_assigned() is not null)
    on conflict do nothing
  `.execute(tx)
}

const actorOfRequest = (req: FastifyRequest): Pick<Entry, 'actorType' | 'actorId' | 'network'> => ({
  ...(req.person ? { actorType: 'user', actorId: req.person.userId } : { actorType: 'key', actorId: req.project?.keyId ?? null }),
  network: networkOf(req.ip),
})

type Described = { id?: unknown; projectId?: unknown; name?: unknown; domain?: unknown; url?: unknown; email?: unknown }
const described = (value: unknown): Described => (typeof value === 'object' && value !== null ? value : {})
const textOrNull = (value: unknown) => (typeof value === 'string' ? value.slice(0, MAX_NAME) : null)

/** A URL may have tokens, and the entry is kept for 400 days: the target is named by its host. */
const hostOf = (url: unknown) => (typeof url === 'string' && URL.canParse(url) ? new URL(url).host : undefined)

/** A setting without the queries of its URLs, for the same reason. */
function withoutQueries(value: unknown): unknown {
  if (typeof value === 'string') return /^https?:/i.test(value) ? maskQuery(value) : value
  if (Array.isArray(value)) return value.map(withoutQueries)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutQueries(inner)]))
}

const MAX_NAME = 200
const MAX_VALUE_CHARACTERS = 1_000
/** Their names contain personal data. */
const NAMELESS = new Set(['contact', 'email', 'suppression'])

/** A request that makes a project, or joins one, has none yet. */
const projectOf = (req: FastifyRequest, result: unknown) =>
  req.project?.id ?? textOrNull(described(result).projectId) ?? textOrNull(described(result).id)

/** The result of a transaction is often the record that was made or changed, or its id. */
function describeChange(req: FastifyRequest, result: unknown): Pick<Entry, 'targetId' | 'targetName' | 'changes'> {
  const { audit, auditsValues, caller } = req.routeOptions.config
  const [type] = audit!.split('.')
  const { id: ownId, ...others } = req.params as Record<string, string>
  // Below `/projects/:id/` the project is not the target, unless the path names no other.
  const [named = ownId] = caller === 'session' ? Object.values(others) : [ownId ?? Object.values(others)[0]]
  const { id = typeof result === 'string' ? result : named, name, domain, url, email } = described(result)
  const stored = described(req.record)
  const body = described(req.body) as Record<string, unknown>
  return {
    targetId: type === 'suppression' ? null : textOrNull(id),
    targetName: NAMELESS.has(type!) ? null : textOrNull(name ?? domain ?? email ?? hostOf(url) ?? stored.name ?? hostOf(stored.url)),
    changes: Object.entries(body)
      .filter(([, value]) => value !== undefined)
      .map(([field, value]) => ({
        field,
        ...(auditsValues && JSON.stringify(value).length <= MAX_VALUE_CHARACTERS ? { value: withoutQueries(value) } : {}),
      })),
  }
}

const KEPT_DAYS = 400

export const dropOldAuditEntries = (tx: Tx, limit: number) =>
  dropRows(tx, 'audit_entries', sql`created_at < now() - make_interval(days => ${KEPT_DAYS})`, limit)

export const wipeAudit = (tx: Tx, scope: WipeScope) => wipeRows(tx, 'audit_entries', scope, { which: OF_DELETED_PROJECT })
