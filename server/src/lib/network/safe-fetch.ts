import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { isIP } from 'node:net'
import { type Dispatcher, Pool } from 'undici'
import { KB } from '../text/units.ts'
import type { Dns } from './dns.ts'
import { literalAddress, portOf, refusalOfAddress, refusalOfUrl, type WebhookTarget } from './webhook-target.ts'

export type SafeRequest = {
  url: string
  method: string
  headers: Record<string, string>
  body: string | Buffer | undefined
  timeoutMs: number
  /** Bytes of the reply to read, if any: only for a reply that no customer sees. */
  maxReply?: number
}

/** `status`: the reply. `refused`: the target is not allowed, and nothing was sent. `failed`: no reply. */
export type SafeOutcome =
  | { is: 'status'; status: number; retryAfter: string | undefined; ms: number; text?: string }
  | { is: 'refused'; reason: string; ms: number }
  | { is: 'failed'; reason: string; ms: number }

const MAX_HEADER_BYTES = 16_384
/** Connections of a session: twice the number of concurrent requests, since a connection whose reply is being read is not free yet. */
const MAX_CONNECTIONS = 16
/** A reply whose status is known has this long to end: then its connection can be used again, otherwise it is closed. */
const REST_MS = 1_000

/**
 * The only way to a URL that a customer gives. The name is resolved once, all of its addresses must be allowed, and the connection goes to
 * one of them. Follows no redirect, and by default reads nothing but the status: what the other side says is not shown to the customer, who
 * could otherwise read from our network.
 */
export function createSafeFetch(dns: Dns, target: WebhookTarget) {
  return async ({ timeoutMs, ...request }: SafeRequest, session?: SafeSession): Promise<SafeOutcome> => {
    const began = performance.now()
    const elapsed = () => Math.round(performance.now() - began)
    const find = () => findHost(dns, target, request.url, timeoutMs)
    const host = await (session ? session.find(request.url, find) : find())
    if ('reason' in host) return { ...host, ms: elapsed() }
    const left = timeoutMs - elapsed()
    if (left <= 0) return { is: 'failed', reason: TIMED_OUT, ms: elapsed() }
    const outcome = await (session ? sendInSession(session, host, request, left) : send(host, request, left))
    return { ...outcome, ms: elapsed() }
  }
}

export type SafeFetch = ReturnType<typeof createSafeFetch>

/** A host that may be called, and the address that was checked. */
export type SafeHost = { url: URL; ip: string }
type Refusal = { is: 'refused' | 'failed'; reason: string }

async function findHost(dns: Dns, target: WebhookTarget, text: string, withinMs: number): Promise<SafeHost | Refusal> {
  const read = refusalOfUrl(text, target)
  if ('refusal' in read) return { is: 'refused', reason: read.refusal }
  const resolved = await resolveAddresses(dns, read.url, withinMs)
  if ('reason' in resolved) return { is: 'failed', reason: resolved.reason }
  for (const ip of resolved.addresses) {
    const refusal = refusalOfAddress(ip, portOf(read.url), target.allowed)
    if (refusal) return { is: 'refused', reason: refusal }
  }
  return { url: read.url, ip: resolved.addresses[0]! }
}

type Resolved = { addresses: string[] } | { reason: string }

/** For several requests to one host within seconds: it is looked up and checked once, and connections are used again. */
export function createSafeSession() {
  const found = new Map<string, Promise<SafeHost | Refusal>>()
  const pools = new Map<SafeHost, Pool>()
  return {
    find(url: string, look: () => Promise<SafeHost | Refusal>) {
      const known = found.get(url) ?? look()
      found.set(url, known)
      return known
    },
    poolFor(host: SafeHost) {
      const pool = pools.get(host) ?? openPool(host)
      pools.set(host, pool)
      return pool
    },
    /** A host has answered: a connection that breaks may be one that it has closed since. */
    hasAnswered: false,
    close() {
      for (const pool of pools.values()) void pool.destroy().catch(() => {})
    },
  }
}
export type SafeSession = ReturnType<typeof createSafeSession>

