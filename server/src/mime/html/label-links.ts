import type { Handler } from 'htmlparser2'
import { escapeHtml } from '../../lib/text/html.ts'
import { HtmlParser } from './html-parser.ts'
import { MAX_READ } from './html-to-text.ts'
import { createLinkTracker, trackableTarget } from './rewrite-links.ts'

/** The label of a link. `html` stands at its start; `attributes` replace those that decide where it leads. */
export type LinkLabel = { html: string; attributes: Record<string, string> }

type Options = {
  /** Links with one of these prefixes are not tracked. */
  untracked: string[]
  labelFor: (target: string) => LinkLabel
}

/** Attributes of a link that decide how it looks, or that styles refer to. All others are dropped: the link does what its label says. */
const KEPT_ATTRIBUTES = new Set(['class', 'id', 'style', 'align', 'dir', 'lang', 'alt', 'shape', 'coords'])

/** Puts a label on each link that would be tracked. An area of an image has no content, and so no label. */
export function labelLinks(html: string, { untracked, labelFor }: Options): string {
  let labelled = ''
  let at = 0
  walkTracked(html, untracked, ({ name, target, attributes, start, end }) => {
    labelled += html.slice(at, start) + openTag(name, attributes, labelFor(target))
    at = end
  })
  return labelled + html.slice(at)
}

/** The targets of the links that would be tracked, in their order. */
export function trackedTargets(html: string, untracked: string[]): string[] {
  const targets: string[] = []
  walkTracked(html, untracked, ({ target }) => targets.push(target))
  return targets
}

/** An opening tag with a target, from its `<` to behind its `>`. */
type LinkTag = { name: string; target: string; attributes: Record<string, string>; start: number; end: number }

/** The links that `rewriteLinks` would replace. */
function walkTracked(html: string, untracked: string[], visit: (tag: LinkTag) => void) {
  const nothing = () => ''
  const tracker = createLinkTracker({ untracked, click: nothing, trap: nothing, pixel: nothing })
  walkLinks(html, (tag) => {
    const target = trackableTarget(tag.target)
    if (target !== undefined && tracker.attributeFor(target) !== undefined) visit({ ...tag, target })
  })
}

/** The same links as `walkHtml` finds. */
function walkLinks(html: string, visit: (tag: LinkTag) => void) {
  if (html.length > MAX_READ) return
  let target: string | undefined
  let awaitsTarget = false
  const handler: Partial<Handler> = {
    onopentagname(name) {
      awaitsTarget = name === 'a' || name === 'area'
      target = undefined
    },
    onattribute(name, value, quote) {
      if (!awaitsTarget || name !== 'href' || quote === undefined) return
      target = value
      awaitsTarget = false
    },
    onopentag(name, attributes) {
      if (target !== undefined) visit({ name, target, attributes, start: parser.startIndex, end: parser.endIndex + 1 })
      target = undefined
    },
  }
  const parser = new HtmlParser(handler, { decodeEntities: html.includes('&') })
  parser.end(html)
}

function openTag(name: string, given: Record<string, string>, label: LinkLabel) {
  const kept = Object.entries(given).filter(([attribute]) => KEPT_ATTRIBUTES.has(attribute))
  const attributes = [...Object.entries(label.attributes), ...kept].map(([attribute, value]) => ` ${attribute}="${escapeHtml(value)}"`)
  return `<${name}${attributes.join('')}>${name === 'a' ? label.html : ''}`
}
