import type { ParsedHtml } from './html-to-text.ts'

/** Further links are left as they are. */
export const MAX_LINKS = 1_000
/** Longest target, in bytes. A tracked URL is half as long again, and email clients cut URLs of more than 2,000 characters. */
const MAX_TARGET = 1_400
/** Absolute web addresses only. A redirect cannot contain a control character. */
const WEB = /^https?:\/\/[^\p{Cc}]+$/iu
const SPACES = new Set('\t\n\f\r ')

export type TrackingUrls = {
  /** Links with one of these prefixes are left as they are. */
  untracked: string[]
  /** `position` counts the tracked links of the message from 1. */
  click: (position: number, target: string) => string
  /** URL of the hidden link. */
  trap: () => string
  pixel: () => string
}

/** Replaces links by tracked ones, and adds a pixel and, if there are links, a hidden link. */
export function rewriteLinks(html: string, { links: spans, end, isShort }: ParsedHtml, urls: TrackingUrls) {
  const tracker = createLinkTracker(urls)
  let before = ''
  let rewritten = ''
  let at = 0
  const copyTo = (position: number) => {
    rewritten += html.slice(at, position)
    at = position
  }
  for (const { start, end: after, target } of [...spans, { start: end, end, target: undefined }].sort((a, b) => a.start - b.start)) {
    copyTo(start)
    if (target === undefined) {
      before = rewritten
      rewritten = ''
      continue
    }
    const attribute = tracker.attributeFor(trackableTarget(target))
    if (attribute === undefined) continue
    rewritten += attribute
    at = after
  }
  copyTo(html.length)
  return before + tracker.ending({ isShort }) + rewritten
}

/** Gives the tracked links of one message their numbers. */
export function createLinkTracker(urls: TrackingUrls) {
  let count = 0
  return {
    /** The attribute that replaces a link with this target; undefined when the link is left as it is. */
    attributeFor(target: string | undefined) {
      if (target === undefined || count === MAX_LINKS || urls.untracked.some((start) => target.startsWith(start))) return undefined
      return `href="${urls.click(++count, target)}"`
    },
    /** Text added at the end, once all links are known. */
    ending: ({ isShort }: { isShort: boolean }) =>
      (count ? hiddenLink(urls.trap()) : '') + (isShort ? backgroundPixel : pixel)(urls.pixel()),
  }
}

/** The target without spaces around it; undefined when it cannot be tracked. */
export function trackableTarget(given: string): string | undefined {
  const target = trimSpaces(given)
  return target.length <= MAX_TARGET && WEB.test(target) && Buffer.byteLength(target) <= MAX_TARGET ? target : undefined
}

/** Trims spaces. A regular expression would be quadratic in a long run of spaces. */
function trimSpaces(target: string) {
  let start = 0
  let end = target.length
  while (start < end && SPACES.has(target[start]!)) start++
  while (end > start && SPACES.has(target[end - 1]!)) end--
  return start === 0 && end === target.length ? target : target.slice(start, end)
}

export const pixel = (url: string) => `<img src="${url}" width="1" height="1" alt="" style="border:0;width:1px;height:1px">`

/**
 * For emails with little text and no image of their own. There an `<img>` costs up to 2.8 points of SpamAssassin (`HTML_IMAGE_ONLY_…`), half of
 * what makes an email spam; a background costs none. Gmail, Apple Mail, Yahoo, Outlook.com and the mobile Outlook load backgrounds.
 * Outlook on Windows does not, but it reads the conditional comment, which is a comment for everything else.
 */
export const backgroundPixel = (url: string) =>
  `<div style="background-image:url('${url.replaceAll("'", '%27')}');width:1px;height:1px"></div>` +
  `<!--[if mso]><img src="${url}" width="1" height="1" alt=""><![endif]-->`

/**
 * Identifies programs that follow every link: people can neither see nor reach it. Email clients that remove styles keep the attribute
 * `hidden`, and one that ignores both shows nothing, since the link has no content.
 */
export const hiddenLink = (url: string) =>
  `<a hidden href="${url}" style="display:none;mso-hide:all" aria-hidden="true" tabindex="-1" rel="nofollow"></a>`
