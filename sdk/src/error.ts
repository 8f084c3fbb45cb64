import type { Error as ErrorBody } from './generated.ts'

type ErrorFields = ErrorBody['error']

/** The codes of the server, and three of the SDK: no connection, no response in time, and a response that is not from Sterna. */
export type ErrorCode = ErrorFields['code'] | 'NETWORK_ERROR' | 'TIMEOUT' | 'UNEXPECTED_RESPONSE'

type Options = Partial<Pick<ErrorFields, 'requestId' | 'errors' | 'details' | 'suggestion'>> & {
  status?: number
  retryAfter?: number
  cause?: unknown
}

export class SternaError extends Error {
  override readonly name = 'SternaError'
  readonly code: ErrorCode
  /** HTTP status; 0 without a response. */
  readonly status: number
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

/** The error of a response that is not 2xx. `body` is the parsed JSON, or undefined if it is not JSON. */
export function readError(response: Response, body: unknown): SternaError {
  const status = response.status
  const retryAfter = secondsOf(response.headers.get('retry-after'))
  const error = (body as Partial<ErrorBody> | undefined)?.error // only read after checking its shape
  if (typeof error === 'object' && typeof error.code === 'string') {
    return new SternaError(error.code, error.message, { ...error, status, retryAfter })
  }
  const message = typeof error === 'string' ? error : `The server answered ${status} without an explanation.`
  const requestId = response.headers.get('x-request-id') ?? undefined
  return new SternaError('UNEXPECTED_RESPONSE', message, { status, retryAfter, requestId })
}

function secondsOf(header: string | null): number | undefined {
  return header && /^\d+$/.test(header) ? Number(header) : undefined
}
