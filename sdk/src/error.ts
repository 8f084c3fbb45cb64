import type { Error as ErrorBody } from './generated.ts'

type ErrorFields = ErrorBody['error']

/** The codes of the server, and three of the SDK: no connection, no response in time, and a response that is not from Sterna. */
export type ErrorCode = ErrorFields['code'] | 'NETWORK_ERROR' | 'TIMEOUT' | 'UNEXPECTED_RESPONSE'

type Options = Partial<Pick<ErrorFields, 'requestId' | 'errors' | 'details' | 'suggestion'>> & {
  status?: number
  retryAfter?: number | undefined
  cause?: unknown
}

/** Any failed call. The subclasses group the codes by what a caller can do about them. */
export class SternaError extends Error {
  override readonly name: string = 'SternaError'
  readonly code: ErrorCode
  /** HTTP status; 0 without a response. */
  readonly status: number
  /** Names the request in the server's log. */
  readonly requestId: string | undefined
  /** One entry per invalid field. */
  readonly errors: NonNullable<ErrorFields['errors']>
  readonly details: ErrorFields['details']
  readonly suggestion: string | undefined
  /** Seconds to wait before a retry, if the server named them. */
  readonly retryAfter: number | undefined

  constructor(code: ErrorCode, message: string, { status = 0, errors = [], cause, ...rest }: Options = {}) {
    super(message, { cause })
    this.code = code
    this.status = status
    this.errors = errors
    this.requestId = rest.requestId
    this.details = rest.details
    this.suggestion = rest.suggestion
    this.retryAfter = rest.retryAfter
  }
}

/** The server cannot be reached, or the connection broke before its response was complete. */
export class ConnectionError extends SternaError {
  override readonly name = 'ConnectionError'
}

/** No complete response within `timeoutMs`. The request may still have been carried out. */
export class TimeoutError extends SternaError {
  override readonly name = 'TimeoutError'
}

/** 401: the key or the session is missing or not valid. */
export class AuthenticationError extends SternaError {
  override readonly name = 'AuthenticationError'
}

/** 403: the key or the signed-in user may not do this. */
export class PermissionError extends SternaError {
  override readonly name = 'PermissionError'
}

/** 404: the resource does not exist in this project. */
export class NotFoundError extends SternaError {
  override readonly name = 'NotFoundError'
}

/** 409: it conflicts with the state of the resource, with a newer revision, or with an idempotency key in use. */
export class ConflictError extends SternaError {
  override readonly name = 'ConflictError'
}

/** The request is invalid. `errors` lists every field. */
export class ValidationError extends SternaError {
  override readonly name = 'ValidationError'

  /** The first message about each invalid field, for forms. */
  get fieldErrors(): Record<string, string> {
    const firstWins = [...this.errors].reverse()
    return Object.fromEntries(firstWins.map(({ field, message }) => [field, message]))
  }
}

/** 429: too many requests. `retryAfter` says when to try again. */
export class RateLimitError extends SternaError {
  override readonly name = 'RateLimitError'
}

/** 5xx: the server, or a proxy before it, failed. */
export class ServerError extends SternaError {
  override readonly name = 'ServerError'
}

const BY_STATUS: Record<number, typeof SternaError> = {
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  429: RateLimitError,
}

function classOf(code: ErrorCode, status: number): typeof SternaError {
  if (code === 'VALIDATION_ERROR') return ValidationError
  if (status >= 500) return ServerError
  return BY_STATUS[status] ?? SternaError
}

/** The codes of the responses that have only a text: `{ "error": "…" }`. */
const PLAIN_CODES: Record<number, ErrorCode> = { 400: 'BAD_REQUEST', 404: 'RESOURCE_NOT_FOUND', 409: 'CONFLICT' }

/** The error of a response that is not 2xx. `body` is the parsed JSON, or undefined if it is not JSON. */
export function readError(response: Response, body: unknown): SternaError {
  const { status, headers } = response
  const retryAfter = secondsOf(headers.get('retry-after'))
  const error = (body as Partial<ErrorBody> | undefined)?.error // only read after checking its shape
  if (typeof error === 'object' && typeof error?.code === 'string') {
    return new (classOf(error.code, status))(error.code, error.message, { ...error, status, retryAfter })
  }
  const isPlain = typeof error === 'string'
  const code = (isPlain && PLAIN_CODES[status]) || 'UNEXPECTED_RESPONSE'
  const message = isPlain ? error : `The server answered ${status} without an explanation.`
  const requestId = headers.get('x-request-id') ?? undefined
  return new (classOf(code, status))(code, message, { status, retryAfter, ...(requestId !== undefined && { requestId }) })
}

function secondsOf(header: string | null): number | undefined {
  return header && /^\d+$/.test(header) ? Number(header) : undefined
}
