import type { Handler } from 'htmlparser2'
import { HtmlParser } from './html-parser.ts'
import { TextLayout } from './text-layout.ts'

const HIDDEN_ELEMENTS = new Set(['style', 'script', 'title', 'template', 'noscript'])

const PARAGRAPHS = [
  ...['p', 'div', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'pre', 'table', 'dl', 'ul', 'ol', 'address', 'article', 'aside'],
  ...['center', 'details', 'fieldset', 'figure', 'figcaption', 'footer', 'form', 'header', 'main', 'nav', 'section', 'summary'],
]
const LINES = ['tr', 'li', 'dt', 'dd', 'caption']
/** Line breaks around block elements: 2 leave a blank line. */
const BREAKS = new Map([...PARAGRAPHS.map((name) => [name, 2] as const), ...LINES.map((name) => [name, 1] as const)])

/** An `href` attribute in the source, from its name to its end; `target` has its entities decoded. */
export type LinkSpan = { start: number; end: number; target: string }
export type ParsedHtml = {
  text: string
  links: LinkSpan[]
  /** Position at which content can be added after all other content. */
  end: number
  /** The pixel must not be its only image, see `isShort`. */
  isShort: boolean
}

/** Longer HTML is converted up to this length, and its links are left as they are. Email clients show a tenth of it. */
export const MAX_READ = 1024 * 1024

/**
 * Converts HTML to the plain text alternative of a message, and finds its links in the same pass. Linear in the length of the HTML.
 */
export function readHtml(html: string): ParsedHtml {
  if (html.length <= MAX_READ) return readAll(html)
  return { text: readAll(startOf(html)).text, links: [], end: html.length, isShort: false }
}

/** Never ends with half of a surrogate pair. */
const startOf = (html: string) => html.slice(0, MAX_READ).replace(/[\ud800-\udbff]$/, '')

function readAll(html: string): ParsedHtml {
  const layout = new TextLayout()
  const walked = walkHtml(html, layout)
  return { ...walked, text: layout.toString(), isShort: isShort(walked, layout) }
}

/** Characters of text below which SpamAssassin distrusts an image (`HTML_IMAGE_ONLY_04` to `_32`). */
const SHORT = 3_200

/** An email with little text and no image. Spaces count for the filter and not here, so that it never finds less text than we do. */
export const isShort = ({ hasImage }: { hasImage: boolean }, { wordLength }: Pick<TextLayout, 'wordLength'>) =>
  !hasImage && wordLength <= SHORT

/** The methods of a layout that a walk over HTML calls. */
export type LayoutCalls = Omit<TextLayout, 'toString' | 'writeWords' | 'wordLength'>

/** Calls the layout for all visible content. Finds the links, and the position after all other content. */
export function walkHtml(html: string, layout: LayoutCalls): Pick<ParsedHtml, 'links' | 'end'> & { hasImage: boolean } {
  const { open, close } = createElements(layout)
  const links: LinkSpan[] = []
  let end = html.length
  let awaitsTarget = false
  let hiddenDepth = 0
  let hasImage = false

  const handler: Partial<Handler> = {
    onopentagname(name) {
      awaitsTarget = name === 'a' || name === 'area'
      if (name === 'img') hasImage = true
    },
    onattribute(name, target, quote) {
      if (!awaitsTarget || name !== 'href' || quote === undefined) return
      links.push({ start: parser.startIndex, end: parser.endIndex, target })
      // The first of several attributes of one name counts.
      awaitsTarget = false
    },
    onopentag(name, attributes) {
      if (hiddenDepth || isHidden(name, attributes)) hiddenDepth++
      else open(name, attributes)
    },
    ontext(words) {
      if (!hiddenDepth) layout.write(words)
    },
    onclosetag(name, isImplied) {
      if (name === 'body' && !isImplied) end = parser.startIndex
      if (hiddenDepth) hiddenDepth--
      else close(name)
    },
  }
  // Without entities to decode the parser jumps from tag to tag instead of reading each character.
  const parser = new HtmlParser(handler, { decodeEntities: html.includes('&') })
  parser.end(html)
  return { links, end, hasImage }
}

const isHidden = (name: string, { hidden, style }: Record<string, string>) =>
  HIDDEN_ELEMENTS.has(name) || hidden !== undefined || (style !== undefined && /display\s*:\s*none/i.test(style))

type List = { isOrdered: boolean; next: number }

/** Handlers of visible elements, which lay out the text. */
function createElements(layout: LayoutCalls) {
  const lists: List[] = []

  /** A list in a list follows without a blank line. */
  const breaksAround = (name: string) => (lists.length && (name === 'ul' || name === 'ol') ? 1 : BREAKS.get(name))

  function open(name: string, { href = '', alt, start, value }: Record<string, string>) {
    const breaks = breaksAround(name)
    if (breaks) layout.breakLines(breaks)
    if (name === 'a') layout.openLink(href)
    else if (name === 'br') layout.breakLine()
    else if (name === 'hr') layout.writeRule()
    else if (name === 'img' && alt) layout.write(alt)
    else if (name === 'ul') lists.push({ isOrdered: false, next: 1 })
    else if (name === 'ol') lists.push({ isOrdered: true, next: numberIn(start) ?? 1 })
    else if (name === 'li') openItem(numberIn(value))
    else if (name === 'blockquote') layout.openContainer('> ', '> ')
    else if (name === 'pre') layout.openPreformatted()
  }

  function openItem(value: number | undefined) {
    const list = lists.at(-1)
    if (!list?.isOrdered) return layout.openContainer('- ', '  ')
    const number = value ?? list.next
    list.next = number + 1
    const marker = `${number}. `
    layout.openContainer(marker, ' '.repeat(marker.length))
  }

  function close(name: string) {
    if (name === 'a') layout.closeLink()
    else if (name === 'td' || name === 'th') layout.space()
    else if (name === 'ul' || name === 'ol') lists.pop()
    else if (name === 'li' || name === 'blockquote') layout.closeContainer()
    else if (name === 'pre') layout.closePreformatted()
    const breaks = breaksAround(name)
    if (breaks) layout.breakLines(breaks)
  }

  return { open, close }
}

/** Short numbers only: what they print must not be longer than their source. */
const numberIn = (attribute = '') => (/^\d{1,6}$/.test(attribute) ? Number(attribute) : undefined)
