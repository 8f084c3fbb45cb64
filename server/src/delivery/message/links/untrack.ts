import type { Secrets } from '../../../lib/secrets.ts'
import { escapeHtml } from '../../../lib/text/html.ts'
import { readClickToken, readOpenToken, TRAP } from './tracking-token.ts'

// No part of these can pass over the beginning of another match: HTML of others may begin a tag at every place.
const PIXEL = /<img src="([^"\s]*)"[^<>]*>/g
const BACKGROUND_PIXEL = /<div style="background-image:url\('([^"'\s]*)'\)[^"]*"><\/div>(?:<!--\[if mso\]>[^!]*<!\[endif\]-->)?/g
const HIDDEN_LINK = /<a hidden href="([^"\s]*)"[^<>]*><\/a>/g
const LINK = /href="([^"\s]*)"/g

/** Removes the open and click tracking of a message, so that looking at it counts as nothing. Only tokens of ours are replaced. */
export function untrackHtml(secrets: Secrets, html: string) {
  const isPixel = (url: string) => withToken(url, '/t/o/', (token) => readOpenToken(secrets, token)) !== undefined
  const linkOf = (url: string) => withToken(url, '/t/c/', (token) => readClickToken(secrets, token)?.link)
  return html
    .replace(BACKGROUND_PIXEL, (tag, url) => (isPixel(url) ? '' : tag))
    .replace(PIXEL, (tag, url) => (isPixel(url) ? '' : tag))
    .replace(HIDDEN_LINK, (tag, url) => (linkOf(url) === TRAP ? '' : tag))
    .replace(LINK, (attribute, url) => {
      const link = withToken(url, '/t/c/', (token) => readClickToken(secrets, token))
      return link ? `href="${escapeHtml(link.target)}"` : attribute
    })
}

/** Reads the token at the end of a URL, behind `path`. */
function withToken<Result>(url: string, path: string, read: (token: string) => Result): Result | undefined {
  const at = url.lastIndexOf(path)
  return at > 0 && /^https?:\/\//.test(url) ? read(url.slice(at + path.length)) : undefined
}
