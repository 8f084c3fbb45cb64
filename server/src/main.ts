import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import type { Parts } from './app.ts'
import { logClaimCode } from './auth/claim-code.ts'
import { holdIfRestored } from './backup/restored-mark.ts'
import { createOutages, type Outages } from './db/connections/outages.ts'
import { isDatabaseUnavailable } from './db/errors/unavailable.ts'
import { connect } from './db/index.ts'
import { migrate } from './db/migrate.ts'
import { checkDatabase, type Database, openDatabase } from './db/open.ts'
import { keepsPreparedStatements } from './db/pooler.ts'
import { type WhenReachable, whenReachable } from './db/when-reachable.ts'
import { withClient } from './db/with-client.ts'
import { syncWithTransport } from './domains/sender-domains/sync-with-transport.ts'
import type { App, Deps } from './http/core/types.ts'
import type { Readiness } from './http/health.ts'
import { type Config, hasMetrics, loadConfig } from './lib/config.ts'
import { ConfigError } from './lib/errors/config-error.ts'
import { readMasterKeys } from './lib/master-key.ts'
import { createLog, type Log } from './lib/process/log.ts'
import { VERSION } from './lib/process/version-number.ts'
import { deriveSecrets } from './lib/secrets.ts'
import { checkDatabaseIdentity } from './nodes/check-identity.ts'
import { explainBudget, readConnectionBudget } from './nodes/connection-budget.ts'
import { checkSecret } from './nodes/instance.ts'
import { joinNodes } from './nodes/join.ts'
import { announce, type Presence } from './nodes/presence.ts'
import { buildWorkerApp } from './worker-app.ts'

// By default V8 lets a busy heap grow to several times its live size: an import of 5 MB took 130 MB more, with this flag 20 MB.
setFlagsFromString('--heap-growing-percent=40')

/** Deadline for stopping. Replies to messages already handed over may take 15 s of it. */
const DRAIN_MS = 25_000
/** Deadline for requests in progress when this process stops. */
const LAST_REQUESTS_MS = 15_000
const DASHBOARD = fileURLToPath(new URL('../../dashboard/dist/', import.meta.url))

/** Run in reverse order, however far the start got. */
type Undo = { step: string; run: () => Promise<unknown> }
type Started = { undo: Undo[]; database?: Database; cancel: AbortController; outages: Outages }

/** Starts this process in its role. It stops on a signal, or by the returned `stop`. `parts` are for tests: no setting changes them. */
export async function start(env: Record<string, string | undefined>, parts: Parts = {}) {
  const config = loadConfig(env)
  const outages = createOutages()
  const log = createLog(config.logLevel, undefined, outages.isKnown)
  const started: Started = { undo: [], cancel: new AbortController(), outages }
  const starting = boot(config, log, started, parts)
  const stop = stopper(starting, started, log)
  const byNpm = env.npm_lifecycle_event !== undefined
  exitOnSignals(stop, () => started.database?.abort(), { log, byNpm, withinMs: DRAIN_MS + config.shutdownDelayMs })
  try {
    await starting
  } catch (err) {
    const cancelled = started.cancel.signal.aborted
    await stop()
    if (!cancelled) throw err
  }
  return { stop }
}

