import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { isIP } from 'node:net'
import { KB } from '../text/units.ts'
import type { Dns } from './dns.ts'
import { literalAddress, portOf, refusalOfAddress, refusalOfUrl, type WebhookTarget } from './webhook-target.ts'

export type SafeRequest = {
  url: string
  method: string
  headers: Record<string, string>
  body: string | undefined
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

/**
 * The only way to a URL that a customer gives. The name is resolved once, all of its addresses must be allowed, and the connection goes to
 * one of them. Follows no redirect, and by default reads nothing but the status: what the other side says is not shown to the customer, who
 * could otherwise read from our network.
 */
export function createSafeFetch(dns: Dns, target: WebhookTarget) {
  return async ({ timeoutMs, ...request }: SafeRequest, session?: SafeSession): Promise<SafeOutcome> => {
    const began = performance.now()
    const elapsed = () => Math.round(performance.now() - began)
    const read = refusalOfUrl(request.url, target)
    if ('refusal' in read) return { is: 'refused', reason: read.refusal, ms: elapsed() }
    const look = () => resolveAddresses(dns, read.url, timeoutMs)
    const resolved = await (session ? session.resolve(read.url.hostname, look) : look())
    if ('reason' in resolved) return { is: 'failed', reason: resolved.reason, ms: elapsed() }
    for (const ip of resolved.addresses) {
      const refusal = refusalOfAddress(ip, portOf(read.url), target.allowed)
      if (refusal) return { is: 'refused', reason: refusal, ms: elapsed() }
    }
    const left = timeoutMs - elapsed()
    if (left <= 0) return { is: 'failed', reason: TIMED_OUT, ms: elapsed() }
    const outcome = await send(read.url, resolved.addresses[0]!, { ...request, agent: session?.agentFor(read.url) ?? false }, left)
    return { ...outcome, ms: elapsed() }
  }
}

export type SafeFetch = ReturnType<typeof createSafeFetch>

type Resolved = { addresses: string[] } | { reason: string }
export type SafeSession = ReturnType<typeof createSafeSession>

/**
 * For several requests to one host within seconds: its name is resolved once, and connections are used again. The addresses are checked as
 * for a single request.
 */
export function createSafeSession() {
  const resolved = new Map<string, Promise<Resolved>>()
  const agents = { 'http:': new http.Agent({ keepAlive: true }), 'https:': new https.Agent({ keepAlive: true }) }
  return {
    resolve(host: string, look: () => Promise<Resolved>) {
      const known = resolved.get(host) ?? look()
      resolved.set(host, known)
      return known
    },
    agentFor: ({ protocol }: URL) => agents[protocol as keyof typeof agents],
    close() {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}

const TIMED_OUT = 'No reply in time.'
const INVALID_HTTP = 'The reply is not valid HTTP.'
const TOO_LARGE = 'The reply is too large.'

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

type Outgoing = Omit<SafeRequest, 'url' | 'timeoutMs'> & { agent: http.Agent | false }

function send(url: URL, ip: string, outgoing: Outgoing, timeoutMs: number): Promise<Reply> {
  const began = performance.now()
  return new Promise((resolve) => {
    const sent = open(url, ip, outgoing)
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
      if (outgoing.maxReply !== undefined)
        return readText(response, outgoing.maxReply, (text) =>
          end(text === undefined ? { is: 'failed', reason: TOO_LARGE } : { ...reply, text }),
        )
      if (!outgoing.agent) return end(reply)
      resolve(reply)
      drain(response, (isAtEnd) => (isAtEnd ? clearTimeout(timer) : end(reply)))
    })
    // A reply that nobody asked for. The request no longer owns its socket.
    sent.on('upgrade', (_response, socket) => {
      socket.destroy()
      end({ is: 'failed', reason: INVALID_HTTP })
    })
    // After the end, destroying the request emits an error: it must have a listener.
    sent.on('error', (err: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      // The host has closed a connection that was kept open, and may not have seen the request.
      const isStale = sent.reusedSocket && (err.code === 'ECONNRESET' || err.code === 'EPIPE')
      const left = timeoutMs - (performance.now() - began)
      if (isStale && left > 0) return resolve(send(url, ip, { ...outgoing, agent: false }, left))
      end({ is: 'failed', reason: explain(err) })
    })
    sent.end(outgoing.body)
  })
}

/** Bytes of a reply that are read and thrown away, so that its connection can be used again. */
const MAX_DRAINED = 16 * KB

/** Reads a short reply to its end; a long one ends with its connection. */
function drain(response: IncomingMessage, done: (isAtEnd: boolean) => void) {
  let bytes = 0
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > MAX_DRAINED) done(false)
  })
  response.on('end', () => done(true))
}

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
function open(url: URL, ip: string, { method, headers, body, agent }: Outgoing) {
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
      agent,
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
  HPE_HEADER_OVERFLOW: 'The headers of the reply are too large.',
}

/** No detail of the other side: see `createSafeFetch`. */
function explain({ code = '' }: NodeJS.ErrnoException) {
  if (REASONS[code]) return REASONS[code]
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code)) return 'The certificate of the host is not valid.'
  return code.startsWith('HPE_') ? INVALID_HTTP : 'The connection failed.'
}
