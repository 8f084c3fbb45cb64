import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyCharacter } from '../../../test/support/any-character.ts'
import { MAX_READ, readHtml } from './html-to-text.ts'

/** Processor time, because elapsed time depends on what else the machine does. */
function millisecondsSince(began: NodeJS.CpuUsage) {
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1_000
}

const RULE = '-'.repeat(32)
const toText = (html: string) => readHtml(html).text

test.each<[string, string]>([
  ['', ''],
  ['Hello', 'Hello'],
  ['<p>One</p><p>Two</p>', 'One\n\nTwo'],
  ['<div><div><p>One</p></div></div>\n\n\n<div>Two</div>', 'One\n\nTwo'],
  ['One<br>Two<br/>Three', 'One\nTwo\nThree'],
  ['One<br><br>Two<br><br><br><br>Three', 'One\n\nTwo\n\nThree'],
  ['  a \n\t b&nbsp;&nbsp;c <b> d</b>e ', 'a b c de'],
  ['a<b>b</b>c <i> d </i> e', 'abc d e'],
  ['&lt;b&gt; &amp; &quot;&#128058;&quot; &euro; &unknown;', '<b> & "🐺" € &unknown;'],
  ['<a href="https://example.com/a?b=1&amp;c=2">Shop</a> now', 'Shop (https://example.com/a?b=1&c=2) now'],
  ['<a href="https://example.com">https://example.com</a>', 'https://example.com'],
  ['<a href="https://example.com"> <b>https://</b>example.com </a>.', 'https://example.com .'],
  ['<a href="#top">Top</a> <a>nowhere</a>', 'Top nowhere'],
  ['<a href="mailto:a@example.com">Write</a>', 'Write (mailto:a@example.com)'],
  ['<a href=" https://example.com/\n x ">Shop </a>now', 'Shop (https://example.com/ x) now'],
  ['<a href="https://example.com"><div>Shop</div></a><p>Next</p>', 'Shop (https://example.com)\n\nNext'],
  ['<a href="https://example.com"><img src="x"></a>', '(https://example.com)'],
  ['<a href="https://example.com"><img alt="The  shop"></a>', 'The shop (https://example.com)'],
  ['<a href="https://a.example">One <a href="https://b.example">Two</a></a>', 'One (https://a.example) Two (https://b.example)'],
  ['<img alt="  A \n\n b  "><img>', 'A b'],
  ['<p>See:</p><ul><li>One</li><li>Two <b>x</b></li><li></li></ul>End', 'See:\n\n- One\n- Two x\n\nEnd'],
  ['<ol><li>One<li>Two<ul><li>Deep</ul><li>Three</ol>', '1. One\n2. Two\n   - Deep\n3. Three'],
  [
    '<ol start="9"><li>Nine<br>more<li>Ten<br>more<li value="20">Twenty<li>Next</ol>',
    '9. Nine\n   more\n10. Ten\n    more\n20. Twenty\n21. Next',
  ],
  ['<ol start="-1"><li value="1234567">One</ol>', '1. One'],
  ['<ul><li>One<ol><li>Deep<ul><li>Deeper</ul></ol></li><li>Two</li></ul>End', '- One\n  1. Deep\n     - Deeper\n- Two\n\nEnd'],
  ['<ul><li><ul><li>Deep</ul><li><ul><li></ul><li>Two</ul>', '- - Deep\n- Two'],
  ['<ul><li>One<p>Second paragraph</p></li><li>Two</li></ul>', '- One\n\n  Second paragraph\n\n- Two'],
  ['<dl><dt>Tea</dt><dd>A drink</dd><dt>Cup</dt><dd>Holds it</dd></dl>', 'Tea\nA drink\nCup\nHolds it'],
  ['<li>Alone', '- Alone'],
  ['<ul><li><p>One</p></li><li><p>Two</p></li></ul>', '- One\n\n- Two'],
  ['<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>', 'A B\n1 2'],
  ['<table><caption>Sum</caption><thead><tr><th>A<th>B</thead><tr><td>1<br>x<td>2</table>End', 'Sum\nA B\n1\nx 2\n\nEnd'],
  ['<h1>Title</h1><h2>Subtitle</h2>Text<h3>Next</h3>', 'Title\n\nSubtitle\n\nText\n\nNext'],
  ['Before<hr>After<hr/><hr>', `Before\n\n${RULE}\n\nAfter\n\n${RULE}\n\n${RULE}`],
  ['Before<pre>\n\n  a   b\n\n\n\tc  \n\n</pre>After', 'Before\n\n  a   b\n\n\n\tc\n\nAfter'],
  ['<pre>if (x) {\r\n  <b>go</b> <i>on</i>   \r\n}<br><br><br>&nbsp;&lt;b&gt;</pre>', 'if (x) {\n  go on\n}\n\n\n <b>'],
  ['<pre>a\u00a0\u2028b <a href="https://example.com">x </a> y</pre> z', 'a  b x (https://example.com)  y\n\nz'],
  ['<pre>   </pre>a<pre></pre>b', 'a\n\nb'],
  ['<blockquote>One<br>two<p>Three</p></blockquote>Reply', '> One\n> two\n>\n> Three\n\nReply'],
  ['<blockquote>One<blockquote>Deep</blockquote>two</blockquote><blockquote>Other</blockquote>', '> One\n>\n> > Deep\n>\n> two\n\n> Other'],
  ['<blockquote><pre>a\n\n  b</pre><ul><li>x<li>y<br>z</ul><hr></blockquote>', `> a\n>\n>   b\n>\n> - x\n> - y\n>   z\n>\n> ${RULE}`],
  ['<ul><li><blockquote>One<br>two</blockquote></li><li>Three</li></ul>', '- > One\n  > two\n\n- Three'],
  [`${'<blockquote>'.repeat(50)}deep<br>er${'</blockquote>'.repeat(50)}End`, `${'> '.repeat(50)}deep\n${'> '.repeat(8)}er\n\nEnd`],
  ['<table><tbody><tr><td><table><tr><td>Deep</td></tr></table></td></tr></tbody></table>', 'Deep'],
  ['<head><title>T</title><style>p{}</style></head><script>x</script><template><li>y<a href="z">z</a></template>Seen', 'Seen'],
  ['<style>p{content:"</p>"}</style><p>Seen</p>', 'Seen'],
  ['<div style="color:red; DISPLAY : none">Preview<p>more</p><br></div><p>Seen</p>', 'Seen'],
  ['<div hidden>a<div>b</div>c<img alt="d"><a href="e">f</a></div>Seen', 'Seen'],
  ['<p style="display:block">Seen</p>', 'Seen'],
  ['<!-- a --><!--[if mso]><p>Outlook</p><![endif]-->Seen', 'Seen'],
  ['<p>open<div>never <b>closed', 'open\n\nnever closed'],
  ['</p></div></a></ul>x', 'x'],
  ['<head><meta charset="utf-8"><title>T</title><p>Seen', 'Seen'],
])('%j reads %j', (html, text) => {
  expect(toText(html)).toBe(`${text}\n`)
})

