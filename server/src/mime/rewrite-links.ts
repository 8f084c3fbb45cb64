import type { LinkSpan, ParsedHtml } from './html-to-text.ts'

/** Links beyond this number stay as they are. */
const MAX_LINKS = 1_000
/** In bytes. The tracked address is longer by half, and mail programs cut addresses of more than 2,000 characters. */
const MAX_TARGET = 1_400
/** Whole web addresses only. A redirect cannot contain a control character. */
const WEB = /^https?:\/\/[^\p{Cc}]+$/iu
const BLANKS = new Set('\t\n\f\r ')

type Addresses = {
  /** Links that begin like this stay as they are. */
  untracked: string[]
  /** `position` counts the tracked links of the message from 1. */
  click: (position: number, target: string) => string
  /** The address of a link that no person sees. */
  trap: () => string
  pixel: () => string
}

/** Replaces the links of an HTML message by tracked ones, and adds a pixel and, if there are links, a hidden link. */
export function rewriteLinks(html: string, { links: spans, end }: ParsedHtml, addresses: Addresses) {
  const links = trackedLinks(spans, addresses.untracked)
  let rewritten = ''
  let at = 0
  for (const [index, { start, end: after, target }] of links.entries()) {
    rewritten += `${html.slice(at, start)}href="${addresses.click(index + 1, target)}"`
    at = after
  }
  const trap = links.length ? hiddenLink(addresses.trap()) : ''
  return `${rewritten}${html.slice(at, end)}${trap}${pixel(addresses.pixel())}${html.slice(end)}`
}

const trackedLinks = (spans: LinkSpan[], untracked: string[]) =>
  spans
    .map((span) => ({ ...span, target: withoutBlanks(span.target) }))
    .filter(({ target }) => isTrackable(target) && !untracked.some((start) => target.startsWith(start)))
    .slice(0, MAX_LINKS)

const isTrackable = (target: string) => target.length <= MAX_TARGET && WEB.test(target) && Buffer.byteLength(target) <= MAX_TARGET

/** Blanks around an address are not part of it. Not by a regular expression: that is quadratic in a long run of blanks. */
function withoutBlanks(target: string) {
  let start = 0
  let end = target.length
  while (start < end && BLANKS.has(target[start]!)) start++
  while (end > start && BLANKS.has(target[end - 1]!)) end--
  return start === 0 && end === target.length ? target : target.slice(start, end)
}

const pixel = (url: string) => `<img src="${url}" width="1" height="1" alt="" style="border:0;width:1px;height:1px">`

/** For programs that follow every link: people neither see nor reach it. */
const hiddenLink = (url: string) => `<a href="${url}" style="display:none" aria-hidden="true" tabindex="-1" rel="nofollow"></a>`
