import { Parser } from 'htmlparser2'

const UNSEEN = new Set(['head', 'style', 'script', 'title', 'template', 'noscript'])
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
const LINES = new Set(['br', 'tr', 'li'])

type Link = { target: string; piece: number; length: number }

/** The mail for those who read no HTML: its words, with the targets of its links. One pass, linear in its length. */
export function toText(html: string) {
  // In pieces: to look at the end of a text that grows, it would be copied every time.
  const pieces: string[] = []
  let length = 0
  let end = ''
  let unseen = 0
  const links: Link[] = []
  const add = (words: string) => {
    pieces.push(words)
    length += words.length
    end = (end + words).slice(-2)
  }
  const breakLines = (count: number) => {
    const had = /\n*$/.exec(end)![0].length
    if (length) add('\n'.repeat(Math.max(0, count - had)))
  }
  /** A link that shows its target need not say it again; there may be line breaks around it. */
  const shows = ({ target, piece, length: before }: Link) =>
    length - before <= target.length + 10 && pieces.slice(piece).join('').trim() === target
  const parser = new Parser({
    onopentag(name, { href, alt }) {
      if (UNSEEN.has(name)) unseen++
      if (PARAGRAPHS.has(name)) breakLines(2)
      if (LINES.has(name)) breakLines(1)
      if (name === 'li') add('- ')
      if (name === 'img' && alt && !unseen) add(alt)
      if (name === 'a') links.push({ target: href ?? '', piece: pieces.length, length })
    },
    ontext(words) {
      if (!unseen) add(spaced(end, words))
    },
    onclosetag(name) {
      if (UNSEEN.has(name)) unseen--
      if (PARAGRAPHS.has(name)) breakLines(2)
      if (name === 'td' || name === 'th') add(spaced(end, ' '))
      const link = name === 'a' ? links.pop() : undefined
      if (link?.target && !link.target.startsWith('#') && !shows(link)) add(` (${link.target})`)
    },
  })
  parser.end(html)
  return `${pieces
    .join('')
    .replace(/[ \t]+\n/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()}\n`
}

/** White space of any kind is one space, and none at the beginning of a line. */
function spaced(before: string, words: string) {
  const one = words.replace(/[\s\u00a0]+/g, ' ')
  return before === '' || /\s$/.test(before.slice(-1)) ? one.replace(/^ /, '') : one
}