const piece = fc.constantFrom(
  ...[
    '<p>',
    '</p>',
    '<div hidden>',
    '</div>',
    '<br>',
    '<ul>',
    '<ol>',
    '<li>',
    '</li>',
    '</ul>',
    '</ol>',
    '<blockquote>',
    '</blockquote>',
    '<hr>',
    '<a href="https://example.com">',
    '<a>',
    '</a>',
  ],
  ...[
    '<td>',
    '</td>',
    '<tr>',
    '<img alt=" x ">',
    ' ',
    '\n',
    '\u00a0',
    'word',
    '🦜',
    '&nbsp;',
    '&lt;',
    '<',
    '>',
    '"',
    '<style>',
    '</style>',
  ],
)

/** Indentation, quotes and list markers at the start of a line. */
const PREFIX = /^(?: {2,}|> |>$|- |\d+\. )*/gm

test('text has no space at the end of a line, no two blank lines and no two spaces in a row after its indentation, whatever the HTML is', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(piece).map((all) => all.join('')),
        fc.string({ unit: anyCharacter }),
      ),
      (html) => {
        const text = toText(html)
        expect(text).toBe(`${text.trim()}\n`)
        expect(text).not.toMatch(/[ \t]\n|\n{3}/)
        expect(text.replace(PREFIX, '')).not.toMatch(/\n[ \t]|[ \t]{2}/)
      },
    ),
    { numRuns: 500 },
  )
})

