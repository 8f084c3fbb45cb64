import { readError, SternaError } from './error.ts'
import type { Operations } from './generated.ts'

export type Operation = keyof Operations
type Part = 'params' | 'query' | 'headers' | 'body'
type Given<K extends Operation, P extends Part> = Operations[K][P] extends undefined
  ? unknown
  : Record<never, never> extends Operations[K][P]
    ? { [Key in P]?: Operations[K][P] }
    : { [Key in P]: Operations[K][P] }

/** The path parameters, query, headers and body of an operation, as far as it has them. */
export type Input<K extends Operation> = Given<K, 'params'> & Given<K, 'query'> & Given<K, 'headers'> & Given<K, 'body'> & Idempotency
/** Makes a call safe to repeat: a second call with the same key is rejected and names the result of the first. */
export type Idempotency = { idempotencyKey?: string }
export type Body<K extends Operation> = Operations[K]['body']
export type Query<K extends Operation> = Operations[K]['query']
export type HeadersOf<K extends Operation> = Operations[K]['headers']
export type Answer<K extends Operation> = Operations[K]['response']

export type Connection = {
  baseUrl: string
  apiKey?: string
  projectId?: string
  fetch: typeof fetch
  timeoutMs: number
}

const MAX_RETRIES = 2
const FIRST_WAIT_MS = 200
const LONGEST_WAIT_MS = 5_000

type Parts = { params?: object; query?: object; headers?: object; body?: object } & Idempotency

export async function send(connection: Connection, operation: string, parts: Parts): Promise<unknown> {
  const { params, query, headers, body, idempotencyKey } = parts
  const [method, path] = operation.split(' ') as [string, string] // an operation is named 'METHOD /path'
  const url = connection.baseUrl + fillPath(path, params) + queryString(query)
  // One deadline for the whole call, retries and waits included.
  const deadline = Date.now() + connection.timeoutMs
  const signal = AbortSignal.timeout(connection.timeoutMs)
  const init: RequestInit = {
    method,
    signal,
    headers: { ...headersOf(connection, body), ...headers, ...(idempotencyKey && { 'Idempotency-Key': idempotencyKey }) },
    credentials: connection.apiKey ? 'omit' : 'same-origin',
  }
  if (body) init.body = body instanceof FormData ? body : JSON.stringify(body)

  for (let attempt = 0; ; attempt++) {
    try {
      return await exchange(connection.fetch, url, init)
    } catch (error) {
      const failure = signal.aborted ? timedOut(connection.timeoutMs, error) : explain(error)
      const wait = method === 'GET' && attempt < MAX_RETRIES ? waitBeforeRetry(failure, attempt) : undefined
      if (wait === undefined || Date.now() + wait > deadline) throw failure
      await new Promise((resume) => setTimeout(resume, wait))
    }
  }
}

async function exchange(fetch: Connection['fetch'], url: string, init: RequestInit): Promise<unknown> {
  const response = await fetch(url, init)
  const text = await response.text()
  const body = parseJson(text)
  if (!response.ok) throw readError(response, body)
  if (text && body === undefined) {
    throw new SternaError('UNEXPECTED_RESPONSE', 'The response is not JSON. Does the base URL point to Sterna?', {
      status: response.status,
    })
  }
  return body
}

function timedOut(timeoutMs: number, cause: unknown): SternaError {
  return new SternaError('TIMEOUT', `No response within ${timeoutMs / 1000} s.`, { cause })
}

function explain(error: unknown): SternaError {
  if (error instanceof SternaError) return error
  return new SternaError('NETWORK_ERROR', 'The server cannot be reached.', { cause: error })
}

/** Milliseconds to wait, or undefined if a retry would not help or would take too long. */
function waitBeforeRetry({ code, status, retryAfter }: SternaError, attempt: number): number | undefined {
  if (code === 'NETWORK_ERROR') return FIRST_WAIT_MS * 2 ** attempt
  if (status !== 503 || retryAfter === undefined) return undefined
  const wait = retryAfter * 1000
  return wait <= LONGEST_WAIT_MS ? wait : undefined
}

function headersOf({ apiKey, projectId }: Connection, body: object | undefined): Record<string, string> {
  return {
    accept: 'application/json',
    ...(apiKey && { authorization: `Bearer ${apiKey}` }),
    ...(projectId && { 'x-project-id': projectId }),
    ...(body && !(body instanceof FormData) && { 'content-type': 'application/json' }),
  }
}

function fillPath(path: string, params: object = {}): string {
  const values = new Map(Object.entries(params))
  return path.replaceAll(/\{(\w+)\}/g, (_, name) => {
    const value = String(values.get(name) ?? '')
    // '', '.' and '..' survive encoding and would change the path: DELETE /projects/{id} must never become /projects.
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`"${value}" is not a usable ${name}.`)
    return encodeURIComponent(value)
  })
}

function queryString(query: object = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  if (given.length === 0) return ''
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
