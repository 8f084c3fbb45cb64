import { invalid } from '../../lib/errors/errors.ts'
import { MASK, maskQuery } from '../../lib/text/mask.ts'

type Config = Record<string, unknown>
type Webhook = Config & { url: string; headers?: unknown }

const isObject = (value: unknown): value is Config => typeof value === 'object' && value !== null && !Array.isArray(value)
/** By its shape: kinds of steps that call a host have the config of a webhook beside their own keys. */
const isWebhook = (value: unknown): value is Webhook => isObject(value) && typeof value.url === 'string'
const headersOf = ({ headers }: Webhook) => (isObject(headers) ? Object.entries(headers) : [])

/** A config, or a request, without what authenticates it: the values of its headers, and the query of its address. */
export function maskWebhook<Value>(value: Value): Value {
  if (!isWebhook(value)) return value
  const masked = isObject(value.headers) ? { headers: Object.fromEntries(headersOf(value).map(([name]) => [name, MASK])) } : {}
  return { ...value, url: maskQuery(value.url), ...masked }
}

/**
 * Puts the values of the stored step in the place of masks that were sent back. Refused for another origin, which would get the values of the
 * first one, and where nothing is stored.
 */
export function unmaskWebhook(given: unknown, stored: unknown, at: string): unknown {
  if (!isWebhook(given)) return given
  const url = given.url.trim()
  const kept = isWebhook(stored) && originOf(stored.url) === originOf(url) ? stored : undefined
  const headers = headersOf(given).map(([name, value]) => [name, value === MASK ? storedHeader(kept, name, at) : value] as const)
  return {
    ...given,
    url: url.includes(MASK) ? withStoredQuery(url, kept, at) : url,
    ...(isObject(given.headers) && { headers: Object.fromEntries(headers) }),
  }
}

/** Host and port as they are written; they contain no variable. */
const originOf = (url: string) => /^https?:\/\/[^/?#]*/i.exec(url)?.[0].toLowerCase()

function storedHeader(stored: Webhook | undefined, wanted: string, at: string) {
  const [, value] = (stored && headersOf(stored).find(([name]) => name.toLowerCase() === wanted.toLowerCase())) ?? []
  return (
    value ?? invalid(`${at}.headers.${wanted}`, 'The value is masked, and none is stored for this step, header and host. Give it again.')
  )
}

function withStoredQuery(url: string, stored: Webhook | undefined, at: string) {
  const query = stored && /[?](.*)$/s.exec(stored.url)?.[1]
  const path = url.slice(0, -MASK.length)
  if (query === undefined || maskQuery(url) !== url || path.includes(MASK))
    invalid(`${at}.url`, 'The query is masked, and none is stored for this step and host. Give it again.')
  return path + query
}

/** Values that are masked where they are stored: a project moved here without its secrets. */
export function missingOfWebhook(config: unknown): string | undefined {
  if (!isWebhook(config)) return undefined
  const [header] = headersOf(config).find(([, value]) => value === MASK) ?? []
  if (header !== undefined) return `The value of the header "${header}" is missing. Enter it again.`
  return config.url.endsWith(`?${MASK}`) ? 'The query of the address is missing. Enter it again.' : undefined
}
