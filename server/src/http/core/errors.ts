import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { isUnstorableText } from '../../db/errors/sql-state.ts'
import { isDatabaseUnavailable } from '../../db/errors/unavailable.ts'
import { AppError, ERRORS, type ErrorCode } from '../../lib/errors/errors.ts'

export const ErrorEnvelope = z
  .object({
    success: z.literal(false),
    error: z.object({
      code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
      message: z.string(),
      statusCode: z.int(),
      requestId: z.string(),
      errors: z.array(z.object({ field: z.string(), message: z.string(), code: z.string(), received: z.unknown().optional() })).optional(),
      details: z.record(z.string(), z.unknown()).optional(),
      suggestion: z.string().optional(),
    }),
    timestamp: z.iso.datetime(),
  })
  .meta({ id: 'Error', description: 'Every error, except for the few endpoints that respond with a plain `{ error }`.' })

export const PlainError = z.object({ error: z.string() })

export function replyWithError(err: unknown, req: FastifyRequest, reply: FastifyReply) {
  const known = readError(err, req, reply)
  return reply
    .status(known.statusCode)
    .type('application/json')
    .serializer(JSON.stringify)
    .send(known.plain ? { error: known.message } : envelope(known, req.id))
}

/** The error as the caller sees it. Details of unexpected errors are only logged. */
export function readError(err: unknown, req: FastifyRequest, reply: FastifyReply): AppError {
  const known = toAppError(err)
  // The message of an unknown error may contain SQL or customer data: it is logged, never returned.
  // The specification has a 403 with this code, which is no failure of ours.
  if (known.code === 'INTERNAL_SERVER_ERROR' && known.statusCode >= 500)
    req.log.error({ err, route: req.routeOptions.url }, 'unexpected error')
  // A node that starts or stops answers 503 to each probe: no news for its log.
  else if (known.code === 'SERVICE_UNAVAILABLE' && req.routeOptions.url !== '/ready')
    req.log.warn({ err, route: req.routeOptions.url }, 'unavailable')
  if (known.retryAfter !== undefined) reply.header('retry-after', known.retryAfter)
  return known
}

export const envelope = (error: AppError, requestId: string) => ({
  success: false,
  error: { code: error.code, message: error.message, statusCode: error.statusCode, requestId, ...error.extra },
  timestamp: new Date().toISOString(),
})

function toAppError(err: unknown): AppError {
  if (err instanceof AppError) return err
  const { code = '', statusCode = 500 } = err as Partial<FastifyError>
  const known = FRAMEWORK[code]
  if (known) return new AppError(known)
  if (isDatabaseUnavailable(err) || DISK_FULL.has(code)) return new AppError('SERVICE_UNAVAILABLE', { retryAfter: 1, cause: err })
  if (isUnstorableText(err)) return new AppError('VALIDATION_ERROR', { message: 'A text contains U+0000, which cannot be stored.' })
  if (statusCode >= 400 && statusCode < 500) return new AppError('BAD_REQUEST', { statusCode, cause: err })
  return new AppError('INTERNAL_SERVER_ERROR', { cause: err })
}

/** No room for a file, or for more of this user. */
const DISK_FULL = new Set(['ENOSPC', 'EDQUOT'])

const FRAMEWORK: Record<string, ErrorCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'PAYLOAD_TOO_LARGE',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'UNSUPPORTED_MEDIA_TYPE',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'BAD_REQUEST',
  FST_ERR_BAD_URL: 'RESOURCE_NOT_FOUND',
  FST_ERR_MAX_PARAM_LENGTH: 'RESOURCE_NOT_FOUND',
}
