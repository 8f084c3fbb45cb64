import { isShort, type LayoutCalls, type LinkSpan, MAX_READ, readHtml, walkHtml } from '../html/html-to-text.ts'
import { createLinkTracker, rewriteLinks, type TrackingUrls, trackableTarget } from '../html/rewrite-links.ts'
import { collapseSpaces, TextLayout } from '../html/text-layout.ts'
import { type Filling, fill, fillingOf, hasFixedStructure, hasMark, joinSlots, markOf, markSlots } from './slotted-html.ts'

/** A link, with its attribute as it is in the source. A target without values is checked once; undefined when it is never tracked. */
type Link = { attribute: Filling; target: string | Filling | undefined }
export type HtmlPiece = Filling | Link
/** Values as in HTML, and as shown. */
type Values = { escaped: string[]; plain: string[] }
type Step = (layout: TextLayout, plain: string[]) => void

/** The HTML of a message, its text part, and the HTML with tracked links. */
export type HtmlParts = { html: string; text: string; withTracking(urls: TrackingUrls): string }

/** HTML whose structure is the same for all values, parsed once. */
export type CompiledHtml = {
  /** Equal to `readParts` of the same HTML. The values are escaped for HTML. */
  partsFor(values: string[]): HtmlParts
  /** The HTML before and after the position of the pixel, cut at its links, and its text part: what `compileBody` encodes in advance. */
  pieces: { before: HtmlPiece[]; after: HtmlPiece[] }
  text: Filling
  /** Targets with values, in their order. */
  linksWithValues: Filling[]
  /** For values as shown, all of them simple: whether `text` is right for them, and whether the email has little text. */
  mayFill(plain: string[]): boolean
  isShort(plain: string[]): boolean
  /** Size in memory, roughly. */
  bytes: number
}

const BYTES_PER_STEP = 200

/** Parses HTML for one email. */
export function readParts(html: string): HtmlParts {
  const read = readHtml(html)
  return { html, text: read.text, withTracking: (urls) => rewriteLinks(html, read, urls) }
}

/**
 * Parses HTML with values once, for many emails. Undefined when values may change its structure, or when a value is in preformatted text,
 * where line breaks within a value matter.
 */
export function compileHtml(texts: string[]): CompiledHtml | undefined {
  if (!hasFixedStructure(texts)) return undefined
  const html = markSlots(texts)
  const recorded = recordSteps(html)
  if (!recorded) return undefined
  const { steps, links, end, hasImage, wordSlots, linkWords } = recorded
  const pieces = cutPieces(html, links, end)
  const marked = new TextLayout()
  const marks = texts.slice(1).map((_, slot) => markOf(slot))
  for (const step of steps) step(marked, marks)
  return {
    pieces,
    text: fillingOf(marked.toString()),
    linksWithValues: [...pieces.before, ...pieces.after].flatMap((piece) =>
      'target' in piece && typeof piece.target === 'object' ? [piece.target] : [],
    ),
    mayFill: (plain) => linkWords.every((link) => isShownAlike(link, plain)),
    isShort: (plain) => {
      const wordLength = wordSlots.reduce((sum, slot) => sum + plain[slot]!.length - 1, marked.wordLength)
      return isShort({ hasImage }, { wordLength })
    },
    partsFor: (values) => {
      const joined = joinSlots({ texts, values })
      return joined.length > MAX_READ ? readParts(joined) : partsFor({ steps, pieces, hasImage }, joined, values)
    },
    bytes: 4 * html.length + BYTES_PER_STEP * (steps.length + links.length + texts.length),
  }
}

type Compiled = { steps: Step[]; pieces: ReturnType<typeof cutPieces>; hasImage: boolean }

function partsFor({ steps, pieces, hasImage }: Compiled, html: string, escaped: string[]): HtmlParts {
  const values = { escaped, plain: escaped.map(unescapeHtml) }
  const layout = new TextLayout()
  for (const step of steps) step(layout, values.plain)
  return {
    html,
    text: layout.toString(),
    withTracking(urls) {
      const tracker = createLinkTracker(urls)
      const before = joinPieces(pieces.before, values, tracker)
      const after = joinPieces(pieces.after, values, tracker)
      return before + tracker.ending({ isShort: isShort({ hasImage }, layout) }) + after
    },
  }
}