async function boot(config: Config, log: Log, started: Started, parts: Parts) {
  const { undo, cancel, outages } = started
  const secrets = deriveSecrets(...readMasterKeys(config))
  const reach = whenReachable({ log, limitMs: config.databaseWaitMs, signal: cancel.signal })
  const database = await openDatabase(config, log, cancel.signal)
  started.database = database
  undo.push({ step: 'database', run: database.stop })
  const pooler = database.pooledUrl ? { names: false } : undefined
  const db = connect({ url: database.pooledUrl ?? database.url, max: config.poolSize, log, pooler, outages })
  undo.push({ step: 'pool', run: () => db.destroy() })

  const deps = { config, db, secrets, log }
  const readiness = { accepting: false, isStarting: true }
  const kind = config.role === 'worker' ? 'worker' : 'api'
  const app = kind === 'api' ? await buildApiApp(deps, readiness, parts) : await buildWorkerApp(deps, readiness)
  const closeApp = once(() => close(app))
  undo.push({ step: 'metrics', run: await startMetrics(app, deps) })
  undo.push({ step: 'traces', run: await startTraces(app, deps) })
  // Before the database is reached: while the node waits for it, /health and /ready say so.
  await listen(app, config)
  undo.push({ step: 'listener', run: closeApp })

  if (config.databaseUrl) await reach('connect', () => checkDatabase(database))
  if (pooler) pooler.names = await reach('ask the pooler', () => keepsPreparedStatements(database.pooledUrl!))
  await reach('migrate', () => migrate(database.url, log))
  await reach('check the secret', () => checkSecret(db, secrets, { adopt: true }))
  await reach('check which database this is', () => checkDatabaseIdentity(db, log))
  await reach('look for a restored backup', () => holdIfRestored(db, config.dataDir, log))
  const transport = config.transportKind
  const presence = await reach('join the installation', () =>
    joinNodes({
      db,
      log,
      transport,
      announce: () => announce({ url: database.url, kind, isWorker: config.role !== 'api', transport, log, outages }),
      follow: syncWithTransport,
    }),
  )
  undo.push({ step: 'presence', run: presence.leave })
  const stopSubmission = await startSubmissionOf(deps, app)
  undo.push({ step: 'submission', run: stopSubmission })
  const tooMany = explainBudget(await reach('count connections', () => readConnectionBudget(db, config)))
  if (tooMany) log.warn({}, tooMany)
  const stopWorker =
    config.role === 'api' ? async () => {} : await startWorkerProcess(deps, { url: database.url, presence, reach, outages })
  undo.push({ step: 'worker', run: stopWorker })
  // In parallel: a slow request must not use up the worker's time for its last replies.
  undo.push({ step: 'http', run: () => Promise.all([closeApp(), stopSubmission(), stopWorker()]) })
  await reach('look for the first account', () => logClaimCode(deps))
  outages.watch(log, () => withClient(database.url, 'sterna-check', (client) => client.query('select pg_current_xact_id()')))
  undo.push({ step: 'outages', run: async () => outages.stop() })
  readiness.isStarting = false
  readiness.accepting = true
  undo.push({ step: 'readiness', run: () => turnUnready(readiness, config) })
  log.info({ version: VERSION, role: config.role, url: config.publicUrl, pid: process.pid }, greeting(config))
}

/** Requests are still answered for a while: a load balancer that asks for readiness needs time to notice. */
async function turnUnready(readiness: Readiness, { role, shutdownDelayMs }: Config) {
  readiness.accepting = false
  if (role !== 'worker') await sleep(shutdownDelayMs)
}

/** Returns a function that stops it, which may be called more than once. */
async function startWorkerProcess(deps: Deps, options: { url: string; presence: Presence; reach: WhenReachable; outages: Outages }) {
  const [{ startWorker }, { startWorkerAgenda }] = await Promise.all([import('./worker.ts'), import('./agenda.ts')])
  const agenda = startWorkerAgenda(deps.db)
  const worker = await startWorker(deps, { ...options, agenda })
  return once(async () => {
    await Promise.all([worker.stop(), agenda.stop()])
  })
}

/** Accepts messages by SMTP, if a port is set. Returns a function that stops it, which may be called more than once. */
async function startSubmissionOf({ config, ...deps }: Deps, app: App) {
  const { submission } = config
  if (!submission) return async () => {}
  const { startSubmission } = await import('./send/submission/listener.ts')
  const listener = await startSubmission({ ...deps, config: { ...config, submission } }, app)
  return once(listener.stop)
}

/** Runs a step at its first call; further calls wait for the same run. */
function once(run: () => Promise<void>) {
  let running: Promise<void> | undefined
  return () => {
    running ??= run()
    return running
  }
}

/** Imported only if there is a setting for them. */
async function startMetrics(app: App, deps: Deps) {
  if (!hasMetrics(deps.config)) return async () => {}
  const [{ serveMetrics }, { FOLDED_LEDGERS }] = await Promise.all([import('./monitoring/serve-metrics.ts'), import('./ledgers.ts')])
  return serveMetrics(app, deps, FOLDED_LEDGERS)
}

