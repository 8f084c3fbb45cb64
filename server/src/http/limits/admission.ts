import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createCache } from '../../lib/collections/cache.ts'
import { tryLater } from '../../lib/errors/errors.ts'
import { createCounts } from '../../lib/fair/counts.ts'
import { equalShare } from '../../lib/fair/share.ts'
import type { Log } from '../../lib/process/log.ts'
import { overloadRefusals } from '../../lib/process/metrics.ts'
import { createRareWarning } from '../../lib/process/rare-warning.ts'
import { SECOND } from '../../lib/text/units.ts'
import { envelope } from '../core/errors.ts'
import { isHealthPath } from '../core/health-path.ts'
import type { App } from '../core/types.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The client whose share this request takes; null when it takes none. */
    admittedFor: string | null
  }
}

/**
 * Time that requests may spend in a node that is overloaded: more requests would not be answered sooner, and all of them would wait. And requests
 * that may be in progress at any pace.
 */
const USUAL = { always: 128, targetMs: 200 }
/**
 * When an overload lasts for half a second, fewer may be in progress: refusing the others takes most of the node's time, and each step of a
 * request waits for it. Where requests wait for something else, such as a slow database, fewer at once would only mean fewer answers; so if the
 * pace falls, the limit is the usual one again until the overload is over.
 */
const STRICT = { afterMs: SECOND / 2, always: 16, targetMs: 60, leastPace: 0.5 }
/**
 * Requests that may be in progress during a burst, which is the first moment after a calm second. Once the pace of the busy node is known, at most
 * what it answers in twice the target.
 */
const BURST = 1_000
const BURST_MS = 250
const CALM_MS = SECOND
/** A node with this many requests in progress is busy: its pace is what it can answer. */
const BUSY = 32
/** Clients within their share are admitted beyond the limit, up to this multiple of it. */
const HARD = 2
/** The pace is measured in windows of this length, and each counts for a quarter; longer ones count for as many. */
const WINDOW_MS = 100
const WEIGHT = 1 / 4
const MAX_CLIENTS_KNOWN = 10_000
const RETRY_SECONDS = 1

type Options = {
  log: Log
  requestIdOf: (req: IncomingMessage) => string
  /** Of every response. */
  headers: Record<string, string>
}

/**
 * Refuses requests that would wait too long, before they are authenticated and their bodies are read: a refusal costs a fraction of a
 * request. As many may be in progress as are answered in 200 ms at the current pace, at least 128; fewer while an overload lasts. Beyond it, clients
 * with more than an equal share of them are refused, so that a client that floods a node does not shut out the others.
 */
export function limitAdmission(app: App, { log, requestIdOf, headers }: Options) {
  const warn = createRareWarning(log)
  const pace = createPace(() => byClient.sum() >= BUSY)
  const byClient = createCounts()
  const known = createCache<string, true>({ maxEntries: MAX_CLIENTS_KNOWN })

  /** Credentials that were accepted before. Requests with others count for their address: invented ones are no clients of their own. */
  function knownClientOf(given: IncomingHttpHeaders) {
    const credentials = credentialsOf(given)
    return credentials !== undefined && known.get(credentials) ? credentials : undefined
  }

  /** When more than usual was in progress, since the last calm second and the last time. */
  let overSince = Number.NEGATIVE_INFINITY
  let lastOverAt = Number.NEGATIVE_INFINITY

  const strict = createStrictness(pace.answered)

  function isTooMuch(client: string) {
    const inProgress = byClient.sum()
    if (inProgress < STRICT.always) return false
    const now = performance.now()
    const { always, targetMs } = strict.isOn(now, now - lastOverAt <= CALM_MS) ? STRICT : USUAL
    const usual = Math.max(always, (pace.perSecond() * targetMs) / SECOND)
    if (inProgress < usual) return false
    if (now - lastOverAt > CALM_MS) overSince = now
    lastOverAt = now
    const limit = now - overSince < BURST_MS ? Math.max(usual, pace.burst()) : usual
    if (inProgress < limit) return false
    const share = Math.max(1, equalShare(limit, byClient.counts.size))
    return byClient.of(client) >= share || countFairly(share) >= limit * HARD
  }

  /** Without what clients have beyond their share: a burst of one client does not shut out the others. */
  function countFairly(share: number) {
    let count = 0
    for (const each of byClient.counts.values()) count += Math.min(each, share)
    return count
  }

  function release(req: FastifyRequest) {
    const client = req.admittedFor
    if (client === null) return
    req.admittedFor = null
    byClient.change(client, -1)
  }

  function note() {
    overloadRefusals.inc()
    warn({ inProgress: byClient.sum(), perSecond: Math.round(pace.perSecond()) }, 'overloaded: refusing requests')
  }

  // Known clients are refused before Fastify sees the request: at ten times the load that a node can answer, the rest of it would be too much.
  const handle = app.server.listeners('request')[0] as (req: IncomingMessage, res: ServerResponse) => void
  app.server.removeListener('request', handle)
  app.server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    const client = byClient.sum() < STRICT.always ? undefined : knownClientOf(req.headers)
    if (client === undefined || !isTooMuch(client)) return handle(req, res)
    note()
    const requestId = requestIdOf(req)
    const body = JSON.stringify(envelope(OVERLOADED, requestId))
    const length = String(Buffer.byteLength(body))
    res.writeHead(OVERLOADED.statusCode, { ...headers, ...REFUSAL_HEADERS, 'x-request-id': requestId, 'content-length': length })
    res.end(body)
  })

  app.decorateRequest('admittedFor', null)
  app.addHook('onRequest', (req, reply, done) => {
    if (isExempt(req)) return done()
    const client = knownClientOf(req.headers) ?? req.ip
    if (isTooMuch(client)) {
      note()
      return refuse(req, reply)
    }
    req.admittedFor = client
    byClient.change(client, 1)
    // Only for a client that disconnects while it sends: a complete request is still processed, and counts until that ends.
    reply.raw.once('close', () => req.raw.complete || release(req))
    done()
  })
  app.addHook('onSend', (req, _reply, payload, done) => {
    if (req.admittedFor !== null) {
      pace.count()
      release(req)
      const credentials = req.project || req.person ? credentialsOf(req.headers) : undefined
      if (credentials !== undefined && !known.get(credentials)) known.set(credentials, true)
    }
    done(null, payload)
  })
}

