import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AppError } from '../../lib/errors/errors.ts'
import { compile } from '../language/compile.ts'
import { scopeOf } from '../language/variables.ts'
import { contrast, paletteOf, readable } from './palette.ts'
import { renderDesign } from './render.ts'
import { type Design, type DesignBlock, readDesign } from './schema.ts'

const RECIPIENT = {
  id: 'c1',
  email: 'ada@example.com',
  subscribed: true,
  createdAt: '2026-01-01T00:00:00.000Z',
  unsubscribeUrl: 'https://m.test/u',
  subscribeUrl: 'https://m.test/s',
  manageUrl: 'https://m.test/m',
}
const design = (...content: unknown[]) => readDesign({ version: 1, content })
const text = (value: string) => ({ type: 'text', text: value })
const paragraph = (...content: unknown[]) => ({ type: 'paragraph', attrs: { id: 'p' }, content })

/** As the recipient gets it. */
const receivedBy = (given: Design, data: Record<string, unknown> = {}) =>
  compile(renderDesign(given).html, { html: true })(scopeOf({ ...RECIPIENT, data }))

const errorsOf = (value: unknown) => {
  try {
    readDesign(value)
    return []
  } catch (err) {
    return (err as AppError).extra.errors!.map(({ field, code }) => `${field} ${code}`)
  }
}

// Arbitrary designs --------------------------------------------------------------------------------------------------

const TRICKY = [
  '{{',
  '}}',
  '{%',
  '%}',
  '"',
  "'",
  '\\',
  '<b>',
  '&',
  'a',
  ' ',
  '{{ plan }}',
  '{{ x ?? "y" }}',
  '{% if a %}',
  '{% endif %}',
  'é',
  '🎉',
  '\u00a0',
  '-->',
  '</td>',
]
const anyText = fc
  .oneof(
    fc.string({ minLength: 1, maxLength: 20 }),
    fc.array(fc.constantFrom(...TRICKY), { minLength: 1, maxLength: 6 }).map((parts) => parts.join('')),
  )
  .filter((value) => !value.includes('\0'))
