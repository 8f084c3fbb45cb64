import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readParts } from './compiled/compiled-html.ts'
import { labelLinks, trackedTargets } from './html/label-links.ts'

const UNTRACKED = ['https://mail.example/unsubscribe/']
const label = (html: string) =>
  labelLinks(html, { untracked: UNTRACKED, labelFor: (target) => ({ html: '<i>1</i>', attributes: { href: '/people', title: target } }) })

test.each([
  ['a link', '<a href="https://a.example">a</a>', '<a href="/people" title="https://a.example"><i>1</i>a</a>'],
  [
    'a link around an image',
    "<a class=b href='https://a.example'><img src=x></a>",
    '<a href="/people" title="https://a.example" class="b"><i>1</i><img src=x></a>',
  ],
  [
    'a link in capitals, with entities and spaces',
    '<A HREF=" https://a.example?x=1&amp;y=2 ">a</A>',
    '<a href="/people" title="https://a.example?x=1&amp;y=2"><i>1</i>a</A>',
  ],
  [
    'a link that would open elsewhere, download, or report the click',
    '<a target="_top" download ping="https://p.example" onclick="x()" href="https://a.example" rel="opener">a</a>',
    '<a href="/people" title="https://a.example"><i>1</i>a</a>',
  ],
  [
    'an area of an image, which has no content',
    '<area shape="rect" coords="0,0,1,1" href="https://a.example">',
    '<area href="/people" title="https://a.example" shape="rect" coords="0,0,1,1">',
  ],
])('%s leads to its people and has a label', (_, html, expected) => {
  expect(label(`<p>${html}</p>`)).toBe(`<p>${expected}</p>`)
})

test.each([
  '<a href="mailto:a@b.example">x</a>',
  '<a href="#top">x</a>',
  '<a href="javascript:alert(1)">x</a>',
  '<a href="https://mail.example/unsubscribe/x">x</a>',
  '<a name="x" href>x</a>',
  '<!-- <a href="https://a.example">x</a> -->',
  '<style>a::before { content: "<a href=https://a.example>" }</style>',
  '<a href="https://a.example"',
])('%s is left as it is', (html) => {
  expect(label(html)).toBe(html)
})

test('a target or a style of the email cannot end the tag or the attribute', () => {
  const target = 'https://a.example/"><script>alert(1)</script>'
  const html = `<a href='${target}' style='x:"><script>alert(2)</script>'>a</a>`
  expect(label(html)).toBe(
    '<a href="/people" title="https://a.example/&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"' +
      ' style="x:&quot;&gt;&lt;script&gt;alert(2)&lt;/script&gt;"><i>1</i>a</a>',
  )
})

/** Pieces at which parsers are at odds. */
const piece = fc.constantFrom(
  ...[
    '<a href="https://a.example">',
    "<a href='https://b.example/&amp;'>",
    '<a href=https://c.example>',
    '<a href>',
    '<area href="https://d.example">',
  ],
  ...[
    '</a>',
    '<A HREF="HTTPS://E.EXAMPLE" href="https://f.example">',
    '<a x="',
    '<a ',
    '>',
    '"',
    "'",
    '<!--',
    '-->',
    '<style>',
    '</style>',
  ],
  ...[
    '<svg><a href="https://g.example"/>',
    '</svg>',
    '<textarea>',
    '</textarea>',
    '<title>',
    '</title>',
    'text',
    '&lt;',
    '<form>',
    '<p>',
    '</p>',
  ],
  ...[
    '<a href="https://mail.example/unsubscribe/x">',
    '<a href="mailto:x">',
    '<![CDATA[',
    ']]>',
    '<?x',
    '<script>',
    '</script>',
    '<template>',
  ],
)

test('exactly the tracked links are labelled, whatever the HTML', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      // A tag that never ends is no link for anyone.
      const html = `${pieces.join('')}'>">`
      const tracked: string[] = []
      readParts(html).withTracking({
        untracked: UNTRACKED,
        click: (_, target) => String(tracked.push(target)),
        trap: () => '',
        pixel: () => '',
      })
      expect(trackedTargets(html, UNTRACKED)).toEqual(tracked)
      expect(label(html).match(/href="\/people"/g)?.length ?? 0).toBe(tracked.length)
    }),
    { numRuns: Number(process.env.FC_RUNS ?? 1_000) },
  )
})

test('links after the first thousand, and those of longer HTML than is read, have none', () => {
  expect(label('<a href="https://a.example">a</a>'.repeat(1_001)).match(/<i>/g)).toHaveLength(1_000)
  const long = `<a href="https://a.example">a</a>${'x'.repeat(1024 * 1024)}`
  expect(label(long)).toBe(long)
})
