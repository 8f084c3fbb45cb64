import { createHttpClient, type HttpClient } from '../http-client/client.ts'
import { type HttpTarget, httpTarget } from '../http-client/connection.ts'
import { requestText } from '../http-client/request-text.ts'
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
  /** The receiver may get it twice, and can tell by its id. Such a request may use a connection that was used before. */
  mayRepeat?: boolean
}

/** `refused`: the target is not allowed, and nothing was sent. `failed`: no reply. */
type Refusal = { is: 'refused'; reason: string } | { is: 'failed'; reason: string }
type Reply = { is: 'status'; status: number; retryAfter: string | undefined; text?: string } | Refusal
export type SafeOutcome = Reply & { ms: number }

/**
 * The only way to a URL that a customer gives. The name is resolved once, all of its addresses must be allowed, and the connection goes to
 * one of them. Follows no redirect, and by default reads nothing but the status: what the other side says is not shown to the customer, who
 * could otherwise read from our network.
 */
export function createSafeFetch(dns: Dns, target: WebhookTarget) {
  const client = createHttpClient()
  return async (request: SafeRequest, session?: SafeSession): Promise<SafeOutcome> => {
    const { url, timeoutMs } = request
    const began = performance.now()
    const host = await (session ? session.find(url, () => findHost(dns, target, url, timeoutMs)) : findHost(dns, target, url, timeoutMs))
    const left = timeoutMs - (performance.now() - began)
    const reply = 'reason' in host ? host : left > 0 ? await send(client, host, request, left) : LATE
    return { ...reply, ms: Math.round(performance.now() - began) }
  }
}

export type SafeFetch = ReturnType<typeof createSafeFetch>

/** A host that may be called, and the address that was checked. */
type SafeHost = { url: URL; target: HttpTarget }

async function findHost(dns: Dns, target: WebhookTarget, text: string, withinMs: number): Promise<SafeHost | Refusal> {
  const read = refusalOfUrl(text, target)
  if ('refusal' in read) return { is: 'refused', reason: read.refusal }
  const resolved = await resolveAddresses(dns, read.url, withinMs)
  if ('reason' in resolved) return { is: 'failed', reason: resolved.reason }
  for (const ip of resolved.addresses) {
    const refusal = refusalOfAddress(ip, portOf(read.url), target.allowed)
    if (refusal) return { is: 'refused', reason: refusal }
  }
  return { url: read.url, target: targetOf(read.url, resolved.addresses[0]!) }
}

/** The address that was checked, whatever the name resolves to later. The certificate must be that of the name. */
const targetOf = (url: URL, ip: string) =>
  httpTarget({
    ip,
    port: portOf(url),
    isTls: url.protocol === 'https:',
    servername: literalAddress(url) ? undefined : url.hostname.replace(/\.$/, ''),
  })

type Resolved = { addresses: string[] } | { reason: string }

/** For several requests to one host within seconds: it is looked up and checked once. */
export function createSafeSession() {
  const found = new Map<string, Promise<SafeHost | Refusal>>()
  return {
    find(url: string, look: () => Promise<SafeHost | Refusal>) {
      const known = found.get(url) ?? look()
      found.set(url, known)
      return known
    },
  }
}
type SafeSession = ReturnType<typeof createSafeSession>

const TIMED_OUT = 'No reply in time.'
const LATE: Refusal = { is: 'failed', reason: TIMED_OUT }

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

async function send(client: HttpClient, { url, target }: SafeHost, request: SafeRequest, timeoutMs: number): Promise<Reply> {
  const { method, headers, body, maxReply: maxText, mayRepeat = false } = request
  const text = requestText({ method, url, headers, body, isKept: mayRepeat })
  if (text === undefined) return { is: 'refused', reason: 'The request has a character that HTTP does not allow.' }
  // The time limit is for everything: neither a byte a second nor a flood of 1xx replies extends it.
  const outcome = await client.request(target, { text, isHead: method === 'HEAD', timeoutMs, maxText }, mayRepeat)
  if ('error' in outcome) return { is: 'failed', reason: explain(outcome.error.code) }
  const { status, retryAfter, text: read } = outcome.reply
  return read === undefined ? { is: 'status', status, retryAfter } : { is: 'status', status, retryAfter, text: read }
}

const CLOSED = 'The host closed the connection.'
const REASONS: Record<string, string> = {
  BAD_RESPONSE: 'The reply is not valid HTTP.',
  CLOSED,
  ECONNREFUSED: 'The host refused the connection.',
  ECONNRESET: CLOSED,
  EHOSTUNREACH: 'The host cannot be reached.',
  ENETUNREACH: 'The host cannot be reached.',
  EPIPE: CLOSED,
  ETIMEDOUT: TIMED_OUT,
  HEAD_TOO_LARGE: 'The headers of the reply are too large.',
  TEXT_TOO_LARGE: 'The reply is too large.',
  TIMED_OUT,
}

/** No detail of the other side: see `createSafeFetch`. */
function explain(code: string) {
  if (REASONS[code]) return REASONS[code]
  // Codes with SSL are about the protocol.
  return /CERT|TLS|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code) ? 'The certificate of the host is not valid.' : 'The connection failed.'
}