const credentialsOf = ({ authorization, cookie }: IncomingHttpHeaders) => authorization ?? cookie

/** Routes that are always answered, and those whose requests take long and have limits of their own. */
const isExempt = ({ routeOptions: { url, config } }: FastifyRequest) =>
  isHealthPath(url) || config.slowRead !== undefined || config.formFile !== undefined

const REFUSAL_HEADERS = { 'retry-after': String(RETRY_SECONDS), 'content-type': 'application/json' }

/** Without an Error and a line in the log for each: these cost more than the rest of a refusal. */
function refuse(req: FastifyRequest, reply: FastifyReply) {
  void reply
    .status(OVERLOADED.statusCode)
    .headers(REFUSAL_HEADERS)
    .send(JSON.stringify(envelope(OVERLOADED, req.id)))
}

const OVERLOADED = tryLater('This node is overloaded. Try again shortly.', RETRY_SECONDS)

/** Decides whether the limit of a lasting overload applies. `answered`: the number of all answers so far. */
function createStrictness(answered: () => number) {
  /** As of the last check; the pace before the limit became strict is 0 until it is known. */
  let state: { isOn: boolean; at: number; answered: number; usualPace: number } | undefined

  function check(now: number) {
    state ??= { isOn: false, at: now, answered: answered(), usualPace: 0 }
    const passed = now - state.at
    if (passed < (state.usualPace ? SECOND : STRICT.afterMs)) return state.isOn
    const perSecond = (answered() - state.answered) / (passed / SECOND)
    const usualPace = state.usualPace || perSecond
    const isOn = perSecond >= STRICT.leastPace * usualPace
    // Once it was given up, it stays so in this overload.
    state = { isOn, at: now, answered: answered(), usualPace: isOn ? usualPace : Number.POSITIVE_INFINITY }
    return isOn
  }

  return {
    isOn(now: number, isOverloaded: boolean) {
      if (!isOverloaded) state = undefined
      return isOverloaded && check(now)
    },
  }
}

/** How many requests are answered in a second, averaged over the last windows. */
function createPace(isBusy: () => boolean) {
  let startedAt = performance.now()
  let answered = 0
  let answeredInAll = 0
  let average = 0
  /** The same of windows in which the node was busy: an idle one answers as many as arrive. */
  let whenBusy = Number.POSITIVE_INFINITY
  const turn = () => {
    const elapsed = performance.now() - startedAt
    if (elapsed < WINDOW_MS) return
    const rate = answered / (elapsed / SECOND)
    average += (rate - average) * (1 - (1 - WEIGHT) ** (elapsed / WINDOW_MS))
    // A longer window was idle for a part of it.
    if (isBusy() && elapsed < 2 * WINDOW_MS) whenBusy = Number.isFinite(whenBusy) ? whenBusy + (rate - whenBusy) * WEIGHT : rate
    answered = 0
    startedAt = performance.now()
  }
  return {
    count() {
      answered++
      answeredInAll++
      turn()
    },
    perSecond: () => average,
    answered: () => answeredInAll,
    burst: () => Math.min(BURST, (2 * whenBusy * USUAL.targetMs) / SECOND),
  }
}