test('lines of preformatted text keep their words and spaces, in any chunks', () => {
  const chunk = fc.constantFrom('a', 'b', ' ', '  ', '\t', '\n', '\r\n', '<b>c</b>', '<i> </i>', '&amp;', '&#32;', '<br>')
  fc.assert(
    fc.property(fc.array(chunk), (chunks) => {
      const shown = chunks.map((each) => (each === '<br>' ? '\n' : each.replace(/<.*?>/g, ''))).join('')
      const lines = shown.replaceAll('&amp;', '&').replaceAll('&#32;', ' ').split(/\r?\n/)
      const expected = lines
        .map((line) => line.trimEnd())
        .join('\n')
        .replace(/^\n+|\n+$/g, '')
      expect(toText(`<pre>${chunks.join('')}</pre>`)).toBe(`${expected}\n`)
    }),
    { numRuns: 500 },
  )
})

test('visible words are kept in their order', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom('p', 'b', 'li', 'td', 'a', 'div', 'span'), fc.stringMatching(/^[a-z]{1,8}$/))),
      (words) => {
        const text = toText(words.map(([tag, word]) => `<${tag}> ${word} </${tag}>`).join(''))
        expect(text.replace(/^- /gm, '').split(/\s+/).filter(Boolean)).toEqual(words.map(([, word]) => word))
      },
    ),
  )
})

/** Leaves room for a busy machine, and none for quadratic time. */
test.each<[string, string]>([
  ['words', 'word '],
  ['paragraphs', '<p>word</p>'],
  ['links', '<a href="https://example.com">x</a> '],
  ['links in links', '<a href="https://example.com">x '],
  ['open elements', '<div>x'],
  ['hidden elements', '<div hidden>x'],
  ['list items', '<ul><li>x'],
  ['items of one list', '<li>x</li>'],
  ['empty list items', '<ul><li>'],
  ['quotes', '<blockquote>x'],
  ['rules', '<hr>'],
  ['preformatted elements', '<pre>x '],
  ['line breaks', '<br>'],
  ['spaces', ' '],
  ['line feeds', '\n'],
  ['entities', '&amp;'],
  ['pictures with spaces', '<img alt="      ">'],
  ['beginnings of tags', '<'],
  ['beginnings of comments', '<!--'],
])('the time and text of a megabyte of %s are linear in its length', (_, part) => {
  const html = part.repeat(1_000_000 / part.length)
  const began = process.cpuUsage()
  expect(toText(html).length).toBeLessThan(16_000_000)
  expect(millisecondsSince(began)).toBeLessThan(3_000)
})

test.each(['\n', ' ', 'x\n', '\t', '<b> </b>', '<br>'])(
  'the time and text of a megabyte of %j in nested <pre> are linear in its length',
  (part) => {
    const html = `${'<blockquote>'.repeat(100)}<pre>x${part.repeat(1_000_000 / part.length)}x`
    const began = process.cpuUsage()
    expect(toText(html).length).toBeLessThan(20_000_000)
    expect(millisecondsSince(began)).toBeLessThan(3_000)
  },
)

test('HTML of more than a megabyte is converted up to there, and none of its links is returned', () => {
  const html = `<p>Start</p><a href="https://example.com">x</a>${'<p>word</p>'.repeat(200_000)}<p>End</p>`
  const { text, links, end } = readHtml(html)
  expect(text).toMatch(/^Start\n\nx \(https:\/\/example.com\)\n\nword/)
  expect(text).not.toContain('End')
  expect(text.match(/word/g)!.length).toBeLessThanOrEqual(MAX_READ / '<p>word</p>'.length)
  expect([links, end]).toEqual([[], html.length])
})

test('HTML of exactly a megabyte is converted to its end, and longer HTML is not cut within a character', () => {
  const whole = `${'x'.repeat(MAX_READ - 30)}<a href="https://e.example">`
  expect(readHtml(whole.padEnd(MAX_READ)).links).toHaveLength(1)
  expect(toText(`${'x'.repeat(MAX_READ - 1)}🦜🦜`)).toBe(`${'x'.repeat(MAX_READ - 1)}\n`)
})

test('links in elements nested deeper than the limit of the parser are still returned', () => {
  const { text, links } = readHtml(`${'<div>'.repeat(1_000)}<a href="https://example.com">Shop</a>${'</div>'.repeat(1_000)}`)
  expect(links.map(({ target }) => target)).toEqual(['https://example.com'])
  expect(text).toContain('Shop')
})
