import type { Connection } from './request.ts'

export type ConnectionOptions = {
  /** The URL of the Sterna server. Default: the page's origin in a browser, `http://localhost:3000` elsewhere. */
  baseUrl?: string | undefined
  fetch?: typeof fetch | undefined
  /** Limit for a whole call, retries included. Default: 30 seconds. */
  timeoutMs?: number | undefined
  /** Further attempts of a call that is safe to repeat. Default: 2. */
  maxRetries?: number | undefined
}

export function connect({ baseUrl, fetch = globalThis.fetch, timeoutMs = 30_000, maxRetries = 2 }: ConnectionOptions): Connection {
  // Only browsers have one.
  const { location } = globalThis as { location?: { origin: string } }
  const given = baseUrl ?? location?.origin ?? 'http://localhost:3000'
  if (!isUrl(given)) throw new TypeError(`"${given}" is not a base URL such as https://sterna.example.com.`)
  // Browsers refuse a `fetch` that is called as a method of another object.
  return { baseUrl: given.replace(/\/+$/, ''), fetch: (url, init) => fetch(url, init), timeoutMs, maxRetries }
}

/** `URL.canParse` needs Node 18.17. */
function isUrl(text: string): boolean {
  try {
    return /^https?:$/.test(new URL(text).protocol)
  } catch {
    return false
  }
}
