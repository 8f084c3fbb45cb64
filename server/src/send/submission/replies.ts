import { RepeatedKey } from '../../http/idempotency.ts'
import { AppError, type ErrorCode } from '../../lib/errors/errors.ts'
import type { Log } from '../../lib/process/log.ts'
import { Refusal } from '../../lib/smtp/smtp-refusal.ts'
import { MalformedMessage } from '../../mime/raw/head.ts'

/** The reply to each error that the API would answer with. docs/smtp.md lists them. */
const REPLIES: Partial<Record<ErrorCode, [code: number, enhanced: string]>> = {
  INVALID_API_KEY: [535, '5.7.8'],
  INSUFFICIENT_SCOPE: [550, '5.7.1'],
  DOMAIN_NOT_VERIFIED: [550, '5.7.1'],
  PROJECT_DISABLED: [550, '5.7.0'],
  BILLING_LIMIT_EXCEEDED: [452, '4.2.2'],
  RATE_LIMIT_EXCEEDED: [450, '4.7.1'],
}

/** Error codes of a connection that closed in the middle of a message. */
const CLOSED = new Set(['ECONNECTION', 'ERR_STREAM_PREMATURE_CLOSE'])

/** Any unknown error is ours and may be temporary: the client is asked to try again. */
export function refusalOf(err: unknown, log: Log): Refusal {
  if (err instanceof Refusal) return err
  if (err instanceof MalformedMessage) return new Refusal(550, `5.6.0 ${err.message}`)
  if (err instanceof RepeatedKey) return new Refusal(554, '5.5.0 This X-Sterna-Idempotency-Key was used for another message')
  if (err instanceof AppError) {
    const [code, enhanced] = REPLIES[err.code] ?? [451, '4.3.2']
    return new Refusal(code, `${enhanced} ${err.message}`)
  }
  const isClosed = CLOSED.has((err as { code?: string }).code ?? '')
  log[isClosed ? 'debug' : 'warn']({ err }, 'could not accept a submitted message; its client will try again')
  return new Refusal(451, '4.3.2 The message cannot be stored right now. Try again shortly')
}

const MAX_IDS = 10

/** The ids of the emails; of many of them the id of the batch. */
export const queuedReply = (ids: string[], batch: string) =>
  `2.0.0 queued ${ids.slice(0, MAX_IDS).join(' ')}${ids.length > MAX_IDS ? ` batch ${batch}` : ''}`
