/** The query string of a URL. Values stay strings: a token that looks like a number must not become one. */
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

/** Accepts only paths on this origin: `next` must not become an open redirect. */
export function ownPath(value: unknown): string | undefined {
  return typeof value === 'string' && /^\/(?![/\\])/.test(value) ? value : undefined
}
