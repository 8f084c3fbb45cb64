import { readHtml } from '../../mime/html/html-to-text.ts'
import { trackableTarget } from '../../mime/html/rewrite-links.ts'
import type { CampaignLinkJson } from './links.ts'

/** As many links of an email are tracked. */
const MAX_LINKS_OF_CONTENT = 1_000
/** Links that are never tracked, so that unsubscribing works without a redirect. */
const PREFERENCES = /^\{\{-?\s*(?:unsubscribeUrl|subscribeUrl|manageUrl)\b/

/** A link as it is written, and its parts between variables and tags: one part if it has none. */
type WrittenLink = { link: string; parts: string[] }

/** The links of a content that can be clicked, each once. */
function linksOf(body: string): WrittenLink[] {
  const targets = readHtml(body).links.slice(0, MAX_LINKS_OF_CONTENT)
  const links = new Map(targets.flatMap(({ target }) => readLink(target) ?? []).map((read) => [read.link, read]))
  return [...links.values()]
}

/** A link that begins with a variable may become any link. */
function readLink(target: string): WrittenLink | undefined {
  const parts = fixedParts(target.trim())
  const link = parts.length === 1 ? trackableTarget(target) : /^(?:https?:|\{[{%])/i.test(target.trim()) ? target.trim() : undefined
  return link === undefined || PREFERENCES.test(link) ? undefined : { link, parts }
}

/** Linear, unlike a regular expression that looks for the end of every tag. */
function fixedParts(text: string): string[] {
  const parts: string[] = []
  let at = 0
  for (const { index, 0: opening } of text.matchAll(/\{[{%]/g)) {
    if (index < at) continue
    const end = text.indexOf(opening === '{{' ? '}}' : '%}', index + 2)
    if (end === -1) break
    parts.push(text.slice(at, index))
    at = end + 2
  }
  return [...parts, text.slice(at)]
}

/**
 * Adds the links of a content that nobody clicked, in their order. A link with variables is clicked as it was rendered, so it is added only if no
 * clicked link can be a rendering of it.
 */
export function addUnclicked(clicked: CampaignLinkJson[], body: string): CampaignLinkJson[] {
  const known = new Set(clicked.map(({ link }) => link))
  const wasClicked = ({ link, parts }: WrittenLink) =>
    known.has(link) || (parts.length > 1 && clicked.some((each) => isRendering(each.link, parts)))
  const missing = linksOf(body).filter((link) => !wasClicked(link))
  return [...clicked, ...missing.map(({ link }) => ({ link, clicks: 0, people: 0 }))]
}

/** Tells which links of the rendered email are others for other recipients: those that can only come from a link with variables. */
export function createVariesCheck(body: string): (link: string) => boolean {
  const written = linksOf(body)
  const fixed = new Set(written.filter(({ parts }) => parts.length === 1).map(({ link }) => link))
  const varying = written.filter(({ parts }) => parts.length > 1)
  return (link) => !fixed.has(link) && varying.some(({ parts }) => isRendering(link, parts))
}

/** Whether the fixed parts occur in their order, the first at the start and the last at the end. */
function isRendering(rendered: string, parts: string[]): boolean {
  const [first, last] = [parts[0]!, parts.at(-1)!]
  if (!rendered.startsWith(first) || !rendered.endsWith(last)) return false
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = rendered.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return at <= rendered.length - last.length
}
