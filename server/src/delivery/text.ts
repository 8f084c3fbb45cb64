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

/** The mail for those who read no HTML: its words, with the targets of its links. One pass, linear in its length. */
export function toText(html: string) {
  let text = ''
  let unseen = 0
  const links: { target: string; from: number }[] = []
  const breakLines = (count: number) => {
    const had = /\n*$/.exec(text.slice(-2))![0].length
    if (text) text += '\n'.repeat(Math.max(0, count - had))
  }
  const parser = new Parser({
    onopentag(name, { href, alt }) {
      if (UNSEEN.has(name)) unseen++
      if (PARAGRAPHS.has(name)) breakLines(2)
      if (LINES.has(name)) breakLines(1)
      if (name === 'li') text += '- '
      if (name === 'img' && alt && !unseen) text += alt
      if (name === 'a') links.push({ target: href ?? '', from: text.length })
    },
    ontext(words) {
      if (!unseen) text += spaced(text, words)
    },
    onclosetag(name) {
      if (UNSEEN.has(name)) unseen--
      if (PARAGRAPHS.has(name)) breakLines(2)
      if (name === 'td' || name === 'th') text += spaced(text, ' ')
      const link = name === 'a' ? links.pop() : undefined
      if (link?.target && !link.target.startsWith('#') && text.slice(link.from).trim() !== link.target) text += ` (${link.target})`
    },
  })
  parser.end(html)
  return `${text
    .replace(/[ \t]+\n/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()}\n`
}

/** White space of any kind is one space, and none at the beginning of a line. */
function spaced(before: string, words: string) {
  const one = words.replace(/[\s\u00a0]+/g, ' ')
  return before === '' || /\s$/.test(before.slice(-1)) ? one.replace(/^ /, '') : one
}
