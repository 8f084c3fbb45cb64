import { type Deadline, pause, startDeadline } from './deadline.ts'
import { Download } from './download.ts'
import { ConnectionError, readError, SternaError, TimeoutError } from './error.ts'
import type { Operations } from './generated.ts'

export type Operation = keyof Operations
type Part = 'params' | 'query' | 'body'
type Given<K extends Operation, P extends Part> = Operations[K][P] extends undefined
  ? unknown
  : Record<never, never> extends Operations[K][P]
    ? { [Key in P]?: Operations[K][P] }
    : { [Key in P]: Operations[K][P] }

/** The path parameters, query and body of an operation, as far as it has them. */
export type Input<K extends Operation> = Given<K, 'params'> & Given<K, 'query'> & Given<K, 'body'>
export type Body<K extends Operation> = Operations[K]['body']
export type Query<K extends Operation> = NonNullable<Operations[K]['query']>
export type Result<K extends Operation> = Operations[K]['response']

export type CallOptions = {
  /** Cancels the call, its waits and its retries. The call then rejects with the signal's reason, as `fetch` does. */
  signal?: AbortSignal | undefined
  /** Limit for this call, retries included. Default: that of the client. */
  timeoutMs?: number | undefined
}
/** With a key the call is safe to repeat: the server carries it out once. */
export type IdempotentOptions = CallOptions & { idempotencyKey?: string | undefined }
/** `ifMatch`: the `updatedAt` of the revision to change. The call fails with a `ConflictError` if there is a newer one. */
export type RevisionOptions = CallOptions & { ifMatch?: string | undefined }

/** The function that the resources of a client call. */
export type Call = <K extends Operation>(operation: K, parts: Parts, options?: CallOptions) => Promise<Result<K>>

export type Connection = {
  baseUrl: string
  apiKey?: string | undefined
  projectId?: string | undefined
  fetch: typeof fetch
  timeoutMs: number
  maxRetries: number
}

const FIRST_WAIT_MS = 200

export type Parts = { params?: object; query?: object | undefined; body?: object | undefined }
type Handling = IdempotentOptions &
  RevisionOptions & {
    /** Resolve to a `Download` as soon as the headers have arrived. */
    asDownload?: boolean
    /** The operation only reads, although it is a POST. */
    onlyReads?: boolean
    /** The result of an earlier attempt of this call, if the failure of a later one shows that it was carried out. */
    resultOfRepeat?: (failure: SternaError) => unknown
  }

/** One call: up to `1 + maxRetries` requests within one deadline. */
export async function send(connection: Connection, operation: string, parts: Parts, handling: Handling = {}): Promise<unknown> {
  const { timeoutMs = connection.timeoutMs } = handling
  const prepared = prepare(connection, operation, parts, handling)
  const deadline = startDeadline(timeoutMs, handling.signal)
  let result: unknown
  try {
    result = await requestWithRetries(connection, prepared, handling, deadline)
    return result
  } catch (error) {
    throw deadline.hasTimedOut() ? timedOut(timeoutMs, error) : error
  } finally {
    deadline.end({ keepSignal: result instanceof Download })
  }
}

type Prepared = { url: string; init: RequestInit; isSafe: boolean }

function prepare(connection: Connection, operation: string, { params, query, body }: Parts, handling: Handling): Prepared {
  const [method, path] = operation.split(' ') as [string, string] // an operation is named 'METHOD /path'
  const isForm = body !== undefined && hasFile(body)
  return {
    url: connection.baseUrl + fillPath(path, params) + queryString(query),
    init: {
      method,
      headers: headersOf(connection, handling, { isJson: body !== undefined && !isForm }),
      credentials: connection.apiKey ? 'omit' : 'same-origin',
      ...(body && { body: isForm ? formOf(body) : JSON.stringify(body) }),
    },
    isSafe: method === 'GET' || handling.onlyReads === true || handling.idempotencyKey !== undefined,
  }
}

