import type { RouteOptions } from 'fastify'
import type { Scope } from './scopes.ts'

/**
 * Callers of a route:
 * - `anyone`: no credentials, from anywhere (health, webhooks, public pages)
 * - `visitor`: no credentials, but not from another web site (sign-in and the like)
 * - `session`: a signed-in person; with `role`, one who has at least that role in the project `:id`
 * - `public-key`, `secret-key`: that key and nothing else
 * - `project`: the secret key, or a session with `X-Project-Id`; `role` then binds the person
 */
export type Caller = 'anyone' | 'visitor' | 'session' | 'public-key' | 'secret-key' | 'project'
export type Role = 'OWNER' | 'ADMIN' | 'MEMBER'

/** The type of what is changed, and the verb: `template.update`. */
export type AuditAction = `${string}.${string}`

/**
 * Sender domains that a route asks a key for:
 * - `stored`: that of the record, as it is stored
 * - `new`: that of the request, or of what it makes
 * - `live`: those of everything enabled, SCHEDULED or SENDING that the change changes; such a change needs the scope `send`, too
 */
type SenderQuestion = 'stored' | 'new' | 'live'

/** The declaration of a route. `docs/keys.md` tells users; golden lists show all routes. */
export type RouteDeclaration = {
  caller: Caller
  /** The least role of a person in the project. Null: the route is of no project, or not for people. */
  role: Role | null
  /** Scopes that a secret key needs: one of several, or `all` of them. Null: the route is not for secret keys. */
  scope: Scope | readonly Scope[] | { all: readonly Scope[] } | null
  /** Whether a GET is open to keys with `read`: never secrets, sources of messages, or exports. */
  read: boolean
  senders: 'none' | readonly SenderQuestion[]
  /** Whether the route only stops or reduces what is sent: always, or with some requests. A request that only stops needs no `send`. */
  stops: 'never' | 'some' | 'always'
  /** The action that the audit trail of the project has for a request. The handler writes by `req.db`. */
  audit: AuditAction | null
}

declare module 'fastify' {
  interface FastifyContextConfig extends Partial<RouteDeclaration> {}
}

/** Only a GET can be open to `read`, and it changes nothing. */
const OF_READS = ['caller', 'role', 'scope', 'read'] as const
const OF_WRITES = ['caller', 'role', 'scope', 'senders', 'stops', 'audit'] as const

/** The columns that a route of this method must state. */
export type ColumnOf<Method> = (Method extends 'get' ? typeof OF_READS : typeof OF_WRITES)[number]

/** Columns of a route, or group, that secret keys cannot call. */
export const NO_KEYS = { scope: null, read: false, senders: 'none', stops: 'never' } as const
/** Columns of a group that neither sends emails nor changes what is sent. */
export const SENDS_NOTHING = { senders: 'none', stops: 'never' } as const
/** All columns of a route without credentials. */
export const ANYONE = { caller: 'anyone', role: null, ...NO_KEYS, audit: null } as const satisfies RouteDeclaration

const READS = new Set(['GET', 'HEAD', 'OPTIONS'])

/** A route that does not declare itself must not boot. */
export function requireDeclaration({ method, url, config = {} }: RouteOptions) {
  const isRead = [method].flat().every((each) => READS.has(each))
  const name = `${method} ${url}`
  const missing = (isRead ? OF_READS : OF_WRITES).filter((column) => config[column] === undefined)
  if (missing.length) throw new Error(`${name} does not declare: ${missing.join(', ')}`)
  const isOpenToSecretKeys = config.caller === 'secret-key' || config.caller === 'project'
  if (isOpenToSecretKeys !== (config.scope !== null)) throw new Error(`${name}: routes for secret keys, and only those, have a scope`)
  if (config.caller === 'project' && !config.role) throw new Error(`${name} does not declare the role of a person`)
  if (config.scope === null && (config.read || config.senders !== 'none' || config.stops !== 'never') && !isRead)
    throw new Error(`${name}: only routes for secret keys have senders, stop something, or are open to "read"`)
}
