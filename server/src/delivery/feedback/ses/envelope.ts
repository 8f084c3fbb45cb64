import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { z } from 'zod'
import { fail } from '../../../lib/errors.ts'
import { DAY, MINUTE } from '../../../lib/units.ts'
import { createTally } from '../../../lib/window-counter.ts'
import { isCertificate, type Sns } from './sns-client.ts'

/** On one line: between the lines of what is signed, a line break would be the beginning of another field. */
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
/** As long as we remember what we had. An older one could count a second time. */
const MAX_AGE_MS = 29 * DAY
const MAX_CERTIFICATES = 20
/** Amazon has a new certificate once in a while. Whoever names new ones all the time wants to keep us busy. */
const FETCHES = { limit: 10, windowMs: MINUTE }

/** Reads what Amazon SNS has signed, for one of the topics. Whatever is not that is refused, before anything is fetched for it if possible. */
export function createReader(sns: Sns, topics: string[]) {
  const keyAt = createKeys(sns)

  return async (body: unknown): Promise<Envelope> => {
    const parsed = Envelope.safeParse(body)
    if (!parsed.success) return fail('INVALID_SIGNATURE', { message: 'This is not a signed message of Amazon SNS.' })
    const envelope = parsed.data
    if (!topics.includes(envelope.TopicArn)) fail('FORBIDDEN', { message: 'This topic is not among SNS_TOPIC_ARNS.' })
    if (!isCertificate(envelope.SigningCertURL, envelope.TopicArn))
      fail('FORBIDDEN', { message: 'The certificate is not one of Amazon SNS.' })
    if (Date.now() - Date.parse(envelope.Timestamp) > MAX_AGE_MS) fail('FORBIDDEN', { message: 'The message is too old.' })
    if (!isSignedBy(await keyAt(envelope.SigningCertURL), envelope)) fail('INVALID_SIGNATURE')
    return envelope
  }
}

function createKeys(sns: Sns) {
  const keys = new Map<string, Promise<KeyObject>>()
  const fetches = createTally(FETCHES)

  function fetchKey(url: string) {
    if (fetches.hit('')) fail('SERVICE_UNAVAILABLE', { retryAfter: fetches.retryAfter('') })
    const key = sns
      .certificate(url)
      .then((pem) => createPublicKey(pem))
      .catch((err) => {
        keys.delete(url)
        return fail('SERVICE_UNAVAILABLE', { message: 'The certificate could not be read.', retryAfter: 5, cause: err })
      })
    keys.set(url, key)
    if (keys.size > MAX_CERTIFICATES) keys.delete(keys.keys().next().value!)
    return key
  }

  return (url: string) => keys.get(url) ?? fetchKey(url)
}

function isSignedBy(key: KeyObject, envelope: Envelope) {
  const signature = Buffer.from(envelope.Signature, 'base64')
  return verify(ALGORITHMS[envelope.SignatureVersion], Buffer.from(signedText(envelope)), key, signature)
}

/** Names and values, each on a line of its own, in the order of the alphabet. */
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
