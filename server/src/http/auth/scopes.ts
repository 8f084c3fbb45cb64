import { fail } from '../../lib/errors/errors.ts'
import type { RouteDeclaration } from './declaration.ts'

/** Scopes of a secret key. docs/keys.md has the meaning of each. */
export const SCOPES = ['full', 'send', 'events', 'contacts', 'templates', 'campaigns', 'workflows', 'read'] as const
export type Scope = (typeof SCOPES)[number]

type ScopedRoute = Pick<RouteDeclaration, 'read'> & { method: string; scope: NonNullable<RouteDeclaration['scope']> }

const READS = new Set(['GET', 'HEAD'])

/** The scope that a key lacks for a route. `granted` is null for the key pair of a project, which may do everything. */
export function missingScope(granted: readonly Scope[] | null, { method, scope, read }: ScopedRoute): Scope | undefined {
  if (granted === null || granted.includes('full')) return undefined
  if (READS.has(method) && read && granted.includes('read')) return undefined
  if (typeof scope === 'object' && 'all' in scope) return scope.all.find((each) => !granted.includes(each))
  const needed = [scope].flat() as Scope[]
  return needed.some((each) => granted.includes(each)) ? undefined : needed[0]
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
