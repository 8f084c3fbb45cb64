import type { Secrets } from '../../lib/secrets.ts'
import { escapeHtml } from '../../lib/text/html.ts'
import { readClickToken, readOpenToken, TRAP } from './tracking-token.ts'

const PIXEL = /<img src="https?:\/\/[^"\s]*\/t\/o\/([\w-]+)"[^<>]*>/g
const BACKGROUND_PIXEL =
  /<div style="background-image:url\('https?:\/\/[^"'\s]*\/t\/o\/([\w-]+)'\)[^"]*"><\/div>(?:<!--\[if mso\]>[^!]*<!\[endif\]-->)?/g
const HIDDEN_LINK = /<a hidden href="https?:\/\/[^"\s]*\/t\/c\/([\w-]+)"[^<>]*><\/a>/g
const LINK = /href="https?:\/\/[^"\s]*\/t\/c\/([\w-]+)"/g

/** Removes the open and click tracking of a message, so that looking at it counts as nothing. Only tokens of ours are replaced. */
export const untrackHtml = (secrets: Secrets, html: string) =>
  html
    .replace(BACKGROUND_PIXEL, (tag, token) => (readOpenToken(secrets, token) ? '' : tag))
    .replace(PIXEL, (tag, token) => (readOpenToken(secrets, token) ? '' : tag))
    .replace(HIDDEN_LINK, (tag, token) => (readClickToken(secrets, token)?.link === TRAP ? '' : tag))
    .replace(LINK, (attribute, token) => {
      const link = readClickToken(secrets, token)
      return link ? `href="${escapeHtml(link.target)}"` : attribute
    })
