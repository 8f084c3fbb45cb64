import type { WebhookOwnEvent, WebhookPayload, WebhookSegment, WebhookTrackedEvent } from './generated.ts'

/** The payload of a webhook. `id` is the same for every attempt and replay: ignore one that you have handled. */
export type WebhookEvent = { id: string } & (
  | WebhookOwnEvent
  | (Omit<WebhookSegment, 'type'> & { type: `segment.${string}` })
  | (Omit<WebhookTrackedEvent, 'type'> & { type: `event.${string}` })
  | (Omit<WebhookPayload, 'type'> & { type: 'test' })
)

/** A request of the Fetch API, or the headers and the raw body of any other: the signature covers its bytes. */
export type WebhookRequest =
  | Pick<Request, 'headers' | 'text'>
  | { headers: Headers | Record<string, string | string[] | undefined>; body: string | Uint8Array }

/** The request is not from Sterna, or is too old. Answer it with 400. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError'
}

/** Age, in seconds, from which on a request counts as a replay by a third party. */
const TOLERANCE_SECONDS = 300
const PREFIX = 'whsec_'

export class Webhooks {
  readonly #secret: string | undefined

  constructor(secret: string | undefined) {
    this.#secret = secret
  }

  /**
   * Checks the signature of a webhook (Standard Webhooks) and returns what it says. Rejects with a `WebhookVerificationError`. The secret is
   * that of the endpoint, `whsec_…`: given here, or to `new Sterna({ webhookSecret })`.
   */
  async verify(request: WebhookRequest, { secret = this.#secret }: { secret?: string | undefined } = {}): Promise<WebhookEvent> {
    if (!secret) throw new TypeError('Verifying needs the secret of the endpoint: use `new Sterna({ webhookSecret })`.')
    const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headerOf(request, name))
    if (!id || !timestamp || !signatures) throw new WebhookVerificationError('A header of the webhook is missing.')
    const age = Math.abs(Date.now() / 1_000 - Number(timestamp))
    if (!(age <= TOLERANCE_SECONDS)) throw new WebhookVerificationError('The webhook is too old, or its time is wrong.')
    const body = 'text' in request ? await request.text() : request.body
    const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
    if (!(await isSigned(secret, `${id}.${timestamp}.${text}`, signatures)))
      throw new WebhookVerificationError('The signature of the webhook is wrong.')
    // Signed by Sterna, so it has this shape.
    return { id, ...JSON.parse(text) } as WebhookEvent
  }
}

function headerOf({ headers }: WebhookRequest, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const found = Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1]
  return Array.isArray(found) ? found[0] : found
}

/** After a rotation there are two signatures; one that is right is enough. */
async function isSigned(secret: string, signed: string, signatures: string): Promise<boolean> {
  const subtle = globalThis.crypto?.subtle
  if (!subtle) throw new TypeError('Verifying needs `globalThis.crypto`: Node 20 or later.')
  const bytes = bytesOf(secret.replace(PREFIX, ''))
  if (!bytes) throw new TypeError('The secret of the endpoint is not valid.')
  const key = await subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
  const given = signatures.split(' ').flatMap((each) => (each.startsWith('v1,') ? (bytesOf(each.slice(3)) ?? []) : []))
  const data = new TextEncoder().encode(signed)
  // `verify` takes the same time for every signature.
  for (const signature of given) if (await subtle.verify('HMAC', key, signature, data)) return true
  return false
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
