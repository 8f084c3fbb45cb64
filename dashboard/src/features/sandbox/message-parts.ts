import { formatBytes } from '../../ui/text/format-bytes.ts'

export type MessageLink = { label: string; url: string }

/** More links than this are not listed: no person checks them one by one. */
const MAX_LINKS = 200

/** The links of a message in their order, each address once. A parsed document runs no scripts and loads nothing. */
export function linksOf(html: string, parse = (text: string) => new DOMParser().parseFromString(text, 'text/html')): MessageLink[] {
  const links = new Map<string, MessageLink>()
  for (const anchor of parse(html).querySelectorAll('a[href]')) {
    if (links.size === MAX_LINKS) break
    const url = anchor.getAttribute('href')!.trim()
    const label = anchor.textContent?.replace(/\s+/g, ' ').trim() || 'An image or empty link'
    if (url && !links.has(url)) links.set(url, { label, url })
  }
  return [...links.values()]
}

/** Gmail cuts the HTML of a message off here and hides the rest behind a link. */
export const CLIPPED_AT = 102 * 1024

export const bytesOf = (text: string) => new TextEncoder().encode(text).length

/** Problems to fix before this is sent to people. */
export function findProblems({ html, text, headers }: { html: string; text: string; headers: { name: string }[] }): string[] {
  const size = bytesOf(html)
  const has = (name: string) => headers.some((header) => header.name.toLowerCase() === name)
  return [
    ...(size > CLIPPED_AT ? [`The HTML has ${formatBytes(size)}: Gmail cuts it off at 102 KB.`] : []),
    ...(html && !text.trim() ? ['It has no text part, for readers and filters that do not show HTML.'] : []),
    ...(/<img\b(?![^>]*\balt\s*=)[^>]*>/i.test(html) ? ['An image has no alternative text.'] : []),
    ...(/\bsrc\s*=\s*["']?http:/i.test(html) ? ['An image is loaded without encryption (http:).'] : []),
    ...(/▢|\{\{/.test(html) ? ['A variable was not replaced.'] : []),
    ...(!has('subject') ? ['It has no subject.'] : []),
  ]
}
