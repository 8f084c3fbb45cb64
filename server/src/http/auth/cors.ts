import type { App } from '../core/types.ts'
import { ANYONE } from './declaration.ts'

/** Headers of responses that pages of other origins may read. */
export const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'X-Request-ID, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, Idempotency-Replayed',
}
const PREFLIGHT = {
  ...CORS_HEADERS,
  'access-control-allow-methods': 'POST',
  'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key, Idempotency-Replay',
  'access-control-max-age': '86400',
}

/** Allows requests of other origins on routes for the public key, which pages use, without cookies. All other routes refuse them. */
export function allowCors(app: App) {
  app.addHook('onRoute', ({ url, config }) => {
    if (config?.caller !== 'public-key') return
    app.options(url, { config: ANYONE, schema: { hide: true } }, (_req, reply) => reply.status(204).headers(PREFLIGHT).send())
  })
}
