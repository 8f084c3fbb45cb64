/** What stands behind the `?`. Plain text in, plain text out: a token that looks like a number has to stay the token. */
export type Search = Record<string, unknown>

export function parseSearch(search: string): Search {
  return Object.fromEntries(new URLSearchParams(search))
}

export function stringifySearch(search: Search): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined)
  return given.length > 0 ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : ''
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Only paths of our own: a link with a foreign `next` must not become a redirect for phishers. */
export function ownPath(value: unknown): string | undefined {
  return typeof value === 'string' && /^\/(?![/\\])/.test(value) ? value : undefined
}
