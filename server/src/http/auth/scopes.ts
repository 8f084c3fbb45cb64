import { fail } from '../../lib/errors.ts'

/** What a secret key may do. docs/keys.md has the meaning of each. */
export const SCOPES = ['full', 'send', 'events', 'contacts', 'templates', 'campaigns', 'workflows', 'read'] as const
export type Scope = (typeof SCOPES)[number]

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scope that a secret key needs, or several of which it needs one. A GET is also open to `read`. */
    scope?: Scope | readonly Scope[]
    /** A second scope that a key needs: to start what sends emails. */
    alsoScope?: Scope
    /** A GET that `read` does not open: secrets, sources of messages, exports. */
    unreadable?: boolean
  }
}

type ScopedRoute = { method: string; scope: Scope | readonly Scope[]; alsoScope?: Scope | undefined; unreadable?: boolean | undefined }

const READS = new Set(['GET', 'HEAD'])

/** The scope that a key lacks for a route. `granted` is null for the key pair of a project, which may do everything. */
export function missingScope(granted: readonly Scope[] | null, { method, scope, alsoScope, unreadable }: ScopedRoute): Scope | undefined {
  if (granted === null || granted.includes('full')) return undefined
  if (READS.has(method) && !unreadable && granted.includes('read')) return undefined
  const needed = [scope].flat() as Scope[]
  if (!needed.some((each) => granted.includes(each))) return needed[0]
  return alsoScope && !granted.includes(alsoScope) ? alsoScope : undefined
}

type Grants = { scopes: readonly Scope[] | null; senderDomains: readonly string[] | null }

export const refuseScope = (scope: Scope) =>
  fail('INSUFFICIENT_SCOPE', { message: `This API key needs the scope "${scope}" for this request.`, details: { scope } })

/** People have all scopes: every member may edit and send. */
export const hasScope = ({ scopes }: Pick<Grants, 'scopes'>, scope: Scope) =>
  scopes === null || scopes.includes('full') || scopes.includes(scope)

/** For requests whose body decides that they need another scope. */
export function requireScope(grants: Pick<Grants, 'scopes'>, scope: Scope) {
  if (!hasScope(grants, scope)) refuseScope(scope)
}

/** Refuses to send, or store, an email from a domain that the key may not use. */
export function requireSenderDomain({ senderDomains }: Pick<Grants, 'senderDomains'>, from: string | null | undefined) {
  if (senderDomains === null || !from) return
  const domain = from.slice(from.lastIndexOf('@') + 1).toLowerCase()
  if (!senderDomains.includes(domain))
    fail('INSUFFICIENT_SCOPE', { message: `This API key may not send from ${domain}.`, details: { senderDomains } })
}
