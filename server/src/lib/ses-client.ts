import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { SESv2Client } from '@aws-sdk/client-sesv2'
import type { SesConfig } from './config.ts'

type Sdk = typeof import('@aws-sdk/client-sesv2')
type Patience = { connectMs: number; answerMs: number }

const MAX_CONNECTIONS = 128
/** Shorter than Amazon keeps an idle line open: a mail written to one that was just closed has an unknown outcome. */
const IDLE_MS = 5_000

/**
 * A client of Amazon SES, made at the first use: most installations have none. Credentials come the way every tool of AWS finds them.
 * It never repeats a request by itself: a second one would be a second mail.
 */
export function createSesClient({ region, endpoint }: SesConfig, { connectMs, answerMs }: Patience) {
  let made: Promise<{ sdk: Sdk; client: SESv2Client }> | undefined

  async function make() {
    const sdk = await import('@aws-sdk/client-sesv2')
    const agent = { keepAlive: true, maxSockets: MAX_CONNECTIONS, timeout: IDLE_MS }
    const client = new sdk.SESv2Client({
      region,
      ...(endpoint ? { endpoint } : {}),
      maxAttempts: 1,
      requestHandler: {
        connectionTimeout: connectMs,
        requestTimeout: answerMs,
        throwOnRequestTimeout: true,
        // No answer for a while is no reason to hang up: only the time for the whole request counts.
        socketTimeout: answerMs,
        httpAgent: new HttpAgent(agent),
        httpsAgent: new HttpsAgent(agent),
      },
    })
    return { sdk, client }
  }

  return {
    ready: () => (made ??= make()),
    async close() {
      const { client } = (await made) ?? {}
      client?.destroy()
    },
  }
}

/** What Amazon said no with. Undefined when the error is not an answer of theirs. */
export function refusalIn(err: unknown): { status: number; name: string; message: string } | undefined {
  const { name = '', message = '', $metadata } = err as { name?: string; message?: string; $metadata?: { httpStatusCode?: number } }
  const status = $metadata?.httpStatusCode ?? 0
  return status >= 400 && status < 600 ? { status, name, message } : undefined
}

/** It never came to a connection that both sides trust: nothing has been said to anybody. */
export function isUnreached(err: unknown) {
  const { syscall = '', message = '', code = '' } = err as NodeJS.ErrnoException
  return (
    syscall === 'connect' ||
    syscall.startsWith('getaddrinfo') ||
    /^(CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|ERR_TLS_CERT)/.test(code) ||
    /did not establish a connection|before secure TLS connection/.test(message)
  )
}
