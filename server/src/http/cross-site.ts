import type { FastifyRequest } from 'fastify'
import { fail } from '../lib/errors.ts'

const READS = new Set(['GET', 'HEAD', 'OPTIONS'])

/** A write that a browser sends on behalf of another site is refused. */
export function refuseCrossSite(req: FastifyRequest, publicUrl: string) {
  if (!READS.has(req.method)) refuseForeign(req, publicUrl)
}

/**
 * Also for the one read that changes something. Browsers say where a request comes from, in
 * `Sec-Fetch-Site` or at least in `Origin`; what sends neither is no browser and carries nobody's cookies by accident.
 */
export function refuseForeign(req: FastifyRequest, publicUrl: string) {
  const site = req.headers['sec-fetch-site']
  const foreign = site ? site !== 'same-origin' && site !== 'none' : isForeignOrigin(req, publicUrl)
  if (foreign) fail('FORBIDDEN', { message: 'This request came from another web site.' })
}

function isForeignOrigin({ headers: { origin, host } }: FastifyRequest, publicUrl: string) {
  if (origin === undefined) return false
  const own = new URL(publicUrl)
  // Reached by another name than PUBLIC_URL (a bare IP, say), our own pages still name the host they came from.
  return origin !== own.origin && origin !== `${own.protocol}//${host}`
}
