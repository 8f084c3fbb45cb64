import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
/** In place of Amazon's certificate. */
export const PUBLIC_KEY = publicKey.export({ type: 'spki', format: 'pem' }).toString()
export const TOPIC = 'arn:aws:sns:eu-central-1:123456789012:sterna'
const HOST = 'sns.eu-central-1.amazonaws.com'
export const CERTIFICATE = `https://${HOST}/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem`
export const SUBSCRIBE = `https://${HOST}/?Action=ConfirmSubscription&TopicArn=${TOPIC}&Token=abc123`

type Fields = Record<string, string>

/** The fields that SNS signs, from its published description. */
const SIGNED: Record<string, string[]> = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
  UnsubscribeConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
}

export function signed(fields: Fields, version: '1' | '2' = '2', key = privateKey): Fields {
  const all: Fields = {
    Type: 'Notification',
    MessageId: randomUUID(),
    TopicArn: TOPIC,
    Timestamp: new Date().toISOString(),
    SignatureVersion: version,
    SigningCertURL: CERTIFICATE,
    ...fields,
  }
  const text = SIGNED[all.Type!]!.filter((name) => all[name] !== undefined)
    .map((name) => `${name}\n${all[name]}\n`)
    .join('')
  return { ...all, Signature: sign(version === '1' ? 'RSA-SHA1' : 'RSA-SHA256', Buffer.from(text), key).toString('base64') }
}

export const confirmation = (fields: Fields = {}) =>
  signed({ Type: 'SubscriptionConfirmation', Message: 'You have chosen to subscribe', SubscribeURL: SUBSCRIBE, Token: 'abc123', ...fields })

/** In place of the SNS client of the app: records the URLs that it fetches and confirms. */
export function createFakeSns() {
  const fetched: string[] = []
  const confirmed: string[] = []
  return {
    fetched,
    confirmed,
    async certificate(url: string) {
      fetched.push(url)
      return PUBLIC_KEY
    },
    async confirm(url: string) {
      confirmed.push(url)
    },
  }
}
