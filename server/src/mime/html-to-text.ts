import type { Handler } from 'htmlparser2'
import { HtmlParser } from './html-parser.ts'

const UNSEEN = new Set(['style', 'script', 'title', 'template', 'noscript'])
const PARAGRAPHS = new Set([
  'p',
  'div',
  'table',
  'ul',
  'ol',
  'blockquote',
  'pre',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'section',
  'article',
  'hr',
])
const LINES = new Set(['tr', 'li'])

type Link = { target: string; words: string }

/** The attribute with the target of a link: from its name to its end, and what it says without entities. */
export type LinkSpan = { start: number; end: number; target: string }
export type ParsedHtml = {
  text: string
  anchors: LinkSpan[]
  /** Where something may be added behind everything else. */
  end: number
}

/** Longer HTML is read up to here, and its links stay as they are. Mail programs show a tenth of that. */
export const MAX_READ = 1024 * 1024

/**
 * The mail for those who read no HTML: its words, with the targets of its links; and where these stand. One pass, linear in its
 * length: what was written is never looked at again, because each look at a string that is being built copies all of it.
 */
export function readHtml(html: string): ParsedHtml {
  if (html.length <= MAX_READ) return readAll(html)
  return { text: readAll(beginningOf(html)).text, anchors: [], end: html.length }
}

/** Without half of a character at its end. */
const beginningOf = (html: string) => html.slice(0, MAX_READ).replace(/[\ud800-\udbff]$/, '')

function readAll(html: string): ParsedHtml {
  let text = ''
  const anchors: LinkSpan[] = []
  let end = html.length
  let awaitsTarget = false
  // What stands between the last words and the next ones, if any come.
  let breaks = 0
  let spaced = false
  let bullet = ''
  // Depth inside what nobody sees.
  let unseen = 0
  let link: Link | undefined
  const lists: { next: number }[] = []

  const breakLines = (count: number) => {
    breaks = Math.max(breaks, count)
  }

  function write(words: string) {
    const one = words.replace(/\s{2,}|[^\S ]/g, ' ')
    if (one.startsWith(' ')) spaced = true
    const clean = one.trim()
    if (!clean) return
    if (text) text += breaks ? '\n'.repeat(breaks) : spaced ? ' ' : ''
    text += bullet + clean
    if (link && link.words.length <= link.target.length) link.words += (spaced ? ' ' : '') + clean
    breaks = 0
    bullet = ''
    spaced = one.endsWith(' ')
  }

  function endLink() {
    const { target, words } = link!
    link = undefined
    if (!target || target.startsWith('#') || words.trim() === target) return
    if (words) text += ` (${target})`
    else write(`(${target})`)
  }

  function open(name: string, { href, alt }: Record<string, string>) {
    if (PARAGRAPHS.has(name)) breakLines(2)
    else if (LINES.has(name)) breakLines(1)
    if (name === 'br') breaks = Math.min(2, breaks + 1)
    if (name === 'ul') lists.push({ next: Number.NaN })
    if (name === 'ol') lists.push({ next: 1 })
    if (name === 'li') bullet = bulletOf(lists.at(-1))
    if (name === 'img' && alt) write(alt)
    if (name === 'a') {
      if (link) endLink()
      link = { target: (href ?? '').trim().replace(/\s+/g, ' '), words: '' }
    }
  }

  function close(name: string) {
    if (PARAGRAPHS.has(name)) breakLines(2)
    if (name === 'td' || name === 'th') spaced = true
    if (name === 'ul' || name === 'ol') lists.pop()
    if (name === 'li') bullet = ''
    if (name === 'a' && link) endLink()
  }

  const handler: Partial<Handler> = {
    onopentagname(name) {
      awaitsTarget = name === 'a' || name === 'area'
    },
    onattribute(name, target, quote) {
      if (!awaitsTarget || name !== 'href' || quote === undefined) return
      anchors.push({ start: parser.startIndex, end: parser.endIndex, target })
      // Of two, the first counts.
      awaitsTarget = false
    },
    onopentag(name, attributes) {
      if (unseen || isUnseen(name, attributes)) unseen++
      else open(name, attributes)
    },
    ontext(words) {
      if (!unseen) write(words)
    },
    onclosetag(name, isImplied) {
      if (name === 'body' && !isImplied) end = parser.startIndex
      if (unseen) unseen--
      else close(name)
    },
  }
  // With no entities to decode it goes from tag to tag instead of looking at each character.
  const parser = new HtmlParser(handler, { decodeEntities: html.includes('&') })
  parser.end(html)
  return { text: `${text}\n`, anchors, end }
}

const isUnseen = (name: string, { hidden, style }: Record<string, string>) =>
  UNSEEN.has(name) || hidden !== undefined || (style !== undefined && /display\s*:\s*none/i.test(style))

const bulletOf = (list: { next: number } | undefined) => (list && list.next > 0 ? `${list.next++}. ` : '- ')
