import type Stripe from 'stripe'
import type { StripeConfig } from '../lib/config.ts'
import { AppError, fail, failPlainly } from '../lib/errors/errors.ts'
import type { Log } from '../lib/process/log.ts'
import { SECOND } from '../lib/text/units.ts'

/** Shorter than the time that a request may take. */
const TIMEOUT_MS = 10 * SECOND

const clients = new Map<string, Promise<Stripe>>()

/** The library has 23 MB, and most installations have no billing: it is loaded when it is used first. */
export function openStripe({ secretKey, apiBase }: Pick<StripeConfig, 'secretKey' | 'apiBase'>): Promise<Stripe> {
  const known = clients.get(`${apiBase} ${secretKey}`)
  if (known) return known
  const opened = import('stripe').then(
    ({ default: Client }) => new Client(secretKey, { timeout: TIMEOUT_MS, maxNetworkRetries: 0, telemetry: false, ...addressOf(apiBase) }),
  )
  opened.catch(() => clients.delete(`${apiBase} ${secretKey}`))
  clients.set(`${apiBase} ${secretKey}`, opened)
  return opened
}

/** Another address than Stripe's is for tests and for proxies. */
function addressOf(apiBase: string | undefined) {
  if (!apiBase) return {}
  const { hostname, port, protocol } = new URL(apiBase)
  const isPlain = protocol === 'http:'
  return { host: hostname, port: port || (isPlain ? 80 : 443), protocol: isPlain ? ('http' as const) : ('https' as const) }
}

/** Without Stripe there is nothing to pay, to open or to list. */
export const requireStripe = (config: StripeConfig | undefined): StripeConfig =>
  config ?? failPlainly('RESOURCE_NOT_FOUND', 'Billing is not set up on this installation.')

/** An error of Stripe becomes a 503: the caller cannot mend it. Its reason is for the operator. */
export async function askStripe<T>(log: Log, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (err) {
    if (err instanceof AppError) throw err
    log.error({ reason: (err as Error).message }, 'Stripe refused a request or did not answer')
    return fail('SERVICE_UNAVAILABLE', { message: 'The billing provider did not answer. Try again shortly.', retryAfter: 10, cause: err })
  }
}

/** Whether Stripe has refused a request permanently: it did nothing, and would refuse it again. */
export function isRefusal(err: unknown): boolean {
  const { statusCode } = err as { statusCode?: number }
  return statusCode !== undefined && statusCode >= 400 && statusCode < 500 && statusCode !== 409 && statusCode !== 429
}
