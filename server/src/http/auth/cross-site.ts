import type { FastifyRequest } from 'fastify'
import { fail } from '../../lib/errors/errors.ts'

export const READS = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Refuses a write that a browser sends on behalf of another site. */
export function refuseCrossSite(req: FastifyRequest, publicUrl: string) {
  if (!READS.has(req.method)) refuseForeign(req, publicUrl)
}

/**
 * Also used for the one read that changes something. Browsers name the origin of a request in `Sec-Fetch-Site` or at least in `Origin`; a
 * client that sends neither is not a browser, and does not attach a user's cookies by itself.
 */
export function refuseForeign(req: FastifyRequest, publicUrl: string) {
  const site = req.headers['sec-fetch-site']
  const foreign = site ? site !== 'same-origin' && site !== 'none' : isForeignOrigin(req, publicUrl)
  if (foreign) fail('FORBIDDEN', { message: 'This request came from another web site.' })
}

function isForeignOrigin({ headers: { origin, host } }: FastifyRequest, publicUrl: string) {
  if (origin === undefined) return false
  const own = new URL(publicUrl)
  // Reached by another name than PUBLIC_URL, such as a bare IP address, our own pages send that host as their origin.
  return origin !== own.origin && origin !== `${own.protocol}//${host}`
}