/** Connections to the address that was checked, whatever the name resolves to now. Our own time limit is for the whole request. */
const openPool = ({ url, ip }: SafeHost) =>
  new Pool(url.origin, {
    connections: MAX_CONNECTIONS,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: {
      lookup: (_name, { all }, done) =>
        all
          ? done(null, [{ address: ip, family: isIP(ip) }])
          : (done as (err: null, ip: string, family: number) => void)(null, ip, isIP(ip)),
      // The certificate must be that of the host name.
      ...(literalAddress(url) ? {} : { servername: url.hostname.replace(/\.$/, '') }),
    },
  })

const TIMED_OUT = 'No reply in time.'
const INVALID_HTTP = 'The reply is not valid HTTP.'
const TOO_LARGE = 'The reply is too large.'
const HEADERS_TOO_LARGE = 'The headers of the reply are too large.'

async function resolveAddresses(dns: Dns, url: URL, withinMs: number): Promise<Resolved> {
  const literal = literalAddress(url)
  if (literal) return { addresses: [literal] }
  const name = url.hostname.replace(/\.$/, '')
  const [v4, v6] = await Promise.all([dns.lookUp('A', name, withinMs), dns.lookUp('AAAA', name, withinMs)])
  const addresses = [v4, v6].flatMap((answer) => (answer.is === 'found' ? answer.records : []))
  if (addresses.length) return { addresses }
  const unknown = [v4, v6].find((answer) => answer.is === 'unknown')
  return {
    reason: unknown?.is === 'unknown' ? `The name of the host could not be resolved: ${unknown.reason}.` : 'The host does not exist.',
  }
}

type Reply =
  | { is: 'status'; status: number; retryAfter: string | undefined; text?: string }
  | { is: 'refused'; reason: string }
  | { is: 'failed'; reason: string }

type Outgoing = Omit<SafeRequest, 'url' | 'timeoutMs'>

/** On a connection of its own. */
function send(host: SafeHost, outgoing: Outgoing, timeoutMs: number): Promise<Reply> {
  return new Promise((resolve) => {
    const sent = open(host, outgoing)
    if (!sent) return resolve({ is: 'refused', reason: 'The request has a character that HTTP does not allow.' })
    const end = (reply: Reply) => {
      clearTimeout(timer)
      resolve(reply)
      sent.destroy()
    }
    // Over all: neither a byte a second nor a flood of 1xx replies extends it.
    const timer = setTimeout(() => end({ is: 'failed', reason: TIMED_OUT }), timeoutMs)
    sent.on('response', (response) => {
      const { statusCode = 0, headers } = response
      response.on('error', () => {})
      const reply = { is: 'status', status: statusCode, retryAfter: headers['retry-after'] } as const
      if (outgoing.maxReply === undefined) return end(reply)
      readText(response, outgoing.maxReply, (text) => end(text === undefined ? { is: 'failed', reason: TOO_LARGE } : { ...reply, text }))
    })
    // A reply that nobody asked for. The request no longer owns its socket.
    sent.on('upgrade', (_response, socket) => {
      socket.destroy()
      end({ is: 'failed', reason: INVALID_HTTP })
    })
    // After the end, destroying the request emits an error: it must have a listener.
    sent.on('error', (err: NodeJS.ErrnoException) => end({ is: 'failed', reason: explain(err) }))
    sent.end(outgoing.body)
  })
}

