/** Every error a caller can see. The HTTP envelope, the OpenAPI document, the SDK's union and docs/errors.md derive from it. */
export const ERRORS = {
  BAD_REQUEST: [400, 'The request cannot be understood.'],
  CONTACT_UNSUBSCRIBED: [400, 'The contact is not subscribed to marketing email.'],
  INVALID_TOKEN: [400, 'This link is invalid, was already used, or has expired.'],
  MISSING_AUTH: [401, 'Send your API key as "Authorization: Bearer <key>".'],
  INVALID_API_KEY: [401, 'Unknown API key, or the wrong kind of key for this endpoint.'],
  UNAUTHORIZED: [401, 'You are not signed in.'],
  INVALID_CREDENTIALS: [401, 'Wrong email address or password.'],
  INVALID_SIGNATURE: [401, 'The signature of this notification is not valid.'],
  BILLING_LIMIT_EXCEEDED: [402, 'This would go over a limit of your plan.'],
  FORBIDDEN: [403, 'You may not do this.'],
  CLAIM_CODE_REQUIRED: [403, 'The first account of this installation needs its claim code.'],
  INSUFFICIENT_SCOPE: [403, 'This API key may not do this.'],
  PROJECT_ACCESS_DENIED: [403, 'You are not a member of this project.'],
  PROJECT_DISABLED: [403, 'This project is disabled: it can be read, not changed.'],
  DOMAIN_NOT_VERIFIED: [403, 'The sender’s domain is not verified for this project.'],
  DOMAIN_SUSPENDED: [403, 'Emails of a suspended project went from this domain.'],
  RESOURCE_NOT_FOUND: [404, 'No such resource.'],
  CONTACT_NOT_FOUND: [404, 'No such contact.'],
  TEMPLATE_NOT_FOUND: [404, 'No such template.'],
  CAMPAIGN_NOT_FOUND: [404, 'No such campaign.'],
  WORKFLOW_NOT_FOUND: [404, 'No such workflow.'],
  REQUEST_TIMEOUT: [408, 'The request took too long to arrive.'],
  CONFLICT: [409, 'The request conflicts with what exists.'],
  IDEMPOTENCY_KEY_REUSED: [409, 'This Idempotency-Key was already used.'],
  PAYLOAD_TOO_LARGE: [413, 'The request body is too large.'],
  UNSUPPORTED_MEDIA_TYPE: [415, 'Send the body as application/json.'],
  VALIDATION_ERROR: [422, 'Request validation failed.'],
  RATE_LIMIT_EXCEEDED: [429, 'Too many requests.'],
  HEADERS_TOO_LARGE: [431, 'The request headers are too large.'],
  INTERNAL_SERVER_ERROR: [500, 'Something went wrong on our side.'],
  SERVICE_UNAVAILABLE: [503, 'The service cannot take this request right now. Try again shortly.'],
} as const satisfies Record<string, readonly [status: number, message: string]>

export type ErrorCode = keyof typeof ERRORS
/** Codes of a field error. docs/errors.md lists them. */
export const FIELD_CODES = [
  'required',
  'invalid_type',
  'invalid_string',
  'too_small',
  'too_big',
  'invalid_enum_value',
  'invalid_union',
  'reserved_event',
  'custom',
] as const
export type FieldCode = (typeof FIELD_CODES)[number]
export type FieldIssue = { field: string; message: string; code: FieldCode; received?: unknown }

type Extra = { details?: Record<string, unknown>; errors?: FieldIssue[]; suggestion?: string }
type Options = Extra & {
  message?: string
  /** Overrides the status of the code: malformed JSON is a VALIDATION_ERROR with 400. */
  statusCode?: number
  /** For the few responses that the specification defines as a bare `{ error: message }`. */
  plain?: boolean
  retryAfter?: number
  cause?: unknown
}

export class AppError extends Error {
  readonly code: ErrorCode
  readonly statusCode: number
  readonly retryAfter: number | undefined
  readonly plain: boolean
  readonly extra: Extra
  constructor(code: ErrorCode, { message, statusCode, retryAfter, plain = false, cause, ...extra }: Options = {}) {
    super(message ?? ERRORS[code][1], { cause })
    this.code = code
    this.statusCode = statusCode ?? ERRORS[code][0]
    this.retryAfter = retryAfter
    this.plain = plain
    this.extra = retryAfter === undefined ? extra : { ...extra, details: { ...extra.details, retryAfter } }
  }
}

/** `const project = (await findProject(db, id)) ?? fail('RESOURCE_NOT_FOUND')` */
export function fail(...args: ConstructorParameters<typeof AppError>): never {
  throw new AppError(...args)
}

export const notFound = (resource: string, id: string): never =>
  fail('RESOURCE_NOT_FOUND', { message: `No such ${resource}.`, details: { resource, id: id.slice(0, 100) } })

export const contactNotFound = (id: string): never => fail('CONTACT_NOT_FOUND', { details: { resource: 'contact', id: id.slice(0, 100) } })

/** A refusal for now: the caller may try again. */
export const tryLater = (message: string, retryAfter = 1) => new AppError('SERVICE_UNAVAILABLE', { message, retryAfter })

/** Fails with a bare `{ error: message }`, where the specification defines nothing else. */
export const failPlainly = (code: ErrorCode, message: string): never => fail(code, { message, plain: true })

/** One invalid field, found outside the schema, for example by a rule that needs the database. */
export const invalid = (field: string, message: string, code: FieldCode = 'custom'): never =>
  fail('VALIDATION_ERROR', { errors: [{ field, message, code }] })
