import { STATUS_CODES } from 'node:http'
import type { RouteOptions } from 'fastify'
import { z } from 'zod'
import { ERRORS, type ErrorCode } from '../../lib/errors/errors.ts'
import type { Caller } from '../auth/declaration.ts'
import { ErrorEnvelope, PlainError } from '../core/errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Errors of the handler, besides those that follow from the caller, the method and the path. For the OpenAPI document only. */
    refusals?: ErrorCode[]
  }
}

const READS = new Set(['GET', 'HEAD'])
/** Any query may contain U+0000, and the database may be unavailable. */
const ALWAYS = [422, 503]
/** Malformed, too large or of another type: also on routes that do not read the body. */
const WITH_BODY = [400, 413, 415]

/** Missing credentials, those of another or a disabled project, and rate limits. */
const BY_CALLER: Record<Caller, number[]> = {
  anyone: [],
  visitor: [403, 429],
  session: [401, 429],
  'public-key': [401, 403, 429],
  'secret-key': [401, 403, 429],
  project: [400, 401, 403, 429],
}

/** Only handlers fail plainly; a refusal before the handler has the envelope, under the same status. */
const PlainOrEnvelope = z.union([PlainError, ErrorEnvelope])

/** Every status of a route with its schema: those it declares, those that follow from its declaration, and `default` for the rest. */
export function responsesOf(route: RouteOptions, declared: Record<string, unknown> = {}): Record<string, unknown> {
  const refusals = refusalsOf(route).map((status) => [status, ErrorEnvelope])
  const own = Object.entries(declared).map(([status, schema]) => [status, schema === PlainError ? PlainOrEnvelope : schema])
  return { ...Object.fromEntries(refusals), ...Object.fromEntries(own), default: ErrorEnvelope }
}

function refusalsOf({ method, url, config }: RouteOptions): number[] {
  const { caller = 'anyone', role, refusals = [] } = config ?? {}
  const isWrite = ![method].flat().every((each) => READS.has(each))
  return [
    ...ALWAYS,
    ...BY_CALLER[caller],
    ...(isWrite ? WITH_BODY : []),
    // A session may lack the role; a browser may send the request for another site.
    ...(caller === 'session' && (role || isWrite) ? [403] : []),
    ...(url.includes(':') ? [404] : []),
    ...refusals.map((code) => ERRORS[code][0]),
  ]
}

/** The reason phrase of a status. */
export const nameStatus = (status: string) => STATUS_CODES[status] ?? 'Unexpected Error'
