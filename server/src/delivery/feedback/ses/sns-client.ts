import { KB } from '../../../lib/units.ts'

/** Whom we ask, handed in by whoever builds the app: no setting can point them elsewhere. */
export type Sns = {
  /** The certificate at that address, as PEM. */
  certificate(url: string): Promise<string>
  /** Says that we want what a topic sends. */
  confirm(url: string): Promise<void>
}

const TIME_MS = 5_000
const MAX_BYTES = 64 * KB

/** The host of Amazon SNS for a topic. Only certificates from there prove anything, and only there a subscription is confirmed. */
function hostOf(topic: string) {
  const [, partition, , region] = topic.split(':')
  return `sns.${region}.amazonaws.com${partition === 'aws-cn' ? '.cn' : ''}`
}

const CERTIFICATE = /^\/SimpleNotificationService-[0-9A-Za-z]{1,128}\.pem$/

/** Compared as a whole: what a parser makes of userinfo, ports, dots or backslashes is then no question. */
export function isCertificate(url: string, topic: string) {
  const origin = `https://${hostOf(topic)}`
  return url.startsWith(`${origin}/`) && CERTIFICATE.test(url.slice(origin.length))
}

const TOKEN = /^[0-9A-Za-z_=-]{1,1024}$/

/** What to ask to confirm a subscription, put together by ourselves. Undefined when the message wants us to ask somewhere else. */
export function confirmationOf(url: string, topic: string): string | undefined {
  const origin = `https://${hostOf(topic)}`
  if (!url.startsWith(`${origin}/?`)) return undefined
  const asked = new URLSearchParams(url.slice(origin.length + 2))
  const token = asked.get('Token') ?? ''
  if (asked.get('Action') !== 'ConfirmSubscription' || asked.get('TopicArn') !== topic || !TOKEN.test(token)) return undefined
  return `${origin}/?${new URLSearchParams({ Action: 'ConfirmSubscription', TopicArn: topic, Token: token })}`
}

export const genuineSns: Sns = {
  certificate: get,
  async confirm(url) {
    await get(url)
  },
}

async function get(url: string) {
  const answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(TIME_MS) })
  if (!answer.ok) throw new Error(`Amazon SNS answered ${answer.status}`)
  let size = 0
  const chunks: Uint8Array[] = []
  for await (const chunk of answer.body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Error('Amazon SNS answered with too much')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