/** On a connection of the session. The client of undici takes a third of the time of that of Node. */
function sendInSession(session: SafeSession, host: SafeHost, { method, headers, body }: Outgoing, timeoutMs: number): Promise<Reply> {
  const began = performance.now()
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | undefined
    let isOver = false
    let drained = 0
    const giveUp = () => {
      isOver = true
      resolve({ is: 'failed', reason: TIMED_OUT })
      controller?.abort(GIVEN_UP)
    }
    let timer = setTimeout(giveUp, timeoutMs)
    const end = (reply: Reply) => {
      clearTimeout(timer)
      resolve(reply)
    }
    const { pathname, search } = host.url
    const request = { path: `${pathname}${search}`, method: method as Dispatcher.HttpMethod, headers, body: body ?? null }
    session.poolFor(host).dispatch(request, {
      onRequestStart(given) {
        controller = given
        if (isOver) given.abort(GIVEN_UP)
      },
      onResponseStart(_given, status, replied) {
        if (status < 200) return
        session.hasAnswered = true
        isOver = true
        const retryAfter = replied['retry-after']
        clearTimeout(timer)
        timer = setTimeout(giveUp, REST_MS)
        resolve({ is: 'status', status, retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter })
      },
      onResponseData(given, chunk) {
        drained += chunk.length
        if (drained > MAX_DRAINED) given.abort(GIVEN_UP)
      },
      onResponseEnd: () => clearTimeout(timer),
      onRequestUpgrade(_given, _status, _replied, socket) {
        socket.destroy()
        end({ is: 'failed', reason: INVALID_HTTP })
      },
      onResponseError(_given, err: NodeJS.ErrnoException) {
        const left = timeoutMs - (performance.now() - began)
        // The host has closed a connection that was kept open, and may not have seen the request.
        if (!isOver && session.hasAnswered && isBroken(err) && left > 0) {
          clearTimeout(timer)
          return resolve(send(host, { method, headers, body }, left))
        }
        end({ is: 'failed', reason: explain(err) })
      },
    })
  })
}

const GIVEN_UP = new Error('given up')
const isBroken = ({ code = '', message }: NodeJS.ErrnoException) =>
  code === 'ECONNRESET' || code === 'EPIPE' || (code === 'UND_ERR_SOCKET' && message !== BAD_UPGRADE)
const BAD_UPGRADE = 'bad upgrade'

/** Bytes of a reply that are read and thrown away, so that its connection can be used again. */
const MAX_DRAINED = 16 * KB

/** Undefined if there is more. */
function readText(response: IncomingMessage, maxBytes: number, done: (text: string | undefined) => void) {
  let text = ''
  response.setEncoding('latin1')
  response.on('data', (chunk: string) => {
    text += chunk
    if (text.length > maxBytes) done(undefined)
  })
  response.on('end', () => done(text))
}

/** Undefined if Node refuses the method or a header. */
function open({ url, ip }: SafeHost, { method, headers, body }: Outgoing) {
  const { request } = url.protocol === 'https:' ? https : http
  try {
    return request({
      // The address that was checked, whatever the name resolves to now.
      host: ip,
      family: isIP(ip),
      port: portOf(url),
      path: `${url.pathname}${url.search}`,
      method,
      headers: { ...headers, host: url.host, ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }) },
      // The certificate must be that of the host name.
      ...(literalAddress(url) ? {} : { servername: url.hostname.replace(/\.$/, '') }),
      agent: false,
      maxHeaderSize: MAX_HEADER_BYTES,
    })
  } catch {
    return undefined
  }
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'The host refused the connection.',
  ECONNRESET: 'The host closed the connection.',
  EHOSTUNREACH: 'The host cannot be reached.',
  ENETUNREACH: 'The host cannot be reached.',
  EPIPE: 'The host closed the connection.',
  ETIMEDOUT: TIMED_OUT,
  HPE_HEADER_OVERFLOW: HEADERS_TOO_LARGE,
  UND_ERR_CONNECT_TIMEOUT: TIMED_OUT,
  UND_ERR_HEADERS_OVERFLOW: HEADERS_TOO_LARGE,
  UND_ERR_SOCKET: 'The host closed the connection.',
}

/** No detail of the other side: see `createSafeFetch`. */
function explain({ code = '', message }: NodeJS.ErrnoException) {
  if (message === BAD_UPGRADE) return INVALID_HTTP
  if (REASONS[code]) return REASONS[code]
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code)) return 'The certificate of the host is not valid.'
  return code.startsWith('HPE_') ? INVALID_HTTP : 'The connection failed.'
}