// Text part ------------------------------------------------------------------------------------------------------------

/** The words and the target of a link with values in either. The text shows the target unless the words do. */
type LinkWords = { words: string; target: string }

const withoutSpaces = (text: string) => text.replace(/\s+/g, '')

/** Whether the text shows the target of a link for these values if it does for marks. In doubt it says no. */
function isShownAlike({ words, target }: LinkWords, plain: string[]) {
  const [filledWords, filledTarget] = [words, target].map((text) => withoutSpaces(fill(fillingOf(text), plain))) as [string, string]
  if (hasMark(target) && filledTarget.startsWith('#')) return false
  return (filledWords === filledTarget) === (withoutSpaces(words) === withoutSpaces(target))
}

/** Records the calls of the layout. Undefined when a value is in preformatted text. */
function recordSteps(html: string) {
  const steps: Step[] = []
  const add = (step: Step) => steps.push(step)
  let preformattedDepth = 0
  let isSupported = true
  /** Slots in words, once for each time they are shown. */
  const wordSlots: number[] = []
  const linkWords: LinkWords[] = []
  let link: LinkWords | undefined
  const closeLink = () => {
    if (link && hasMark(link.words + link.target)) linkWords.push(link)
    link = undefined
  }
  const recorder: LayoutCalls = {
    write(words) {
      if (link) link.words += words
      if (hasMark(words)) {
        if (preformattedDepth) isSupported = false
        const filling = fillingOf(words)
        wordSlots.push(...filling.slots)
        add((layout, values) => layout.write(fill(filling, values)))
      } else add(preformattedDepth ? (layout) => layout.write(words) : writeStatic(words))
    },
    openLink(target) {
      const filling = fillingOf(target)
      closeLink()
      link = { words: '', target }
      add(hasMark(target) ? (layout, values) => layout.openLink(fill(filling, values)) : (layout) => layout.openLink(target))
    },
    openPreformatted() {
      preformattedDepth++
      add((layout) => layout.openPreformatted())
    },
    closePreformatted() {
      preformattedDepth--
      add((layout) => layout.closePreformatted())
    },
    space: () => add((layout) => layout.space()),
    breakLines: (count) => add((layout) => layout.breakLines(count)),
    breakLine: () => add((layout) => layout.breakLine()),
    writeRule: () => add((layout) => layout.writeRule()),
    openContainer: (marker, indent) => add((layout) => layout.openContainer(marker, indent)),
    closeContainer: () => add((layout) => layout.closeContainer()),
    closeLink() {
      closeLink()
      add((layout) => layout.closeLink())
    },
  }
  const walked = walkHtml(html, recorder)
  return isSupported ? { steps, wordSlots, linkWords, ...walked } : undefined
}

function writeStatic(words: string): Step {
  const collapsed = collapseSpaces(words)
  return (layout) => layout.writeWords(collapsed)
}

const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" }

/** The inverse of `escapeHtml`. */
export const unescapeHtml = (value: string) =>
  value.includes('&') ? value.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity]!) : value

// Links ----------------------------------------------------------------------------------------------------------------

/** The HTML before and after the position of the pixel, cut at its links. */
function cutPieces(html: string, links: LinkSpan[], end: number) {
  const cut = (from: number, to: number) => {
    const pieces: HtmlPiece[] = []
    let at = from
    for (const { start, end: after, target } of links) {
      if (start < from || start >= to) continue
      pieces.push(fillingOf(html.slice(at, start)), { attribute: fillingOf(html.slice(start, after)), target: targetOf(target) })
      at = after
    }
    return [...pieces, fillingOf(html.slice(at, to))]
  }
  return { before: cut(0, end), after: cut(end, html.length) }
}

const targetOf = (target: string) => (hasMark(target) ? fillingOf(target) : trackableTarget(target))

function joinPieces(pieces: HtmlPiece[], { escaped, plain }: Values, tracker: ReturnType<typeof createLinkTracker>) {
  let html = ''
  for (const piece of pieces) {
    if ('texts' in piece) html += fill(piece, escaped)
    else {
      const { target, attribute } = piece
      const address = typeof target === 'object' ? trackableTarget(fill(target, plain)) : target
      html += tracker.attributeFor(address) ?? fill(attribute, escaped)
    }
  }
  return html
}
