import type { SternaError } from './error.ts'
import { type Body, type Connection, type IdempotentOptions, type Result, send } from './request.ts'

/** `repeated`: the connection broke after the server had carried the call out, and a retry of the SDK found the result. */
type Repeatable<Data> = Data & { repeated: boolean }
export type SendResult = Repeatable<Result<'POST /v1/send'>['data']>
/** `contact` is null if the call was repeated: the server then only names the event. */
export type TrackResult = Repeatable<Omit<Result<'POST /v1/track'>['data'], 'contact'> & { contact: string | null }>

/** The `details` of a 409 for an idempotency key that was used. */
type Original = {
  originalRequest: string
  originalRequestAt: string
  originalStatusCode: number | null
  emails?: object[]
  event?: string
}

export function sendEmail(connection: Connection, body: Body<'POST /v1/send'>, options: IdempotentOptions): Promise<SendResult> {
  return callOnce(connection, 'POST /v1/send', body, options, ({ emails, originalRequestAt }) => ({ emails, timestamp: originalRequestAt }))
}

export function trackEvent(connection: Connection, body: Body<'POST /v1/track'>, options: IdempotentOptions): Promise<TrackResult> {
  return callOnce(connection, 'POST /v1/track', body, options, ({ event, originalRequestAt }) => ({
    contact: null,
    event,
    timestamp: originalRequestAt,
  }))
}

/** Every call has an idempotency key, so that a retry can never send or record twice. */
async function callOnce<Answer>(
  connection: Connection,
  operation: string,
  body: object,
  { idempotencyKey = newIdempotencyKey(), ...options }: IdempotentOptions,
  dataOfRepeat: (original: Original) => object,
): Promise<Answer> {
  const resultOfRepeat = ({ code, details }: SternaError) => {
    const original = details as Original // by its code, the error has these details
    const isOurs = code === 'IDEMPOTENCY_KEY_REUSED' && original.originalStatusCode === 200 && original.originalRequest === operation
    return isOurs ? { data: dataOfRepeat(original), repeated: true } : undefined
  }
  const answer = await send(connection, operation, { body }, { ...options, idempotencyKey, resultOfRepeat })
  const { data, repeated = false } = answer as { data: object; repeated?: boolean }
  return { ...data, repeated } as Answer
}

/** `crypto.randomUUID` is missing on http pages, and `crypto` in Node 18. The key must be unique, not secret. */
function newIdempotencyKey(): string {
  const random = globalThis.crypto?.getRandomValues(new Uint32Array(4)) ?? Array.from({ length: 4 }, () => Math.random() * 2 ** 32)
  return ['sdk', Date.now().toString(36), ...Array.from(random, (number) => Math.floor(number).toString(36))].join('-')
}
