import fastifyStatic from '@fastify/static'
import { notFound } from '../lib/errors/errors.ts'
import { ANYONE } from './auth/declaration.ts'
import type { App } from './core/types.ts'

/**
 * Serves the built dashboard: hashed files cached for a year, and its page for every path that is not a route of the API. The build has a
 * compressed copy beside each file.
 */
export async function serveDashboard(app: App, folder: string) {
  await app.register(fastifyStatic, { root: folder, serve: false, cacheControl: false, preCompressed: true })

  app.get('/assets/*', { config: ANYONE, schema: { hide: true } }, (req, reply) =>
    reply.header('cache-control', 'public, max-age=31536000, immutable').sendFile(`assets/${(req.params as { '*': string })['*']}`),
  )

  app.setNotFoundHandler((req, reply) => {
    const path = req.url.split('?')[0]!
    const isRead = req.method === 'GET' || req.method === 'HEAD'
    const wantsPage = isRead && (LINKED_PAGE.test(path) || req.headers.accept?.includes('text/html'))
    if (PUBLIC_FILE.test(path) && isRead) return reply.header('cache-control', 'public, max-age=3600').sendFile(path.slice(1))
    if (!wantsPage) return notFound('route', `${req.method} ${path}`)
    return reply.header('cache-control', 'no-cache').sendFile('index.html')
  })
}

/** The start page, and pages that account emails link to: mail scanners and link checkers ask for them with any `Accept`, often by HEAD. */
const LINKED_PAGE = /^\/(?:(?:verify-email|reset-password|accept-invitation)?$|app(?:\/|$))/

/** Files beside index.html: an icon, the theme script. */
const PUBLIC_FILE = /^\/[\w-]+\.(?:js|svg|ico|png|txt|webmanifest)$/
