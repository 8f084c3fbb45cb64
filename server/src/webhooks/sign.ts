import { createHmac, randomBytes } from 'node:crypto'
import type { Secrets } from '../lib/secrets.ts'

/** Bytes of a secret, as Standard Webhooks recommends. */
const SECRET_BYTES = 32
const PREFIX = 'whsec_'

/** After a rotation there are two for a while. */
export type SigningSecrets = { secret: string; previous: string | null }

type SealedSecrets = { secret: Buffer; previous: Buffer | null }

export const openSecrets = (secrets: Secrets, { secret, previous }: SealedSecrets): SigningSecrets => ({
  secret: secrets.open('webhook-secret', secret),
  previous: previous && secrets.open('webhook-secret', previous),
})

export const newSigningSecret = () => `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`

type SignedMessage = { id: string; at: Date; body: string | Buffer }
export type WebhookSigner = ReturnType<typeof createWebhookSigner>

/** Makes the headers of Standard Webhooks: the signature covers id, time and body. */
export function createWebhookSigner({ secret, previous }: SigningSecrets) {
  const keys = [secret, ...(previous ? [previous] : [])].map((each) => Buffer.from(each.slice(PREFIX.length), 'base64'))
  return ({ id, at, body }: SignedMessage) => {
    const timestamp = String(Math.floor(at.getTime() / 1_000))
    const signatures = keys.map((key) => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`)
    return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
  }
}

export const signWebhook = (secrets: SigningSecrets, message: SignedMessage) => createWebhookSigner(secrets)(message)
