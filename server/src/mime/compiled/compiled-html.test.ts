import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyCharacter } from '../../../test/support/any-character.ts'
import { escapeHtml } from '../../lib/text/html.ts'
import { compileHtml, readParts } from './compiled-html.ts'
import { hasFixedStructure, joinSlots, type SlottedHtml } from './slotted-html.ts'

const urls = {
  untracked: ['https://mail.example/unsubscribe/'],
  click: (position: number, target: string) => `https://mail.example/t/c/${position}-${encodeURIComponent(target.toWellFormed())}`,
  trap: () => 'https://mail.example/t/c/0',
  pixel: () => 'https://mail.example/t/o/1',
}

const partsOf = ({ html, text, withTracking }: ReturnType<typeof readParts>) => ({ html, text, tracked: withTracking(urls) })

function expectSame(given: SlottedHtml) {
  const compiled = compileHtml(given.texts)
  if (compiled) expect(partsOf(compiled.partsFor(given.values))).toEqual(partsOf(readParts(joinSlots(given))))
  return compiled !== undefined
}

/** Slots are written as `{}`. */
const textsOf = (html: string) => html.split('{}')

const VALUES = [
  ...[
    '',
    ' ',
    'Ada',
    ' a  b ',
    'two\nlines',
    'a\r\n\r\nb',
    '\t',
    '\u00a0',
    '\u200b',
    '\ufeff',
    'Grüße 🦜',
    '\ud83e',
    '\0',
    'x'.repeat(400),
  ],
  ...['<b>', '</p>', '</title>', '-->', '"', "'", '&', '&amp;', 'lt;', 'amp;', '#39;', '#x41', ';', '&#60;', 'a & b', '`', '=', '/', '>'],
  ...[
    'https://shop.example/?a=1&b=2',
    ' https://shop.example/x y ',
    'HTTP://EXAMPLE.COM',
    'https://mail.example/unsubscribe/x',
    '#top',
    'javascript:0',
  ],
  ...[`https://shop.example/${'y'.repeat(1_400)}`, 'mailto:a@example.com', 'display:none', 'hidden', '3', '.', '. .', '--=_', '{{ x }}'],
]
const value = fc.oneof(fc.constantFrom(...VALUES), fc.string({ unit: anyCharacter, maxLength: 12 }), fc.webUrl()).map(escapeHtml)

const ordinary = fc.constantFrom(
  ...[
    '<p>',
    '</p>',
    '<div>',
    '</div>',
    '<ul>',
    '<ol start="3">',
    '<li>',
    '<li value="7">',
    '</li>',
    '</ul>',
    '</ol>',
    '<blockquote>',
    '</blockquote>',
  ],
  ...[
    "<h1 class='a'>",
    '</h1>',
    '<table><tr><td>',
    '<td width=10>',
    '</td>',
    '</tr>',
    '</table>',
    '<b>',
    '</b>',
    '<br>',
    '<br/>',
    '<hr />',
    '<pre>',
    '</pre>',
  ],
  ...[
    '<a href="https://shop.example/?a=1&amp;b=2">',
    '</a>',
    '<a href="{}">',
    "<a href='https://x.example/{}?b={}'>",
    '<a title="{}" href=" {} ">',
  ],
  ...[
    '<a HREF="https://x.example/" href="{}">',
    '<area href="{}">',
    '<img src="{}" alt="{}">',
    '<img alt="a {} b">',
    '<div hidden>',
    '<div hidden="{}">',
  ],
  ...[
    '<span style="display:none">',
    '</span>',
    '<title>{} &amp;</title>',
    '<style>a { b }</style>',
    '<style><!-- p{} --></style>',
    '<script>1 < 2</script>',
  ],
  ...['<!doctype html>', '<html>', '<head>', '</head>', '<body>', '<body class="{}">', '</body>', '</html>', '<!-- note -->', '<!---->'],
  ...['<!--[if mso]><p><![endif]-->', '<!--[if !mso]><!-->', '<!--<![endif]-->', '<![if gte mso 9]>', '<![endif]>', '<o:p>', '</o:p>'],
  ...[
    '{}',
    ' {} ',
    '{}{}',
    '\n{}\n',
    'Dear {},',
    'word',
    ' ',
    '\n',
    '  \t ',
    '€',
    '&nbsp;',
    '&copy;',
    '&lt;',
    'a & b',
    '&copy',
    '🦜',
    '> quoted',
    '\r\n',
  ],
)
/** Where a value could change the structure, or where parsers disagree. */
const nasty = fc.constantFrom(
  ...[
    '<a href={}>',
    '<{}>',
    '</{}>',
    '<a {}>',
    '<a {}="x">',
    '<!-- {} -->',
    '<!--',
    '-->',
    '<!-->',
    '<!--->',
    '<!-- a --!>',
    '<style>{}</style>',
    '<script>{}</script>',
  ],
  ...[
    '&{}',
    '&am{}',
    '&#{};',
    '&#x{};',
    '&not{}',
    '<',
    '< ',
    '</',
    '<!',
    '<?xml ?>',
    '<![CDATA[{}]]>',
    '<p',
    '"',
    "'",
    '<textarea>{}</textarea>',
    '<xmp>{}</xmp>',
  ],
  ...[
    '<svg>{}</svg>',
    '<math>',
    '<title>{}<b>',
    '<title>',
    '<p style="{}">',
    '<ol start="{}">',
    '<li value="{}">',
    '<a b="c"d="{}">',
    '<iframe>{}</iframe>',
  ],
  ...[
    '<plaintext>',
    '<pre>{}</pre>',
    '<noscript>{}</noscript>',
    '<template>{}</template>',
    '<form>',
    '</form>',
    '<a/href="{}">',
    '<a href="{}"/>',
    '\ue000',
    '<P\n>',
  ],
)
const html = fc
  .array(fc.oneof({ weight: 12, arbitrary: ordinary }, { weight: 1, arbitrary: nasty }), { maxLength: 25 })
  .map((pieces) => pieces.join(''))
