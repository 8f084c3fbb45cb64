import type { FastifyReply, FastifyRequest } from 'fastify'
import { maybeOne, type Pool } from '../../db/index.ts'
import { createCache } from '../../lib/collections/cache.ts'
import { createWindowCounter } from '../../lib/concurrency/window-counter.ts'
import { fail, notFound } from '../../lib/errors/errors.ts'
import { isId } from '../../lib/id.ts'
import { isInNetworks } from '../../lib/network/cidr.ts'
import { MINUTE } from '../../lib/text/units.ts'
import type { App, Deps } from '../core/types.ts'
import { createRateLimiter, type RateState } from '../limits/rate-limit.ts'
import { READS, refuseCrossSite } from './cross-site.ts'
import { type Role, requireDeclaration } from './declaration.ts'
import { StaleKey } from './key-check.ts'
import { type CallingProject, WITHOUT_LIMITS } from './key-lookup.ts'
import { missingScope, refuseScope } from './scopes.ts'
import { createKeyFinder, createSecretKeys, type SecretKeys } from './secret-keys.ts'
import { findSession, type Person, readSessionCookie } from './session-cookie.ts'

type Project = CallingProject

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Changes nothing although its method may: a disabled project may call it. */
    onlyReads?: boolean
    /** The handler verifies the key in its own transaction (`checkCallers`), so a cached lookup is enough here. */
    keyCheckedLater?: boolean
    /** A request without a body counts as one with `{}`. */
    bodyOptional?: boolean
  }
  interface FastifyInstance {
    secretKeys: SecretKeys
  }
  interface FastifyRequest {
    /** Set for `public-key`, `secret-key` and `project` routes, and for `session` routes with a `role`. */
    project: Project
    /** Set for `session` routes, and for `project` routes called with a cookie. */
    person: Person
    role: Role
    /** The request was counted against the rate limit of its project. */
    isCounted: boolean
    /** Runs work that verifies `req.project` in its transaction. If the key was changed since it was cached, it is looked up and the work run again. */
    withCheckedKey: <Result>(work: () => Promise<Result>) => Promise<Result>
  }
}

const RANK: Record<Role, number> = { MEMBER: 1, ADMIN: 2, OWNER: 3 }
const MAX_REMEMBERED = 10_000

