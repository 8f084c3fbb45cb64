import type { LinkSpan, ParsedHtml } from './html-to-text.ts'

/** Further links are left as they are. */
const MAX_LINKS = 1_000
/** Longest target, in bytes. A tracked URL is half as long again, and email clients cut URLs of more than 2,000 characters. */
const MAX_TARGET = 1_400
/** Absolute web addresses only. A redirect cannot contain a control character. */
const WEB = /^https?:\/\/[^\p{Cc}]+$/iu
const SPACES = new Set('\t\n\f\r ')

type TrackingUrls = {
  /** Links with one of these prefixes are left as they are. */
  untracked: string[]
  /** `position` counts the tracked links of the message from 1. */
  click: (position: number, target: string) => string
  /** URL of the hidden link. */
  trap: () => string
  pixel: () => string
}

/** Replaces links by tracked ones, and adds a pixel and, if there are links, a hidden link. */
export function rewriteLinks(html: string, { links: spans, end }: ParsedHtml, urls: TrackingUrls) {
  const links = trackedLinks(spans, urls.untracked)
  let rewritten = ''
  let at = 0
  for (const [index, { start, end: after, target }] of links.entries()) {
    rewritten += `${html.slice(at, start)}href="${urls.click(index + 1, target)}"`
    at = after
  }
  const trap = links.length ? hiddenLink(urls.trap()) : ''
  return `${rewritten}${html.slice(at, end)}${trap}${pixel(urls.pixel())}${html.slice(end)}`
}

const trackedLinks = (spans: LinkSpan[], untracked: string[]) =>
  spans
    .map((span) => ({ ...span, target: trimSpaces(span.target) }))
    .filter(({ target }) => isTrackable(target) && !untracked.some((start) => target.startsWith(start)))
    .slice(0, MAX_LINKS)

const isTrackable = (target: string) => target.length <= MAX_TARGET && WEB.test(target) && Buffer.byteLength(target) <= MAX_TARGET

/** Trims spaces. A regular expression would be quadratic in a long run of spaces. */
function trimSpaces(target: string) {
  let start = 0
  let end = target.length
  while (start < end && SPACES.has(target[start]!)) start++
  while (end > start && SPACES.has(target[end - 1]!)) end--
  return start === 0 && end === target.length ? target : target.slice(start, end)
}

const pixel = (url: string) => `<img src="${url}" width="1" height="1" alt="" style="border:0;width:1px;height:1px">`

/** Identifies programs that follow every link: people can neither see nor reach it. */
const hiddenLink = (url: string) => `<a href="${url}" style="display:none" aria-hidden="true" tabindex="-1" rel="nofollow"></a>`
