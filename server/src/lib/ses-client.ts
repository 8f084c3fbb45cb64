import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { SESv2Client } from '@aws-sdk/client-sesv2'
import type { SesConfig } from './config.ts'

type Sdk = typeof import('@aws-sdk/client-sesv2')
type Timeouts = { connectMs: number; replyMs: number }

const MAX_CONNECTIONS = 128
/** Shorter than Amazon keeps an idle connection open: an email written to a connection that was just closed has an unknown outcome. */
const IDLE_MS = 5_000

/**
 * A client of Amazon SES, created at the first use, as most installations need none. Credentials come from the AWS default chain. The
 * client never retries: a second request could be a second email.
 */
export function createSesClient({ region, endpoint }: SesConfig, { connectMs, replyMs }: Timeouts) {
  let created: Promise<{ sdk: Sdk; client: SESv2Client }> | undefined

  async function create() {
    const sdk = await import('@aws-sdk/client-sesv2')
    const agent = { keepAlive: true, maxSockets: MAX_CONNECTIONS, timeout: IDLE_MS }
    const client = new sdk.SESv2Client({
      region,
      ...(endpoint ? { endpoint } : {}),
      maxAttempts: 1,
      requestHandler: {
        connectionTimeout: connectMs,
        requestTimeout: replyMs,
        throwOnRequestTimeout: true,
        // A silent socket is no reason to disconnect: only the timeout of the whole request counts.
        socketTimeout: replyMs,
        httpAgent: new HttpAgent(agent),
        httpsAgent: new HttpsAgent(agent),
      },
    })
    return { sdk, client }
  }

  return {
    ready: () => (created ??= create()),
    async close() {
      const { client } = (await created) ?? {}
      client?.destroy()
    },
  }
}

/** The error response of Amazon. Undefined when the error is not a response. */
export function refusalIn(err: unknown): { status: number; name: string; message: string } | undefined {
  const { name = '', message = '', $metadata } = err as { name?: string; message?: string; $metadata?: { httpStatusCode?: number } }
  const status = $metadata?.httpStatusCode ?? 0
  return status >= 400 && status < 600 ? { status, name, message } : undefined
}

/** True when no trusted connection was established, so the request was not sent. */
export function isUnreached(err: unknown) {
  const { syscall = '', message = '', code = '' } = err as NodeJS.ErrnoException
  return (
    syscall === 'connect' ||
    syscall.startsWith('getaddrinfo') ||
    /^(CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|ERR_TLS_CERT)/.test(code) ||
    /did not establish a connection|before secure TLS connection/.test(message)
  )
}