export function authenticate(app: App, deps: Deps) {
  const { db, config } = deps
  const keys = createKeyFinder(deps)
  app.addHook('onClose', () => keys.close())
  const limiter = config.rateLimitPerMinute > 0 ? createRateLimiter(db, config.rateLimitPerMinute) : undefined
  const sessionCalls = createWindowCounter({ limit: 3_000, windowMs: MINUTE })
  const remembered = createCache<string, Project>({ maxEntries: MAX_REMEMBERED })

  const takeTurn = async (projectId: string) => !limiter || (await limiter.take(projectId)).allowed
  app.decorate('secretKeys', createSecretKeys(keys, takeTurn))

  app.addHook('onRoute', requireDeclaration)
  app.decorateRequest('project', null as unknown as Project)
  app.decorateRequest('person', null as unknown as Person)
  app.decorateRequest('role', null as unknown as Role)
  app.decorateRequest('isCounted', false)
  app.decorateRequest('withCheckedKey', async function <Result>(this: FastifyRequest, work: () => Promise<Result>) {
    try {
      return await work()
    } catch (err) {
      // Its rights are cached, too.
      if (!(err instanceof StaleKey || (err as { code?: string }).code === 'INSUFFICIENT_SCOPE')) throw err
      remembered.delete(readBearer(this))
      await findKey(this)
      return work()
    }
  })

  app.addHook('onRequest', async (req, reply) => {
    const { caller, role, onlyReads } = req.routeOptions.config
    if (caller === undefined || caller === 'anyone') return
    if (caller === 'visitor') return refuseCrossSite(req, config.publicUrl)
    if (caller === 'session') {
      await signIn(req)
      if (role) await joinProject(req, (req.params as { id?: string }).id ?? '', role)
      return
    }
    if (caller === 'project' && !req.headers.authorization && readSessionCookie(req, config.publicUrl)) await enterByHeader(req, role!)
    else await admitKey(req, reply)
    if (req.project.disabled && !onlyReads && !READS.has(req.method)) fail('PROJECT_DISABLED')
  })
  // A refused request, also for its body, may not have verified its key: the next request with this key is looked up again.
  app.addHook('onError', async (req, reply, err) => {
    if (req.project && !req.person && req.routeOptions.config.keyCheckedLater) remembered.delete(readBearer(req))
    // A request refused by a limit of the endpoint does not count against the limit of the project.
    if (req.isCounted && (err as { code?: string }).code === 'RATE_LIMIT_EXCEEDED')
      writeRateHeaders(reply, limiter?.giveBack(req.project.id))
  })

  async function signIn(req: FastifyRequest) {
    refuseCrossSite(req, config.publicUrl)
    req.person = (await findSession(req, deps)) ?? fail('UNAUTHORIZED')
    const session = req.person.tokenHash.toString('base64')
    if (sessionCalls.count(session)) fail('RATE_LIMIT_EXCEEDED', { retryAfter: sessionCalls.retryAfter(session) })
  }

  async function joinProject(req: FastifyRequest, projectId: string, needed: Role) {
    const member = isId(projectId) && (await findMembership(db, projectId, req.person.userId))
    if (!member) return notFound('project', projectId)
    if (RANK[member.role] < RANK[needed])
      fail('FORBIDDEN', { message: `Only ${needed === 'OWNER' ? 'the owner' : 'an owner or admin'} may do this.` })
    req.project = member
    req.role = member.role
  }

  async function enterByHeader(req: FastifyRequest, needed: Role) {
    await signIn(req)
    const projectId = req.headers['x-project-id']
    if (typeof projectId !== 'string') fail('BAD_REQUEST', { message: 'Name the project in the X-Project-Id header.' })
    const member = isId(projectId) && (await findMembership(db, projectId, req.person.userId))
    if (!member) fail('PROJECT_ACCESS_DENIED')
    if (RANK[member.role] < RANK[needed]) fail('FORBIDDEN')
    req.project = member
    req.role = member.role
  }

  /** Sets the project of the key, and refuses a key that may not call this route. */
  async function findKey(req: FastifyRequest) {
    const { caller, scope, read = false, keyCheckedLater } = req.routeOptions.config
    const kind = caller === 'public-key' ? 'pk' : 'sk'
    const key = readBearer(req)
    const isOutside = ({ networks }: Project) => networks !== null && !isInNetworks(req.ip, networks)
    const missingOf = ({ scopes }: Project) => scope && missingScope(scopes, { method: req.method, scope, read })
    const cached = keyCheckedLater && key.startsWith(`${kind}_`) ? remembered.get(key) : undefined
    // The cache may be stale: only for handlers that verify the key again, and never a reason to refuse.
    const isCached = cached !== undefined && !isOutside(cached) && !missingOf(cached)
    const project = isCached ? cached : await keys.find(req.ip, kind, key)
    if (isOutside(project)) fail('INVALID_API_KEY')
    const missing = missingOf(project)
    if (missing) refuseScope(missing)
    // It does not know whether the project is disabled.
    if (keyCheckedLater && !isCached) remembered.set(key, { ...project, disabled: false })
    req.project = keyCheckedLater ? { ...project, disabled: false } : project
    keys.noteUse(project, kind)
  }

  async function admitKey(req: FastifyRequest, reply: FastifyReply) {
    await findKey(req)
    if (limiter) {
      const state = await limiter.take(req.project.id)
      writeRateHeaders(reply, state)
      if (!state.allowed) fail('RATE_LIMIT_EXCEEDED', { retryAfter: state.resetSeconds })
      req.isCounted = true
    }
  }
}

function writeRateHeaders(reply: FastifyReply, state: RateState | undefined) {
  if (!state) return
  const { limit, remaining, resetSeconds } = state
  reply.headers({ 'ratelimit-limit': limit, 'ratelimit-remaining': remaining, 'ratelimit-reset': resetSeconds })
}

function readBearer(req: FastifyRequest) {
  const given = req.raw.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'authorization').length
  if (given > 1) fail('INVALID_API_KEY', { message: 'Send one Authorization header.' })
  const [, key] = /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '') ?? []
  return key ?? fail('MISSING_AUTH')
}

const findMembership = (db: Pool, projectId: string, userId: string) =>
  maybeOne<Project & { role: Role }>(db)`
    select ${WITHOUT_LIMITS}, m.role
    from memberships m join projects p on p.id = m.project_id
    where m.project_id = ${projectId} and m.user_id = ${userId} and p.deleted_at is null
  `
