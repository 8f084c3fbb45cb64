import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { notFound } from '../lib/errors/errors.ts'
import { uuidFromHex } from '../lib/id.ts'
import { type Secrets, SIGNATURE_LENGTH } from '../lib/secrets.ts'
import { MINUTE } from '../lib/text/units.ts'
import { ANYONE } from './auth/declaration.ts'

/** A rendered page to look at in a frame of the dashboard. */
export type PreviewFrame = { kind: 'page' | 'email' | 'masked-email' | 'sandbox' | 'clicks'; projectId: string; id: string }

/** Long enough to look at it, short enough that a leaked URL is soon worthless. */
export const FRAME_LIFETIME_MS = 15 * MINUTE

export const FrameUrl = z
  .string()
  .describe(
    'Path of a page to show in an `<iframe>`. Needs no credentials, and expires after 15 minutes. `?images=off` blocks remote images.',
  )

const TOKEN = /^([0-9a-z]{6,12})-([0-9a-f]{32})([0-9a-f]{32})-([\w-]+)$/

/** The path of a frame, with a token that holds all it needs: frames are loaded without a cookie. */
export function frameUrlOf(secrets: Secrets, { kind, projectId, id }: PreviewFrame) {
  const expires = (Date.now() + FRAME_LIFETIME_MS).toString(36)
  const payload = `${expires}-${(projectId + id).replaceAll('-', '').toLowerCase()}`
  return `/preview/${kind}/${payload}-${secrets.sign('preview-frame', `${kind} ${payload}`)}`
}

/** A token that is altered, expired or of another kind is a 404. */
export function readFrameToken(secrets: Secrets, kind: PreviewFrame['kind'], token: string): PreviewFrame {
  const [, expires, project, id] = TOKEN.exec(token) ?? notFound('preview', token)
  const [payload, signature] = [token.slice(0, -SIGNATURE_LENGTH - 1), token.slice(-SIGNATURE_LENGTH)]
  const isOurs = secrets.isSigned('preview-frame', `${kind} ${payload}`, signature)
  if (!isOurs || Number.parseInt(expires!, 36) < Date.now()) notFound('preview', token)
  return { kind, projectId: uuidFromHex(project!), id: uuidFromHex(id!) }
}

/** Declaration of every route of a frame. */
export const FRAME_ROUTE = {
  config: ANYONE,
  schema: { hide: true, params: z.object({ token: z.string() }), querystring: z.object({ images: z.string().optional() }) },
} as const

type FrameOptions = {
  images?: string | undefined
  /** A click on a link may open a tab, which is an ordinary one. Still no scripts, forms and access to the dashboard. */
  opensTabs?: boolean
}

/**
 * Sends HTML of a tenant. The sandbox gives the page an origin of its own, without scripts, forms and (unless `opensTabs`) pop-ups: it can reach neither the
 * dashboard nor its cookies. Remote images tell their server that somebody looks, so the caller can do without.
 */
export function sendFrame(reply: FastifyReply, html: string, { images, opensTabs = false }: FrameOptions) {
  const sources = images === 'off' ? 'data:' : 'http: https: data:'
  // Labels have paths of ours, which must not become those of another site.
  const sandbox = opensTabs ? "sandbox allow-popups allow-popups-to-escape-sandbox; base-uri 'none'" : 'sandbox'
  return reply
    .headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `${sandbox}; default-src 'none'; img-src ${sources}; style-src 'unsafe-inline'; frame-ancestors 'self'`,
      'x-frame-options': 'SAMEORIGIN',
      'cache-control': 'no-store',
    })
    .send(html)
}
