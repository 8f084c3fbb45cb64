import { type ConnectionOptions, connect } from './connection.ts'
import { DOWNLOADS, Resources } from './generated.ts'
import { type SendResult, sendEmail, type TrackResult, trackEvent } from './once.ts'
import {
  type Body,
  type CallOptions,
  type Connection,
  type IdempotentOptions,
  type Input,
  type Operation,
  type Parts,
  type Result,
  send,
} from './request.ts'
import { Webhooks } from './webhooks.ts'

export type SternaOptions = ConnectionOptions & {
  /** The secret key of a project, `sk_…`. Without one the browser's session cookie authenticates the user. */
  apiKey?: string | undefined
  /** The public key of the project, `pk_…`. Only `track` uses it. */
  publicKey?: string | undefined
  /** The secret of a webhook endpoint, `whsec_…`. Only `webhooks.verify` uses it. */
  webhookSecret?: string | undefined
  /** The project of a signed-in user, for endpoints without a project in their path. */
  projectId?: string | undefined
}

/**
 * The Sterna API: `sterna.noun.verb()`. A failed call rejects with a `SternaError`.
 * Calls that are safe to repeat are retried: reads, and calls with an idempotency key.
 */
export class Sterna extends Resources {
  readonly #options: SternaOptions
  readonly #connection: Connection
  /** Checks webhooks that your server receives. */
  readonly webhooks: Webhooks

  constructor(options: SternaOptions = {}) {
    const { apiKey, projectId } = options
    if (apiKey?.startsWith('pk_')) throw new TypeError('A public key can only track events: use `new Tracker({ publicKey })`.')
    const connection = { ...connect(options), apiKey, projectId }
    super((operation, parts, handling) => call(connection, operation, parts, handling))
    this.#options = options
    this.#connection = connection
    this.webhooks = new Webhooks(options.webhookSecret)
  }

  /** The same client for one project of the signed-in user. */
  forProject(projectId: string): Sterna {
    return new Sterna({ ...this.#options, projectId })
  }

  /** Sends one email to each recipient. Resolves when all of them are durably queued; never sends one twice. Needs the secret key. */
  send(body: Body<'POST /v1/send'>, options: IdempotentOptions = {}): Promise<SendResult> {
    return sendEmail(this.#connection, body, options)
  }

  /** Creates or updates the contact and records the event; never records it twice. Needs the public key. */
  async track(body: Body<'POST /v1/track'>, options: IdempotentOptions = {}): Promise<TrackResult> {
    const { publicKey } = this.#options
    if (!publicKey) throw new TypeError('Tracking needs the public key: use `new Sterna({ apiKey, publicKey })`.')
    return trackEvent({ ...this.#connection, apiKey: publicKey }, body, options)
  }

  /** Checks whether an address can receive email, without sending one. Needs the secret key. */
  async verify(email: string, options: CallOptions = {}): Promise<Result<'POST /v1/verify'>['data']> {
    const answer = await send(this.#connection, 'POST /v1/verify', { body: { email } }, { ...options, onlyReads: true })
    return (answer as Result<'POST /v1/verify'>).data
  }

  /** Calls any endpoint of the OpenAPI document by name. The methods of the resources are shorthands for it. */
  request<K extends Operation>(
    operation: K,
    ...[input, options]: Record<never, never> extends Input<K>
      ? [input?: Input<K>, options?: CallOptions]
      : [input: Input<K>, options?: CallOptions]
  ): Promise<Result<K>> {
    return call(this.#connection, operation, input ?? {}, options)
  }
}

function call<K extends Operation>(connection: Connection, operation: K, parts: Parts, options: CallOptions = {}): Promise<Result<K>> {
  // The types come from the server's own OpenAPI document, so the response has this shape.
  return send(connection, operation, parts, { ...options, asDownload: DOWNLOADS.has(operation) }) as Promise<Result<K>>
}
