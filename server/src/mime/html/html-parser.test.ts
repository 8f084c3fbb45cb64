import fc from 'fast-check'
import { type Handler, Parser } from 'htmlparser2'
import { afterEach, expect, test, vi } from 'vitest'
import { HtmlParser, MAX_ELEMENT_DEPTH } from './html-parser.ts'

afterEach(() => vi.restoreAllMocks())

/** Everything a handler hears, with the places. */
function eventsOf(kind: typeof Parser | typeof HtmlParser, html: string) {
  const events: unknown[] = []
  const hear =
    (name: string) =>
    (...args: unknown[]) =>
      void events.push([name, ...args, parser.startIndex, parser.endIndex])
  const names = ['onopentagname', 'onopentag', 'onattribute', 'onclosetag', 'ontext', 'onend'] as const
  const parser: Parser = new kind(Object.fromEntries(names.map((name) => [name, hear(name)])) as Partial<Handler>)
  parser.end(html)
  return events
}

const NAMES = ['p', 'div', 'a', 'b', 'br', 'form', 'li', 'svg', 'foreignObject', 'title', 'path', 'tr', 'td', 'img', 'style', 'x']
const tag = fc
  .tuple(fc.constantFrom(...NAMES), fc.constantFrom('<', '</', '<'), fc.constantFrom('>', '/>', ' href="#">', '>word'))
  .map(([name, start, end]) => start + name + end)

test('HTML within the depth limit is parsed to the same events as by the library', () => {
  fc.assert(
    fc.property(fc.array(tag, { maxLength: 60 }), (tags) => {
      expect(eventsOf(HtmlParser, tags.join(''))).toEqual(eventsOf(Parser, tags.join('')))
    }),
    { numRuns: 1_000 },
  )
})

/** How many open elements the parser looks through and moves while it reads this. */
function workFor(html: string) {
  let searched = 0
  let deepest = 0
  const { indexOf, unshift } = Array.prototype
  vi.spyOn(Array.prototype, 'indexOf').mockImplementation(function (this: unknown[], ...args: [unknown]) {
    const found = indexOf.apply(this, args)
    searched += found < 0 ? this.length : found + 1
    return found
  })
  vi.spyOn(Array.prototype, 'unshift').mockImplementation(function (this: unknown[], ...args: unknown[]) {
    deepest = Math.max(deepest, this.length + args.length)
    return unshift.apply(this, args)
  })
  new HtmlParser({ onopentag() {}, onclosetag() {} }).end(html)
  vi.restoreAllMocks()
  return { searched, deepest }
}

test.each<[string, (n: number) => string]>([
  ['stray closing tags in open elements', (n) => '<b>'.repeat(1_990) + '</x>'.repeat(n)],
  ['stray closing tags of names that were open before', (n) => `<b>${'<i>'.repeat(1_000)}</b>${'<i>'.repeat(1_990)}${'</b>'.repeat(n)}`],
  ['open elements', (n) => '<b>'.repeat(n)],
  ['open elements with closing tags in comments', (n) => '<b>'.repeat(n) + '<!--</b>-->'.repeat(n) + '<b>'.repeat(n) + '</x>'.repeat(n)],
  ['elements closed by the one around them', (n) => `<u>${'<b><i><s></b>'.repeat(n)}`],
])('%s cost their number, not their number times the depth', (_, html) => {
  const [once, twice] = [workFor(html(2_000)), workFor(html(4_000))]
  expect(once.deepest).toBeLessThanOrEqual(MAX_ELEMENT_DEPTH + 1)
  expect(once.searched).toBeLessThanOrEqual(3 * 2_000)
  expect(twice.searched).toBeLessThanOrEqual(3 * 4_000)
})

test('a stray closing paragraph, which is an empty paragraph, costs at most the depth limit', () => {
  const { searched, deepest } = workFor('<b>'.repeat(1_990) + '</p>'.repeat(2_000))
  expect(deepest).toBeLessThanOrEqual(MAX_ELEMENT_DEPTH + 1)
  expect(searched).toBeLessThanOrEqual(MAX_ELEMENT_DEPTH * 2_000)
})

test('elements beyond the depth limit are still opened and closed one by one', () => {
  const html = `${'<i>'.repeat(300)}<a href="x">word</a>${'</i>'.repeat(300)}`
  const events = eventsOf(HtmlParser, html) as [string, string][]
  expect(events.filter(([name]) => name === 'onopentag')).toHaveLength(301)
  expect(events.filter(([name]) => name === 'onclosetag')).toHaveLength(301)
  expect(events.some(([name, value]) => name === 'onattribute' && value === 'href')).toBe(true)
})