async function requestWithRetries(connection: Connection, { url, init, isSafe }: Prepared, handling: Handling, deadline: Deadline) {
  // A 429 is refused before any work, so a program may repeat every request. A signed-in user should not wait for it.
  const mayRepeat = ({ status }: SternaError) => isSafe || (status === 429 && connection.apiKey !== undefined)
  let mayHaveArrived = false
  for (let attempt = 0; ; attempt++) {
    try {
      return await exchange(connection.fetch, url, { ...init, signal: deadline.signal }, handling.asDownload)
    } catch (error) {
      handling.signal?.throwIfAborted()
      const failure = explain(error)
      const earlier = mayHaveArrived ? handling.resultOfRepeat?.(failure) : undefined
      if (earlier !== undefined) return earlier
      const wait = attempt < connection.maxRetries && mayRepeat(failure) ? waitBeforeRetry(failure, attempt) : undefined
      if (wait === undefined || !deadline.leavesRoomFor(wait)) throw failure
      mayHaveArrived ||= !isRefusal(failure)
      await pause(wait, deadline.signal)
    }
  }
}

async function exchange(fetch: Connection['fetch'], url: string, init: RequestInit, asDownload = false): Promise<unknown> {
  init.signal?.throwIfAborted()
  const response = await fetch(url, init)
  if (response.ok && asDownload) return new Download(response)
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
  return new TimeoutError('TIMEOUT', `No response within ${timeoutMs / 1000} s.`, { cause })
}

function explain(error: unknown): SternaError {
  if (error instanceof SternaError) return error
  return new ConnectionError('NETWORK_ERROR', 'The server cannot be reached.', { cause: error })
}

/** This request did nothing, whatever became of the others with its key. */
const isRefusal = ({ status, code }: SternaError) => status === 429 || code === 'IDEMPOTENCY_KEY_REUSED'

/** Milliseconds to wait, or undefined if a retry would not help. */
function waitBeforeRetry({ code, status, retryAfter }: SternaError, attempt: number): number | undefined {
  // Clients that failed together must not come back together.
  const jitter = Math.random()
  // A proxy that cannot reach Sterna is like a broken connection.
  const isUnreachable = code === 'NETWORK_ERROR' || (code === 'UNEXPECTED_RESPONSE' && status >= 502 && status <= 504)
  if (isUnreachable && retryAfter === undefined) return FIRST_WAIT_MS * 2 ** attempt * (0.5 + jitter / 2)
  // `IDEMPOTENCY_KEY_REUSED` has it while the first request is still running.
  const isTemporary = isUnreachable || status === 429 || status === 503 || code === 'IDEMPOTENCY_KEY_REUSED'
  if (!isTemporary || retryAfter === undefined) return undefined
  return retryAfter * 1000 * (1 + jitter / 10)
}

/** A `Headers` object, so that a value which no header can have fails here, and not as a network error. */
function headersOf({ apiKey, projectId }: Connection, { idempotencyKey, ifMatch, asDownload }: Handling, { isJson }: { isJson: boolean }) {
  return new Headers({
    accept: asDownload ? '*/*' : 'application/json',
    ...(apiKey && { authorization: `Bearer ${apiKey}` }),
    ...(projectId && { 'x-project-id': projectId }),
    ...(isJson && { 'content-type': 'application/json' }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    ...(ifMatch !== undefined && { 'if-match': ifMatch.startsWith('"') ? ifMatch : `"${ifMatch}"` }),
  })
}

/** JSON has no files, so a body with one is sent as a form. */
const hasFile = (body: object) => Object.values(body).some((value) => value instanceof Blob)

function formOf(fields: object): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue
    // Node 18 has no global `File`.
    if (value instanceof Blob) form.set(name, value, 'name' in value ? String(value.name) : name)
    else form.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value))
  }
  return form
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
  return `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
