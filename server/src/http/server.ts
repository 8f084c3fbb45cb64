import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyHttpOptions,
  type FastifyRequest,
  LogController,
  type RawServerDefault,
} from 'fastify'
import { serializerCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import type { Config } from '../lib/config.ts'
import { AppError, type ErrorCode, invalid, notFound, tryLater } from '../lib/errors/errors.ts'
import type { ByteBudgetLimits } from '../lib/fair/byte-budget.ts'
import { createRests } from '../lib/fair/rests.ts'
import { newId } from '../lib/id.ts'
import type { SpanContext } from '../lib/process/tracing.ts'
import { MB, MINUTE } from '../lib/text/units.ts'
import { auditRequests } from './audit.ts'
import { authenticate } from './auth/auth.ts'
import { allowCors, CORS_HEADERS } from './auth/cors.ts'
import type { Caller } from './auth/declaration.ts'
import { securityHeaders } from './auth/security-headers.ts'
import { envelope, replyWithError } from './core/errors.ts'
import { isHealthPath } from './core/health-path.ts'
import { malformed, readJson } from './core/json.ts'
import type { App, Deps } from './core/types.ts'
import { compileValidator } from './core/validate.ts'
import type { Readiness } from './health.ts'
import { watchOwners } from './limits/active-owners.ts'
import { limitAdmission } from './limits/admission.ts'
import { limitBodies } from './limits/body-budget.ts'
import { limitLargeAnswers } from './limits/large-answers.ts'
import { createLargeBodyParser, isLargeBody } from './limits/large-bodies.ts'
import { limitLargeRequests } from './limits/large-requests.ts'
import { limitSlowReads } from './limits/slow-reads.ts'
import { guardLinkHosts } from './link-host-guard.ts'
import { countRequestSources } from './request-sources.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Bytes of a JSON body as received; Content-Length may be missing. */
    bodySize: number
    /** SHA-256 of them, in hex, of a request with an Idempotency-Key. */
    bodyHash: string | null
    /** Its span; null while requests are not traced. */
    span: SpanContext | null
  }
}

const BODY_LIMIT = MB
/** Rest of an owner after a request that took long: after a longer one, the request waited for others rather than others for it. */
const MAX_REST_MS = 100

export const serverOptions = ({ config, log }: Pick<Deps, 'log'> & { config: Pick<Config, 'trustProxy'> }) =>
  ({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: requestId,
    requestIdHeader: false,
    trustProxy: config.trustProxy ?? false,
    bodyLimit: BODY_LIMIT,
    requestTimeout: MINUTE,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    // While draining every response has "Connection: close"; requests that have arrived are served.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 2_000 },
    exposeHeadRoutes: true,
    clientErrorHandler: refuseAtSocket,
  }) satisfies FastifyHttpOptions<RawServerDefault>

type Options = {
  readiness?: Readiness
  onUnaudited?: ((route: string) => void) | undefined
  /** Without a limit on the requests in progress. */
  admitsAll?: boolean | undefined
  bodyLimits?: Partial<ByteBudgetLimits> | undefined
}

/** The server without routes: everything that all routes share. */
export async function createServer(deps: Deps, { readiness, onUnaudited, admitsAll = false, bodyLimits }: Options = {}): Promise<App> {
  const headers = headersByCaller(await securityHeaders(deps.config))
  const app = Fastify({
    ...serverOptions(deps),
    frameworkErrors: (err, req, reply) => {
      // The router refuses these before any hook runs, so the common headers are set here.
      reply.headers(headers()).header('x-request-id', req.id)
      return replyWithError(err, req, reply)
    },
  }).withTypeProvider<ZodTypeProvider>()

  app.setValidatorCompiler(compileValidator)
  app.setSerializerCompiler(serializerCompiler)
  app.setErrorHandler(replyWithError)
  readBodies(app)
  // Hooks on every request use callbacks: a promise each would cost more than their work.
  app.addHook('onRequest', (req, reply, done) => {
    reply.headers(headers(req.routeOptions.config.caller))
    reply.header('x-request-id', req.id)
    done(readiness?.isStarting && !isHealthPath(req.routeOptions.url) ? tryLater('This node is starting.') : undefined)
  })
  if (deps.log.isLevelEnabled('debug')) logResponses(app)
  if (!admitsAll) limitAdmission(app, { ...deps, requestIdOf: requestId, headers: headers('public-key') })
  countRequestSources(app, deps)
  guardLinkHosts(app, deps)
  allowCors(app)
  authenticate(app, deps)
  auditRequests(app, deps.db, onUnaudited ?? ((route) => deps.log.error({ route }, 'changed something without an audit entry')))
  app.addHook('onRequest', refuseCompressed)
  limitBodies(app, deps.config, bodyLimits)
  const isAlone = watchOwners(app)
  const rests = createRests({ maxMs: MAX_REST_MS, isNeeded: (owner) => !isAlone(owner) })
  limitSlowReads(app, { ...deps.config, rests })
  limitLargeRequests(app, { rests, isAlone })
  limitLargeAnswers(app)
  app.addHook('preValidation', refuseBadInput)
  return app
}