async function startTraces(app: App, { config, log }: Deps) {
  if (!config.tracing) return async () => {}
  const [{ startTracing }, { traceRequests }] = await Promise.all([
    import('./lib/process/tracing.ts'),
    import('./monitoring/trace-requests.ts'),
  ])
  traceRequests(app)
  return startTracing(config.tracing, { service: { 'service.name': 'sterna', 'sterna.role': config.role, 'host.name': hostname() }, log })
}

/** Imported on demand, like the worker: a process with one role does not load the code of the other. */
async function buildApiApp(deps: Deps, readiness: Readiness, parts: Parts) {
  const { buildApp } = await import('./app.ts')
  return buildApp(deps, { readiness, dashboard: existsSync(DASHBOARD) ? DASHBOARD : undefined, ...parts })
}

async function listen(app: App, { host, port }: Config) {
  await app.listen({ host, port }).catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'EADDRINUSE') throw new ConfigError(`Port ${port} on ${host} is in use. Stop the program that uses it, or set PORT.`)
    if (err.code === 'EACCES') throw new ConfigError(`Not allowed to listen on port ${port}. Use a port above 1023, or set PORT.`)
    throw err
  })
}

/**
 * Finishes the requests that have arrived. A kept-alive connection goes idle only after its last response, so idle ones are closed
 * repeatedly until none is left; a client that takes too long to send its request is disconnected.
 */
async function close(app: App) {
  const sweep = setInterval(() => app.server.closeIdleConnections(), 50)
  const cut = setTimeout(() => app.server.closeAllConnections(), LAST_REQUESTS_MS)
  await app.close().finally(() => {
    clearInterval(sweep)
    clearTimeout(cut)
  })
}

const greeting = ({ role, publicUrl }: Config) =>
  role === 'worker'
    ? 'Sterna worker is ready'
    : `Sterna is ready: open ${publicUrl} and create your account (API reference: ${publicUrl}/docs)`

/** Stops what was started, newest first. A start in progress is cancelled and awaited, or its database would be left running. */
function stopper(starting: Promise<void>, { undo, cancel }: Started, log: Log) {
  const run = async () => {
    cancel.abort()
    await starting.catch(() => {})
    for (const { step, run } of undo.toReversed()) {
      await run().catch((err: unknown) => log.error({ err, step }, 'could not stop cleanly'))
    }
  }
  return once(run)
}

/** A supervisor may pass on a signal that this process has, too: signals this close together count as one. */
const SAME_SIGNAL_MS = 500

/**
 * The first signal drains within a deadline; the second exits at once. Started by npm, the third: Ctrl-C reaches this process from the
 * terminal and again from npm, on a busy machine seconds later.
 */
function exitOnSignals(stop: () => Promise<void>, abort: () => void, options: { log: Log; byNpm: boolean; withinMs: number }) {
  const { log, byNpm, withinMs } = options
  const exitNow = () => {
    abort()
    process.exit(1)
  }
  const drain = (why: object, code: number) => {
    log.info(why, 'stopping')
    setTimeout(() => {
      log.error({}, 'did not stop in time')
      exitNow()
    }, withinMs).unref()
    stop().then(() => process.exit(code))
  }
  let stopping = false
  let signals = 0
  let signalledAt = 0
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      signals++
      const isSame = performance.now() - signalledAt < SAME_SIGNAL_MS || (byNpm && signals === 2)
      if (stopping && isSame) return
      if (stopping) exitNow()
      stopping = true
      signalledAt = performance.now()
      drain({ signal }, 0)
    })
  }
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (err) => {
      // The job queue does not wait for its notes that jobs have ended. A database that is away must not end the process.
      if (event === 'unhandledRejection' && isDatabaseUnavailable(err))
        return log.error({ err }, 'the database was away, and nothing waited for it')
      log.fatal({ err }, event)
      if (!stopping) drain({ event }, 1)
      stopping = true
    })
  }
}
