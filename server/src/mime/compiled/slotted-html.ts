/** HTML as static texts with values between them. The values are escaped for HTML. There is one more text than values. */
export type SlottedHtml = { texts: string[]; values: string[] }

export function joinSlots({ texts, values }: SlottedHtml) {
  let joined = texts[0]!
  for (let index = 0; index < values.length; index++) joined += values[index]! + texts[index + 1]!
  return joined
}

/** The texts when the values of these slots are empty. */
export function withoutSlots(texts: string[], slots: number[]) {
  const kept = [texts[0]!]
  for (let index = 1; index < texts.length; index++) {
    if (slots.includes(index - 1)) kept[kept.length - 1] += texts[index]!
    else kept.push(texts[index]!)
  }
  return kept
}

/** Private-use characters stand for values while HTML is compiled: no rule of HTML treats them specially. */
const FIRST_MARK = 0xe000
const MARK = /[\ue000-\uf8ff]/
const MARKS = /[\ue000-\uf8ff]/g
const MAX_SLOTS = 6_000

export const markOf = (slot: number) => String.fromCharCode(FIRST_MARK + slot)
export const hasMark = (text: string) => MARK.test(text)

/** The texts with a mark in place of each value. */
export const markSlots = (texts: string[]) => joinSlots({ texts, values: texts.slice(1).map((_, slot) => markOf(slot)) })

/** A text whose marks are replaced by values: the texts around them, and the index of each value. */
export type Filling = { texts: string[]; slots: number[] }

export const fillingOf = (marked: string): Filling => ({
  texts: marked.split(MARK),
  slots: Array.from(marked.matchAll(MARKS), ([mark]) => mark.charCodeAt(0) - FIRST_MARK),
})

export function fill({ texts, slots }: Filling, values: string[]) {
  let filled = texts[0]!
  for (let index = 0; index < slots.length; index++) filled += values[slots[index]!]! + texts[index + 1]!
  return filled
}

/** Elements whose content is not parsed as HTML, by some parsers or all of them. */
const RAW = new Set(['script', 'style', 'title'])
const UNSUPPORTED = new Set(['textarea', 'xmp', 'iframe', 'noembed', 'noframes', 'plaintext', 'listing', 'svg', 'math'])
/** Attributes whose value decides about the text, or whether it is visible. */
const DECISIVE = new Set(['style', 'start', 'value'])

const ATTRIBUTE = /[\t\n\f\r ]+([^\t\n\f\r "'<>/=]+)(?:[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r "'<>=`]+)))?/y
const TAG_NAME = /<(\/?)([a-z][a-z0-9:-]*)/iy
const TAG_END = /[\t\n\f\r ]*\/?>/y
/** A document type or a conditional of Outlook. */
const DECLARATION = /<!(?!--|\[CDATA\[)[a-z[][^<>]*>/iy
const COMMENT_START = /<!--(?!-?>)/y
const MAX_TAGS = 10_000

/**
 * True when no value can change the structure of the HTML: all parsers then find the same tags and attributes for all values. Accepts only
 * plain markup, and values only in text and in quoted attributes. Escaped values have no quotes and no angle brackets.
 */
export function hasFixedStructure(texts: string[]): boolean {
  if (texts.length > MAX_SLOTS || texts.some(hasMark)) return false
  if (texts.slice(0, -1).some(endsInEntity)) return false
  const html = markSlots(texts)
  for (let at = html.indexOf('<'), tags = 0; at >= 0; at = html.indexOf('<', at)) {
    const end = ++tags > MAX_TAGS ? undefined : endOfMarkup(html, at)
    if (end === undefined) return false
    at = end
  }
  return true
}

/** A value could continue an entity that begins before it. */
const endsInEntity = (text: string) => /^&[#\w]*$/.test(text.slice(Math.max(0, text.lastIndexOf('&'))))

/** Position after the markup that begins here; undefined when it is not plain, or holds a value where it could matter. */
function endOfMarkup(html: string, start: number): number | undefined {
  if (matchAt(COMMENT_START, html, start)) return endOfComment(html, start)
  const declaration = matchAt(DECLARATION, html, start)
  if (declaration) return hasMark(declaration[0]) ? undefined : start + declaration[0].length
  const tag = matchAt(TAG_NAME, html, start)
  if (!tag) return undefined
  const closes = tag[1] === '/'
  const name = tag[2]!.toLowerCase()
  const end = endOfTag(html, start + tag[0].length, closes)
  if (end === undefined || UNSUPPORTED.has(name)) return undefined
  return RAW.has(name) && !closes ? endOfRaw(html, name, end) : end
}

function endOfComment(html: string, start: number) {
  const end = html.indexOf('-->', start + 4)
  if (end < 0) return undefined
  const comment = html.slice(start + 4, end)
  return hasMark(comment) || comment.includes('--!') || comment.includes('<!--') ? undefined : end + 3
}

function endOfTag(html: string, from: number, closes: boolean) {
  let at = from
  for (let attribute = matchAt(ATTRIBUTE, html, at); attribute; attribute = matchAt(ATTRIBUTE, html, at)) {
    const [all, name = '', double, single, bare = ''] = attribute
    const value = double ?? single ?? ''
    if (closes || hasMark(name) || hasMark(bare)) return undefined
    if (hasMark(value) && DECISIVE.has(name.toLowerCase())) return undefined
    at += all.length
  }
  const end = matchAt(TAG_END, html, at)
  return end ? at + end[0].length : undefined
}

/** A title may hold values, because email clients do not show it. */
function endOfRaw(html: string, name: string, from: number) {
  const close = html.indexOf('<', from)
  const [content, end] = name === 'title' ? [html.slice(from, close), close] : contentOfRaw(html, name, from)
  const tag = end < 0 ? null : matchAt(TAG_NAME, html, end)
  if (tag?.[1] !== '/' || tag[2]!.toLowerCase() !== name) return undefined
  return name !== 'title' && hasMark(content) ? undefined : endOfTag(html, end + tag[0].length, true)
}

/** Up to the first closing tag. Parsers disagree about comments in scripts and about other closing tags, so both are refused. */
function contentOfRaw(html: string, name: string, from: number): [string, number] {
  const close = new RegExp(`</${name}[\\t\\n\\f\\r ]*>`, 'ig')
  close.lastIndex = from
  const end = close.exec(html)?.index ?? -1
  const content = html.slice(from, Math.max(from, end))
  return [content, content.includes('</') || (name === 'script' && content.includes('<!--')) ? -1 : end]
}

function matchAt(pattern: RegExp, text: string, at: number) {
  pattern.lastIndex = at
  return pattern.exec(text)
}
