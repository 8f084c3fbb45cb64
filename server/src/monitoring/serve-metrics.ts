import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { Registry } from 'prom-client'
import type { Pool } from '../db/index.ts'
import { ANYONE } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { ConfigError } from '../lib/errors/config-error.ts'
import { fail } from '../lib/errors/errors.ts'
import { measureProcess, registry, requestSeconds } from '../lib/process/metrics.ts'
import { type FoldedLedger, registerDatabaseGauges, registerPoolGauges } from './database-gauges.ts'

type Metrics = { contentType: string; read: () => Promise<string> }

/** Metrics of this process and of the installation. Nothing is measured or read until somebody may ask: without settings this is not called. */
function collectMetrics(db: Pool, ledgers: FoldedLedger[]): Metrics {
  measureProcess()
  const own = new Registry()
  registerDatabaseGauges(own, db, ledgers)
  registerPoolGauges(own)
  const all = Registry.merge([registry, own])
  return { contentType: all.contentType, read: () => all.metrics() }
}

/** Measures the requests of the app, and answers `GET /metrics`: on a port of its own, with METRICS_TOKEN also on that of the app. */
export async function serveMetrics(app: App, { config, db }: Pick<Deps, 'config' | 'db'>, ledgers: FoldedLedger[]) {
  const metrics = collectMetrics(db, ledgers)
  measureRequests(app)
  if (config.metrics.token) answerOnApp(app, metrics, config.metrics.token)
  if (config.metrics.port === undefined) return async () => {}
  return listen(metrics, { ...config.metrics, port: config.metrics.port })
}

function measureRequests(app: App) {
  app.addHook('onResponse', (req, reply, done) => {
    const status = `${Math.floor(reply.statusCode / 100)}xx`
    requestSeconds.observe({ method: req.method, route: req.routeOptions.url ?? 'unknown', status }, reply.elapsedTime / 1_000)
    done()
  })
}

const digest = (text: string) => createHash('sha256').update(text).digest()

function answerOnApp(app: App, { contentType, read }: Metrics, token: string) {
  const expected = digest(`Bearer ${token}`)
  app.get('/metrics', { config: ANYONE, schema: { hide: true } }, async (req, reply) => {
    if (!timingSafeEqual(digest(req.headers.authorization ?? ''), expected))
      fail('UNAUTHORIZED', { message: 'Send METRICS_TOKEN as "Authorization: Bearer <token>".' })
    return reply.type(contentType).send(await read())
  })
}

/** Without authentication: whoever reaches the port may read. Returns a function that stops it. */
async function listen({ contentType, read }: Metrics, { host, port }: { host: string; port: number }) {
  const server = createServer((req, res) => {
    if (req.method !== 'GET' || req.url?.split('?')[0] !== '/metrics') return void res.writeHead(404).end()
    read().then(
      (text) => res.writeHead(200, { 'content-type': contentType }).end(text),
      () => res.writeHead(500).end(),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (err: NodeJS.ErrnoException) =>
      reject(new ConfigError(`Port ${port} on ${host} cannot be used for metrics (${err.code}). Set METRICS_PORT to another one.`)),
    )
    server.listen(port, host, resolve)
  })
  return async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}
