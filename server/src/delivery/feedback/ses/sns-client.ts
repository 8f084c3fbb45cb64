import { KB } from '../../../lib/text/units.ts'

/** Requests to Amazon SNS. Passed in by the composition root, so that no setting can redirect them. */
export type SnsClient = {
  /** Returns the certificate at a URL as PEM. */
  certificate(url: string): Promise<string>
  /** Confirms the subscription to a topic. */
  confirm(url: string): Promise<void>
}

const TIMEOUT_MS = 5_000
const MAX_BYTES = 64 * KB

/** The host of Amazon SNS for a topic: the only one to trust certificates from, and to confirm subscriptions at. */
function hostOf(topic: string) {
  const [, partition, , region] = topic.split(':')
  return `sns.${region}.amazonaws.com${partition === 'aws-cn' ? '.cn' : ''}`
}

const CERTIFICATE_PATH = /^\/SimpleNotificationService-[0-9A-Za-z]{1,128}\.pem$/

/** Compared as text, so that URL parsing of userinfo, ports, dots or backslashes does not matter. */
export function isSnsCertificateUrl(url: string, topic: string) {
  const origin = `https://${hostOf(topic)}`
  return url.startsWith(`${origin}/`) && CERTIFICATE_PATH.test(url.slice(origin.length))
}

const TOKEN = /^[0-9A-Za-z_=-]{1,1024}$/

/** The URL that confirms a subscription, rebuilt from its parts. Undefined when the given URL is not one of Amazon SNS for this topic. */
export function confirmationUrl(url: string, topic: string): string | undefined {
  const origin = `https://${hostOf(topic)}`
  if (!url.startsWith(`${origin}/?`)) return undefined
  const params = new URLSearchParams(url.slice(origin.length + 2))
  const token = params.get('Token') ?? ''
  if (params.get('Action') !== 'ConfirmSubscription' || params.get('TopicArn') !== topic || !TOKEN.test(token)) return undefined
  return `${origin}/?${new URLSearchParams({ Action: 'ConfirmSubscription', TopicArn: topic, Token: token })}`
}

export const amazonSns: SnsClient = {
  certificate: get,
  async confirm(url) {
    await get(url)
  },
}

async function get(url: string) {
  const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) })
  if (!response.ok) throw new Error(`Amazon SNS replied with ${response.status}`)
  let size = 0
  const chunks: Uint8Array[] = []
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Error('the response of Amazon SNS is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
