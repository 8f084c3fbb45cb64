import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { z } from 'zod'
import { createCache } from '../../../lib/collections/cache.ts'
import { createWindowCounter } from '../../../lib/concurrency/window-counter.ts'
import { fail } from '../../../lib/errors/errors.ts'
import { DAY, MINUTE } from '../../../lib/text/units.ts'
import { isSnsCertificateUrl, type SnsClient } from './sns-client.ts'

/** A single line. A line break would start another field in the signed text. */
const line = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[^\n]+$/)

const common = {
  MessageId: z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
  TopicArn: line(500),
  Timestamp: z.iso.datetime(),
  SignatureVersion: z.enum(['1', '2']),
  Signature: z.base64().min(1).max(2_000),
  SigningCertURL: line(500),
}

const Envelope = z.discriminatedUnion('Type', [
  z.object({ ...common, Type: z.literal('Notification'), Message: z.string(), Subject: line(1_000).nullish() }),
  z.object({
    ...common,
    Type: z.enum(['SubscriptionConfirmation', 'UnsubscribeConfirmation']),
    Message: z.string(),
    SubscribeURL: line(2_000),
    Token: line(1_000),
  }),
])
export type Envelope = z.output<typeof Envelope>

const ALGORITHMS = { '1': 'RSA-SHA1', '2': 'RSA-SHA256' }
/** Shorter than the time that stored notifications are kept, so that an old one cannot be stored twice. */
const MAX_AGE_MS = 29 * DAY
const MAX_CERTIFICATES = 20
/** Certificate downloads per minute. Amazon rarely has a new one, so more requests are an attack. */
const FETCHES = { limit: 10, windowMs: MINUTE }

/** Reads messages that Amazon SNS signed for one of the topics. Others are refused, if possible before a certificate is fetched. */
export function createEnvelopeReader(sns: SnsClient, topics: string[]) {
  const keyAt = createKeyCache(sns)

  return async (body: unknown): Promise<Envelope> => {
    const parsed = Envelope.safeParse(body)
    if (!parsed.success) return fail('INVALID_SIGNATURE', { message: 'Not a signed message of Amazon SNS.' })
    const envelope = parsed.data
    if (!topics.includes(envelope.TopicArn)) fail('FORBIDDEN', { message: 'The topic is not in SNS_TOPIC_ARNS.' })
    if (!isSnsCertificateUrl(envelope.SigningCertURL, envelope.TopicArn))
      fail('FORBIDDEN', { message: 'The certificate is not from Amazon SNS.' })
    if (Date.now() - Date.parse(envelope.Timestamp) > MAX_AGE_MS) fail('FORBIDDEN', { message: 'The message is too old.' })
    if (!isSignedBy(await keyAt(envelope.SigningCertURL), envelope)) fail('INVALID_SIGNATURE')
    return envelope
  }
}

function createKeyCache(sns: SnsClient) {
  const keys = createCache<string, Promise<KeyObject>>({ maxEntries: MAX_CERTIFICATES })
  const fetches = createWindowCounter(FETCHES)

  function fetchKey(url: string) {
    if (fetches.count('')) fail('SERVICE_UNAVAILABLE', { retryAfter: fetches.retryAfter('') })
    const key = sns
      .certificate(url)
      .then((pem) => createPublicKey(pem))
      .catch((err) => {
        keys.delete(url)
        return fail('SERVICE_UNAVAILABLE', { message: 'The certificate could not be fetched.', retryAfter: 5, cause: err })
      })
    keys.set(url, key)
    return key
  }

  return (url: string) => keys.get(url) ?? fetchKey(url)
}

function isSignedBy(key: KeyObject, envelope: Envelope) {
  const signature = Buffer.from(envelope.Signature, 'base64')
  return verify(ALGORITHMS[envelope.SignatureVersion], Buffer.from(signedText(envelope)), key, signature)
}

/** Names and values on lines of their own, in alphabetical order. */
function signedText(envelope: Envelope) {
  const { Message, MessageId, Timestamp, TopicArn, Type } = envelope
  const signed: Record<string, string> =
    envelope.Type === 'Notification'
      ? { Message, MessageId, ...(envelope.Subject ? { Subject: envelope.Subject } : {}), Timestamp, TopicArn, Type }
      : { Message, MessageId, SubscribeURL: envelope.SubscribeURL, Timestamp, Token: envelope.Token, TopicArn, Type }
  return Object.entries(signed)
    .map(([name, value]) => `${name}\n${value}\n`)
    .join('')
}
