/** The part of the HTML standard that decides what a reader can see: comments, raw text, quoted attributes, and elements that are never shown. */

/** Elements whose content is text up to their own end tag. */
const RAW = new Set(['script', 'style', 'title', 'textarea', 'xmp', 'iframe', 'noembed', 'noframes'])
/** Elements whose content is a fallback or never shown. A link inside a `select` cannot be clicked. */
const UNSEEN = new Set(['template', 'noscript', 'svg', 'math', 'object', 'video', 'audio', 'canvas', 'select', 'datalist', 'plaintext'])
/** The only elements that a slash at the end of their start tag closes. */
const FOREIGN = new Set(['svg', 'math'])
const VOID = new Set(['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'source', 'track', 'wbr'])
/** Elements that may come before the body. */
const HEAD_ELEMENTS = new Set(['html', 'head', 'meta', 'link', 'base', 'title', 'style', 'script', 'noscript'])
const ZERO = String.raw`0*(?:\.0*)?(?:[a-z]+|%)?\s*(?:;|!|$)`
const HIDING_STYLE = new RegExp(
  String.raw`(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*(?=[0.])${ZERO})`,
  'i',
)
const NO_HEIGHT = new RegExp(String.raw`(?:^|;)\s*(?:max-)?height\s*:\s*(?=[0.])${ZERO}`, 'i')
const CLIPPED = /(?:^|;)\s*overflow(?:-y)?\s*:\s*hidden/i
const FONT_SIZE = /(?:^|;)\s*font-size\s*:\s*([^;!]*)/gi
const NO_SIZE = new RegExp(`^(?=[0.])${ZERO}`, 'i')
/** Sizes relative to the parent: zero inside of zero. */
const RELATIVE_SIZE = /(?:\dem|%|larger|smaller|inherit|unset)\s*$/i
/** Cheap tests before attributes are parsed. An ampersand may encode any character of these words. */
const MAY_HIDE = /hidden|display|visibility|opacity|&/i
const MAY_SIZE = /font|&/i
const MAY_SIZE_ZERO = /font-size\s*:\s*[0.]|&/i

/** Bounds the time per email, because this runs on the main thread. A newsletter of 100 KB has 3,000 tags. */
const MAX_TAGS = 20_000
const MAX_ATTRIBUTES = 500

type Tag = { name: string; closes: boolean; start: number; source: string }
/** A comment, tag or raw element. `end` is undefined when it is not closed; `tag` is set for tags only. */
type Markup = { start: number; end: number | undefined; tag?: Tag }
type Unseen = { name: string; start: number; depth: number }
/** An element that sets a font size, with the nesting depth of elements of its name. */
type Sized = { name: string; depth: number; isZero: boolean }

/**
 * Finds whether a visible link or text contains one of the tokens, and the position at which added HTML is visible: before the last
 * `</body>`, or at the end, but always before an unclosed comment, tag or unseen element.
 */
export function readVisible(html: string, tokens: string[]): { holdsToken: boolean; end: number } {
  const sought = tokens.filter((token) => html.includes(token))
  const holds = (text: string) => sought.some((token) => text.includes(token))
  const found = { holdsToken: true, end: html.length }
  let bodyEnd: number | undefined
  /** The outermost open unseen element, with the nesting depth of elements of its name. */
  let unseen: Unseen | undefined
  /** Inside a link that contains a token. It counts only with something to click on. */
  let inLink = false
  const sizes = createTextSizes()

  for (let at = 0, count = 0; ; count++) {
    const markup = nextMarkup(html, at)
    if (!unseen && sought.length && !sizes.isZero()) {
      const text = html.slice(at, markup?.start)
      if (inLink ? !isBlank(text) : holds(text)) return found
    }
    if (markup?.end === undefined) return { holdsToken: false, end: bodyEnd ?? unseen?.start ?? markup?.start ?? html.length }
    if (count === MAX_TAGS) {
      if (unseen) return { holdsToken: false, end: bodyEnd ?? unseen.start }
      const rest = skim(html, markup.start, sought.length ? holds : undefined)
      return { ...rest, end: rest.bodyEnd ?? bodyEnd ?? rest.end }
    }
    at = markup.end
    const { tag } = markup
    if (!tag) continue
    if (unseen) {
      unseen = within(unseen, tag)
      continue
    }
    sizes.read(tag)
    if (tag.closes) {
      if (tag.name === 'body') bodyEnd = tag.start
      if (tag.name === 'a') inLink = false
    } else if (isUnseen(tag)) unseen = { name: tag.name, start: tag.start, depth: 1 }
    else if (sought.length && (tag.name === 'a' || tag.name === 'area')) {
      inLink = holds(attributesOf(tag).get('href') ?? '')
      if (inLink && tag.name === 'area') return found
    } else if (inLink && tag.name === 'img') return found
  }
}

/** Position after the start tag of the body, or else after the head. Zero when there is neither: a fragment of HTML. */
export function findBodyStart(html: string): number {
  let headEnd = 0
  for (let at = 0, count = 0; count < MAX_TAGS; count++) {
    const markup = nextMarkup(html, at)
    if (markup?.end === undefined) break
    at = markup.end
    const { tag } = markup
    if (tag?.name === 'body' && !tag.closes) return at
    if (tag?.name === 'head' && tag.closes) headEnd = at
    if (tag && !HEAD_ELEMENTS.has(tag.name)) break
  }
  return headEnd
}

function isUnseen(tag: Tag) {
  const { name, source } = tag
  if (VOID.has(name)) return false
  if (UNSEEN.has(name)) return !(FOREIGN.has(name) && source.endsWith('/>'))
  if (name !== 'dialog' && !MAY_HIDE.test(source)) return false
  const attributes = attributesOf(tag)
  return (name === 'dialog' && !attributes.has('open')) || attributes.has('hidden') || hides(styleOf(attributes))
}

const hides = (style: string) => HIDING_STYLE.test(style) || (NO_HEIGHT.test(style) && CLIPPED.test(style))

/** Tracks whether text has size zero. Layouts set that on cells and give the text inside a size of its own, so it does not hide images. */
function createTextSizes() {
  const open: Sized[] = []
  return {
    isZero: () => open.at(-1)?.isZero ?? false,
    read(tag: Tag) {
      const { name, closes, source } = tag
      const last = open.at(-1)
      const maySize = !closes && !VOID.has(name) && (last ? MAY_SIZE : MAY_SIZE_ZERO).test(source)
      const isZero = maySize ? setsZero(styleOf(attributesOf(tag))) : undefined
      if (isZero !== undefined && (isZero || last)) open.push({ name, depth: 1, isZero })
      else if (last?.name === name) {
        last.depth += closes ? -1 : 1
        if (last.depth === 0) open.pop()
      }
    },
  }
}

/** The last size counts. Undefined when there is none, or when it is relative to the parent. */
function setsZero(style: string) {
  const size = [...style.matchAll(FONT_SIZE)].at(-1)?.[1]?.trim()
  if (!size) return /(?:^|;)\s*font\s*:/i.test(style) ? false : undefined
  if (NO_SIZE.test(size)) return true
  return RELATIVE_SIZE.test(size) ? undefined : false
}

/**
 * Continues without parsing every tag: only links, `</body>`, comments and raw text elements. `end` is before an unclosed comment or
 * element.
 */
function skim(html: string, from: number, holds?: (text: string) => boolean) {
  const skimmed = holds ? SKIMMED_WITH_LINKS : SKIMMED
  let bodyEnd: number | undefined
  skimmed.lastIndex = from
  for (let match = skimmed.exec(html); match; match = skimmed.exec(html)) {
    const { index: start } = match
    const markup = match[0] === '<!--' ? { end: endOfComment(html, start), tag: undefined } : readTag(html, start, html[start + 1] === '/')
    const { end, tag } = markup
    if (end === undefined) return { holdsToken: false, end: start, bodyEnd }
    if (tag?.name === 'body' && tag.closes) bodyEnd = start
    if (tag?.name === 'a' && holds?.(tag.source) && isShownLink(tag, html.slice(end, end + 100), holds))
      return { holdsToken: true, end: html.length, bodyEnd: undefined }
    skimmed.lastIndex = end
  }
  return { holdsToken: false, end: html.length, bodyEnd }
}
const isShownLink = (tag: Tag, content: string, holds: (text: string) => boolean) =>
  !isUnseen(tag) && !/^\s*<\/a/i.test(content) && holds(attributesOf(tag).get('href') ?? '')

const SKIMMED_NAMES = `!--|/body(?=[\\s/>])|(?:${[...RAW].join('|')})(?=[\\s/>])`
const SKIMMED = new RegExp(`<(?:${SKIMMED_NAMES})`, 'gi')
const SKIMMED_WITH_LINKS = new RegExp(`<(?:${SKIMMED_NAMES}|a(?=\\s))`, 'gi')

const styleOf = (attributes: Map<string, string>) => decodeEntities(attributes.get('style') ?? '')

const NAMED = new Map(Object.entries({ colon: ':', semi: ';', amp: '&', Tab: '\t', NewLine: '\n', nbsp: ' ', period: '.', excl: '!' }))

/** Decodes numeric entities and the named ones that occur in styles. */
function decodeEntities(value: string) {
  if (!value.includes('&')) return value
  return value.replace(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|([a-z]{3,7})(?=;));?/gi, (entity, hex, decimal, name) => {
    if (name) return NAMED.get(name) ?? entity
    const code = hex ? Number.parseInt(hex, 16) : Number(decimal)
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : entity
  })
}

function within(unseen: Unseen, { name, closes }: Tag): Unseen | undefined {
  if (name !== unseen.name) return unseen
  const depth = unseen.depth + (closes ? -1 : 1)
  return depth ? { ...unseen, depth } : undefined
}

const isBlank = (text: string) => /^(?:\s|&nbsp;|&#160;|&#xa0;|&zwnj;|&#820[3-5];|[\u200b-\u200d\u2060])*$/i.test(text)

// Tokens ---------------------------------------------------------------------------------------------------------------

const [TAB, LF, FF, CR, SPACE, QUOTE, APOSTROPHE, SLASH, EQUALS, GREATER] = [0x09, 0x0a, 0x0c, 0x0d, 0x20, 0x22, 0x27, 0x2f, 0x3d, 0x3e]
const isSpace = (code: number) => code === SPACE || code === LF || code === TAB || code === CR || code === FF
const isLetter = (code: number) => (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a

/** Undefined when only text is left. */
function nextMarkup(html: string, from: number): Markup | undefined {
  for (let start = html.indexOf('<', from); start >= 0; start = html.indexOf('<', start + 1)) {
    const closes = html[start + 1] === '/'
    if (isLetter(html.charCodeAt(start + (closes ? 2 : 1)))) return readTag(html, start, closes)
    if (html.startsWith('<!--', start)) return { start, end: endOfComment(html, start) }
    if (closes || html[start + 1] === '!' || html[start + 1] === '?') return { start, end: after(html.indexOf('>', start)) }
  }
  return undefined
}

const after = (index: number) => (index < 0 ? undefined : index + 1)

function readTag(html: string, start: number, closes: boolean): Markup {
  const nameAt = start + (closes ? 2 : 1)
  let nameEnd = nameAt
  for (let code = html.charCodeAt(nameEnd); !isSpace(code) && code !== SLASH && code !== GREATER && nameEnd < html.length; )
    code = html.charCodeAt(++nameEnd)
  const name = html.slice(nameAt, nameEnd).toLowerCase()
  const end = readAttributes(html, nameEnd)
  if (end === undefined) return { start, end }
  if (!closes && RAW.has(name)) return { start, end: endOfRaw(html, name, end) }
  return { start, end, tag: { name, closes, start, source: html.slice(nameEnd, end) } }
}

const COMMENT_END = /--!?>/g

/** `<!-->` and `<!--->` are complete comments. */
function endOfComment(html: string, start: number) {
  const short = /^-?>/.exec(html.slice(start + 4, start + 6))
  if (short) return start + 4 + short[0].length
  COMMENT_END.lastIndex = start + 4
  return COMMENT_END.test(html) ? COMMENT_END.lastIndex : undefined
}

function endOfRaw(html: string, name: string, from: number) {
  const close = new RegExp(`</${name}(?=[\\t\\n\\f\\r />])`, 'gi')
  close.lastIndex = from
  return close.test(html) ? readAttributes(html, close.lastIndex) : undefined
}

function attributesOf({ source }: Tag) {
  const attributes = new Map<string, string>()
  readAttributes(source, 0, attributes)
  return attributes
}

/** Returns the position after the `>` that ends the tag, skipping quoted ones. The first of two attributes with one name counts. */
function readAttributes(html: string, from: number, into?: Map<string, string>): number | undefined {
  for (let at = from; at < html.length; ) {
    const code = html.charCodeAt(at)
    if (code === GREATER) return at + 1
    if (isSpace(code) || code === SLASH) {
      at++
      continue
    }
    const nameEnd = endOfName(html, at + 1)
    const value = readValue(html, nameEnd)
    if (!value) return undefined
    if (into && into.size < MAX_ATTRIBUTES) {
      const name = html.slice(at, nameEnd).toLowerCase()
      if (!into.has(name)) into.set(name, html.slice(value.start, value.end))
    }
    at = value.next
  }
  return undefined
}

function endOfName(html: string, from: number) {
  let at = from
  for (; at < html.length; at++) {
    const code = html.charCodeAt(at)
    if (code === EQUALS || code === GREATER || code === SLASH || isSpace(code)) break
  }
  return at
}

/** The value of an attribute, empty when it has none. Undefined when its quotes are not closed. */
function readValue(html: string, nameEnd: number): { start: number; end: number; next: number } | undefined {
  let start = skipSpace(html, nameEnd)
  if (html.charCodeAt(start) !== EQUALS) return { start, end: start, next: start }
  start = skipSpace(html, start + 1)
  const quote = html.charCodeAt(start)
  if (quote === QUOTE || quote === APOSTROPHE) {
    const end = html.indexOf(quote === QUOTE ? '"' : "'", start + 1)
    return end < 0 ? undefined : { start: start + 1, end, next: end + 1 }
  }
  let end = start
  while (end < html.length && html.charCodeAt(end) !== GREATER && !isSpace(html.charCodeAt(end))) end++
  return { start, end, next: end }
}

function skipSpace(html: string, from: number) {
  let at = from
  while (isSpace(html.charCodeAt(at))) at++
  return at
}