const anyLink = fc.oneof(
  fc.constantFrom('', 'https://x.test/?a=1&b=2', 'mailto:a@x.test', '{{ url ?? "https://x.test" }}'),
  anyText.map((value) => `https://x.test/${value}`),
)
const anyPath = fc
  .oneof(fc.constantFrom('plan', 'first name', 'email', 'and', 'a.b c', 'true', '1st'), fc.string({ minLength: 1, maxLength: 12 }))
  .filter((value) => /^[^{}%"'`\\\p{Cc}]+$/u.test(value.trim()))
const anyColor = fc.constantFrom('#fff', '#000000', '#0b6e82', '#ffee00')
const anyMarks = fc.array(
  fc.oneof(
    fc.record({ type: fc.constantFrom('bold', 'italic', 'underline', 'strike') }),
    fc.record({ type: fc.constant('link'), attrs: fc.record({ href: anyLink }) }),
    fc.record({ type: fc.constant('color'), attrs: fc.record({ color: anyColor }) }),
  ),
  { maxLength: 3 },
)
const anyInline = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant('text'), text: anyText, marks: anyMarks }),
    fc.record({
      type: fc.constant('variable'),
      attrs: fc.record({
        path: anyPath,
        fallback: fc.option(anyText),
        filter: fc.constantFrom(null, 'upcase', 'append: "x"', 'truncate: 5, "…"'),
      }),
      marks: anyMarks,
    }),
    fc.record({ type: fc.constant('hardBreak') }),
  ),
  { maxLength: 4 },
)
const align = fc.constantFrom('left', 'center', 'right', null)
const id = fc.uuid()
const { block: anyBlock } = fc.letrec<{ block: unknown; blocks: unknown[]; list: unknown }>((tie) => ({
  blocks: fc.array(tie('block'), { minLength: 1, maxLength: 3 }),
  list: fc.record({
    type: fc.constantFrom('bulletList', 'orderedList'),
    content: fc.array(
      fc.record({
        type: fc.constant('listItem'),
        content: fc.array(fc.record({ type: fc.constant('paragraph'), content: anyInline }), { minLength: 1, maxLength: 2 }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  }),
  block: fc.oneof(
    { maxDepth: 3 },
    fc.record({ type: fc.constant('paragraph'), attrs: fc.record({ id, align }), content: anyInline }),
    fc.record({ type: fc.constant('heading'), attrs: fc.record({ id, align, level: fc.integer({ min: 1, max: 3 }) }), content: anyInline }),
    tie('list'),
    fc.record({
      type: fc.constant('button'),
      attrs: fc.record({ id, href: anyLink, align, style: fc.constantFrom('filled', 'outline', 'link', null) }),
      content: anyInline,
    }),
    fc.record({
      type: fc.constant('image'),
      attrs: fc.record({
        id,
        src: fc.constantFrom('', 'https://x.test/a.png', '{{ picture }}'),
        alt: fc.option(anyText),
        href: fc.option(anyLink),
        align,
        width: fc.option(fc.integer({ min: 8, max: 700 })),
      }),
    }),
    fc.record({ type: fc.constant('divider'), attrs: fc.record({ id }) }),
    fc.record({ type: fc.constant('spacer'), attrs: fc.record({ id, height: fc.integer({ min: 4, max: 200 }) }) }),
    fc.record({ type: fc.constant('html'), attrs: fc.record({ id, source: anyText }) }),
    fc.record({ type: fc.constant('footer'), attrs: fc.record({ id, align }) }),
    fc.record({
      type: fc.constant('social'),
      attrs: fc.record({
        id,
        align,
        links: fc.array(fc.record({ kind: fc.constantFrom('x', 'github', 'My blog'), href: anyLink }), { maxLength: 3 }),
      }),
    }),
    fc.record({ type: fc.constant('section'), attrs: fc.record({ id, bg: fc.option(anyColor) }), content: tie('blocks') }),
    fc.record({
      type: fc.constant('columns'),
      attrs: fc.record({ id, stack: fc.option(fc.boolean()) }),
      content: fc.array(fc.record({ type: fc.constant('column'), content: tie('blocks') }), { minLength: 2, maxLength: 4 }),
    }),
    fc.record({
      type: fc.constant('condition'),
      attrs: fc.oneof(
        fc.record({
          id,
          field: anyPath.map((path) => `data.${path}`),
          operator: fc.constantFrom('equals', 'contains', 'notContains', 'exists', 'greaterThan'),
          value: fc.oneof(anyText, fc.integer(), fc.boolean()),
        }),
        fc.record({ id, expression: fc.constantFrom('plan == "pro"', 'seats > 3 and name') }),
      ),
      content: tie('blocks'),
    }),
    fc.record({ type: fc.constant('loop'), attrs: fc.record({ id, item: fc.constant('item'), list: anyPath }), content: tie('blocks') }),
  ),
}))
const anyDesign = fc.record({
  version: fc.constant(1),
  settings: fc.record({
    preview: fc.option(anyText),
    lang: fc.constantFrom('en', 'ar', null),
    theme: fc.option(
      fc.record({
        colors: fc.record({ primary: anyColor, text: anyColor }),
        font: fc.constantFrom('Georgia, serif', null),
        radius: fc.integer({ min: 0, max: 32 }),
      }),
    ),
  }),
  content: fc.array(anyBlock, { maxLength: 5 }),
})

/** Every text of a design that has no template expressions. */
function plainTexts(blocks: unknown[]): string[] {
  return blocks.flatMap((block) => {
    const { type, text: value, content = [] } = block as { type: string; text?: string; content?: unknown[] }
    return type === 'text' && !/[{}]/.test(value!) ? [value!] : plainTexts(content)
  })
}

const ENTITIES: Record<string, string> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&nbsp;': ' ',
  '&#123;': '{',
}
const decode = (html: string) => html.replace(/&(?:amp|lt|gt|quot|#39|nbsp|#123);/g, (entity) => ENTITIES[entity]!)

test('any design renders to HTML that the template language takes, with every text in it', () => {
  fc.assert(
    fc.property(anyDesign, (value) => {
      const given = readDesign(value)
      const { html, places } = renderDesign(given)
      compile(html, { html: true })
      const shown = decode(html)
      for (const each of plainTexts(given.content)) expect(shown).toContain(each)
      for (const { end } of places) expect(end).toBeLessThanOrEqual(html.length)
    }),
    { numRuns: 150 },
  )
})

test('nothing that a design holds ends an attribute or opens a tag of its own', () => {
  fc.assert(
    fc.property(anyText, (words) => {
      const given = design(
        paragraph({ ...text(words), marks: [{ type: 'link', attrs: { href: `https://x.test/${words}" onclick="x` } }] }),
        {
          type: 'image',
          attrs: { src: 'https://x.test/a.png', alt: `${words}" onerror="x` },
        },
      )
      const [body] = /<body[\s\S]*/.exec(receivedBy(given, { url: '" onclick="x', plan: '<script>' }))!
      expect(body).not.toMatch(/" on(?:click|error)=/)
      expect(body).not.toContain('<script')
    }),
    { numRuns: 100 },
  )
})

describe('attacks in designs are refused at their block', () => {
  test.each([
    ['javascript: in a button', { type: 'button', attrs: { href: 'javascript:alert(1)' } }, 'design.content.0.attrs.href invalid_string'],
    ['data: in an image', { type: 'image', attrs: { src: 'data:text/html,x' } }, 'design.content.0.attrs.src invalid_string'],
    [
      'a style in a colour',
      { type: 'section', attrs: { bg: 'red;background:url(x)' }, content: [{ type: 'divider', attrs: {} }] },
      'design.content.0.attrs.bg invalid_string',
    ],
    ['an attribute in align', { type: 'paragraph', attrs: { align: '" onclick="x' } }, 'design.content.0.attrs.align invalid_enum_value'],
    [
      'the end of a tag in an expression',
      { type: 'condition', attrs: { expression: 'a %}<script>' }, content: [{ type: 'divider', attrs: {} }] },
      'design.content.0.attrs.expression custom',
    ],
    [
      'the end of an output in a filter',
      paragraph({ type: 'variable', attrs: { path: 'a', filter: 'upcase }}<script>' } }),
      'design.content.0.content.0.attrs.filter custom',
    ],
    ['an unknown block', { type: 'script', attrs: {} }, 'design.content.0.type invalid_union'],
    ['a heading of level 7', { type: 'heading', attrs: { level: 7 } }, 'design.content.0.attrs.level too_big'],
    [
      'a condition on an event',
      { type: 'condition', attrs: { field: 'event.paid', operator: 'exists' }, content: [{ type: 'divider', attrs: {} }] },
      'design.content.0.attrs.field invalid_string',
    ],
  ])('%s', (_, block, error) => expect(errorsOf({ version: 1, content: [block] })).toContain(error))

  test('a design that is too deep, too long or too large', () => {
    const nested = (depth: number): unknown =>
      depth === 1 ? { type: 'divider', attrs: {} } : { type: 'section', attrs: {}, content: [nested(depth - 1)] }
    expect(errorsOf({ version: 1, content: [nested(8)] })).toEqual([])
    expect(errorsOf({ version: 1, content: [nested(9)] })).toEqual(['design too_big'])
    expect(errorsOf({ version: 1, content: Array.from({ length: 2_001 }, () => ({ type: 'divider', attrs: {} })) })).toEqual([
      'design too_big',
    ])
    expect(errorsOf({ version: 1, content: [{ type: 'html', attrs: { source: 'x'.repeat(524_288) } }] })).toEqual(['design too_big'])
  })

  test('names of a brand', () => {
    const theme = { font: 'Arial;}body{', colors: { primary: 'javascript:x' }, logoUrl: 'javascript:x' }
    expect(errorsOf({ version: 1, settings: { theme }, content: [] })).toEqual([
      'design.settings.theme.logoUrl invalid_string',
      'design.settings.theme.colors.primary invalid_string',
      'design.settings.theme.font invalid_string',
    ])
  })
})

describe('template expressions survive', () => {
  test.each<[string, DesignBlock | unknown, Record<string, unknown>, string]>([
    [
      'a variable with a space and a fallback',
      paragraph({ type: 'variable', attrs: { path: 'first name', fallback: 'you "there"' } }),
      {},
      'you &quot;there&quot;',
    ],
    [
      'a variable with a value',
      paragraph({ type: 'variable', attrs: { path: 'first name', filter: 'upcase' } }),
      { 'first name': 'ada' },
      'ADA',
    ],
    ['an expression typed by hand', paragraph(text('Hi {{ name ?? "you" }} & co')), {}, 'Hi you &amp; co'],
    [
      'an expression in a link',
      { type: 'button', attrs: { href: '{{ url ?? "https://x.test/?a=\\"1\\"" }}' }, content: [text('Go')] },
      {},
      'href="https://x.test/?a=&quot;1&quot;"',
    ],
    [
      'a field of a loop',
      {
        type: 'loop',
        attrs: { item: 'item', list: 'items' },
        content: [paragraph({ type: 'variable', attrs: { path: 'item.full name' } })],
      },
      { items: [{ 'full name': 'Tea' }, { 'full name': 'Cup' }] },
      'Cup',
    ],
    [
      'a loop in HTML',
      { type: 'html', attrs: { source: '<ul>{% for item in items %}<li>{{ item.name }}</li>{% endfor %}</ul>' } },
      { items: [{ name: 'Tea' }, { name: 'Cup' }] },
      '<ul><li>Tea</li><li>Cup</li></ul>',
    ],
    [
      'HTML in a loop',
      {
        type: 'loop',
        attrs: { item: 'item', list: 'items' },
        content: [{ type: 'html', attrs: { source: '<b>{% for tag in item.tags %}{{ tag }},{% endfor %}</b>' } }],
      },
      { items: [{ tags: ['a', 'b'] }] },
      '<b>a,b,</b>',
    ],
    ['non-breaking spaces that came with a copy', paragraph(text('{{\u00a0name\u00a0?? "you"\u00a0}}')), { name: 'Ada' }, 'Ada'],
  ])('%s', (_, block, data, expected) => expect(receivedBy(design(block), data)).toContain(expected))

  test('braces that are no expression are shown as typed', () => {
    expect(receivedBy(design(paragraph(text('Use {{ here'))))).toContain('Use &#123;&#123; here')
  })

  test('a loop that HTML opens and does not close is shown as typed, and takes no other block with it', () => {
    const html = receivedBy(design({ type: 'html', attrs: { source: '{% for item in items %}<i>x</i>' } }, paragraph(text('After'))), {
      items: [1, 2],
    })
    expect([html.includes('&#123;% for item in items %}<i>x</i>'), html.split('After').length]).toEqual([true, 2])
  })

  test.each<[string, Record<string, unknown>, Record<string, unknown>, boolean]>([
    ['equals', { field: 'data.plan', operator: 'equals', value: 'pro' }, { plan: 'pro' }, true],
    ['equals', { field: 'data.plan', operator: 'equals', value: 'pro' }, { plan: 'free' }, false],
    ['contains in any case', { field: 'data.plan', operator: 'contains', value: 'RO' }, { plan: 'Pro' }, true],
    ['does not contain', { field: 'data.plan', operator: 'notContains', value: 'x' }, { plan: 'Pro' }, true],
    ['exists', { field: 'data.seats', operator: 'exists' }, { seats: 0 }, true],
    ['exists', { field: 'data.seats', operator: 'exists' }, {}, false],
    ['does not exist', { field: 'data.seats', operator: 'notExists' }, {}, true],
    ['greater than', { field: 'data.seats', operator: 'greaterThan', value: 3 }, { seats: 4 }, true],
    ['an expression', { expression: 'plan == "pro" and seats > 3' }, { plan: 'pro', seats: 4 }, true],
    ['a value with a tag in it', { field: 'data.plan', operator: 'equals', value: '%}"\'' }, { plan: '%}"\'' }, true],
  ])('a block is shown if: %s', (_, attrs, data, isShown) => {
    const html = receivedBy(design({ type: 'condition', attrs, content: [paragraph(text('INSIDE'))] }), data)
    expect(html.includes('INSIDE')).toBe(isShown)
  })

  test('HTML that is a whole email is kept byte for byte', () => {
    const source = '<!doctype html><body>{% if a %}x{% endif %}</body>'
    expect(renderDesign(design({ type: 'html', attrs: { id: 'h', source } })).html).toBe(source)
  })
})

test('150 blocks are not clipped by Gmail', () => {
  const words = 'Sed ut perspiciatis unde omnis iste natus error sit voluptatem accusantium doloremque laudantium totam rem.'
  const some = [
    { type: 'heading', attrs: { level: 2 }, content: [text('What is new in March')] },
    paragraph(text(words), { ...text('Read more'), marks: [{ type: 'link', attrs: { href: 'https://example.com/news' } }] }),
    {
      type: 'columns',
      attrs: {},
      content: [
        { type: 'column', content: [paragraph(text('Left'))] },
        { type: 'column', content: [paragraph(text('Right'))] },
      ],
    },
    { type: 'button', attrs: { href: 'https://example.com/start' }, content: [text('Start')] },
    { type: 'divider', attrs: {} },
  ]
  const given = design(...Array.from({ length: 30 }, () => some).flat())
  expect(Buffer.byteLength(renderDesign(given).html)).toBeLessThan(102 * 1_024)
})

test('text can be read on its background whatever the brand, in light and dark', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 0xffffff }), { minLength: 3, maxLength: 3 }), (numbers) => {
      const [primary, text_, background] = numbers.map((value) => `#${value.toString(16).padStart(6, '0')}`)
      const { light, dark, accent, onAccent } = paletteOf({ colors: { primary, text: text_, background } })
      for (const { surface, text: words, muted, link } of [light, dark])
        for (const color of [words, muted, link]) expect(contrast(color, surface)).toBeGreaterThanOrEqual(4.5)
      expect(contrast(onAccent, accent)).toBeGreaterThanOrEqual(4.5)
      expect(contrast(readable(primary!, background!), background!)).toBeGreaterThanOrEqual(4.5)
    }),
  )
})