function headersByCaller({ pages, data }: Awaited<ReturnType<typeof securityHeaders>>) {
  const others = { 'secret-key': data, 'public-key': { ...data, ...CORS_HEADERS } }
  return (caller?: Caller): Record<string, string> => (caller === 'secret-key' || caller === 'public-key' ? others[caller] : pages)
}

function logResponses(app: App) {
  app.addHook('onResponse', (req, reply, done) => {
    // The route's pattern, not the URL: paths and queries may contain tokens.
    const response = { method: req.method, route: req.routeOptions.url, status: reply.statusCode, ms: Math.round(reply.elapsedTime) }
    req.log.debug(response, 'responded')
    done()
  })
}

export const refuseUnknown = (app: App) => app.setNotFoundHandler((req) => notFound('route', `${req.method} ${req.url.split('?')[0]}`))

const SANE_ID = /^[\w.:-]{1,128}$/

function requestId({ headers }: IncomingMessage) {
  const given = headers['x-request-id']
  return typeof given === 'string' && SANE_ID.test(given) ? given : newId()
}

/** Accepts JSON only. The size is checked while reading, before parsing. */
function readBodies(app: App) {
  app.removeAllContentTypeParsers()
  app.decorateRequest('bodySize', 0)
  app.decorateRequest('bodyHash', null)
  app.decorateRequest('span', null)
  const parseLarge = createLargeBodyParser()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (req, bytes: Buffer, done) => {
    req.bodySize = bytes.length
    if (req.headers['idempotency-key'] !== undefined) req.bodyHash = createHash('sha256').update(bytes).digest('hex')
    if (isLargeBody(bytes)) return void parseLarge(bytes, req.project?.owner ?? 'anonymous').then((value) => done(null, value), done)
    try {
      done(null, bytes.length ? readJson(bytes) : undefined)
    } catch (err) {
      done(err as Error)
    }
  })
}

type Done = (err?: Error) => void

/** Only for methods with a body. */
function refuseCompressed({ method, headers }: FastifyRequest, _reply: unknown, done: Done) {
  const compressed =
    headers['content-encoding'] !== undefined && headers['content-encoding'] !== '' && method !== 'GET' && method !== 'HEAD'
  done(compressed ? new AppError('UNSUPPORTED_MEDIA_TYPE', { message: 'Compressed request bodies are not accepted.' }) : undefined)
}

function refuseBadInput(req: FastifyRequest, _reply: unknown, done: Done) {
  try {
    checkInput(req)
    done()
  } catch (err) {
    done(err as Error)
  }
}

function checkInput(req: FastifyRequest) {
  if (req.url.includes('%00')) refuseNul(req)
  const wantsBody = req.routeOptions.schema?.body !== undefined
  if (req.body === undefined && req.routeOptions.config.bodyOptional) req.body = {}
  const isObject = typeof req.body === 'object' && req.body !== null && !Array.isArray(req.body)
  if (wantsBody && !isObject) malformed('The body must be a JSON object.')
}

function refuseNul(req: FastifyRequest) {
  const [path = '', ...query] = req.url.split('?')
  if (path.includes('%00')) notFound('resource', path)
  const pair =
    query
      .join('?')
      .split('&')
      .find((part) => part.includes('%00')) ?? ''
  invalid(pair.split('=')[0]!, 'Must not contain the character U+0000.', 'invalid_string')
}

/** Input that Node's parser refuses never becomes a request, so the envelope is written to the socket directly. */
function refuseAtSocket(err: Error & { code?: string }, socket: Socket) {
  if (err.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return void socket.destroy()
  const code: ErrorCode = SOCKET_ERRORS[err.code ?? ''] ?? 'BAD_REQUEST'
  const error = new AppError(code)
  const requestId = newId()
  const body = JSON.stringify(envelope(error, requestId))
  const head = [
    `HTTP/1.1 ${error.statusCode} ${code}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-ID: ${requestId}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

const SOCKET_ERRORS: Record<string, ErrorCode> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
}