const slotted = html.chain((source) => {
  const texts = textsOf(source)
  return fc.record({ texts: fc.constant(texts), values: fc.tuple(...texts.slice(1).map(() => value)) })
})

describe('compiled HTML', () => {
  test('has the parts of the same HTML parsed alone', () => {
    let compiled = 0
    const numRuns = Number(process.env.FC_RUNS ?? 1_500)
    fc.assert(
      fc.property(slotted, (given) => {
        if (expectSame(given)) compiled++
      }),
      { numRuns },
    )
    expect(compiled).toBeGreaterThan(numRuns / 5)
  })

  test('is filled again and again', () => {
    const compiled = compileHtml(textsOf('<p>Dear {}, <a href="https://shop.example/{}">{}</a></p>'))!
    for (const values of [
      ['Ada', '1', 'Shop'],
      ['', '', ''],
      ['Bob &amp; Eve', '2?a&amp;b', 'https://shop.example/2?a&amp;b'],
    ])
      expect(partsOf(compiled.partsFor(values))).toEqual(
        partsOf(readParts(joinSlots({ texts: textsOf('<p>Dear {}, <a href="https://shop.example/{}">{}</a></p>'), values }))),
      )
  })

  test('of more than a megabyte is read like other HTML of that size', () => {
    const texts = ['<a href="https://shop.example">x</a>', '']
    expectSame({ texts, values: ['y'.repeat(1024 * 1024)] })
  })
})

test.each([
  '<p>Dear {},</p>',
  '<a href="{}">x</a>',
  "<a href='https://x.example/?u={}'>x</a>",
  '<img alt="{}" src={}>'.replace('src={}', 'src=x'),
  '<!doctype html><html><head><title>{}</title><style>p { color: red }</style></head><body>{}</body></html>',
  '<!--[if mso]><table><tr><td><![endif]-->{}<!--[if mso]></td></tr></table><![endif]-->',
  'a & b {} &amp;{}',
  '{}',
])('values cannot change the structure of %s', (source) => {
  expect(hasFixedStructure(textsOf(source))).toBe(true)
  expect(compileHtml(textsOf(source))).toBeDefined()
})

test.each([
  ['<{}>'],
  ['<p {}>'],
  ['<p class={}>'],
  ['<p style="color:{}">'],
  ['<li value="{}">'],
  ['<ol start="{}">'],
  ['<!-- {} -->'],
  ['<style>{}</style>'],
  ['<script>{}</script>'],
  ['&{};'],
  ['&am{}'],
  ['a < {}'],
  ['<p'],
  ['<p title="{}'],
  ['<svg>{}</svg>'],
  ['<textarea>{}</textarea>'],
  ['\ue000{}'],
  [`${'<b>'.repeat(10_001)}{}`],
])('values could change the structure of %s', (source) => {
  expect(hasFixedStructure(textsOf(source))).toBe(false)
})

test('values in preformatted text are left to the parser', () => {
  expect(compileHtml(textsOf('<pre>{}</pre>'))).toBeUndefined()
  expect(compileHtml(textsOf('<pre>a\nb</pre>{}'))).toBeDefined()
})
