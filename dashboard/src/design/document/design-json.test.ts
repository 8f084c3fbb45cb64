import type { Design } from '@sterna/sdk'
import { Node } from '@tiptap/pm/model'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { withBlockIds } from './block-ids.ts'
import { designOf, documentOf, ordered } from './design-json.ts'
import { designSchema } from './extensions.ts'

const schema = designSchema()

/** Through the document of the editor and back. `check` throws on nodes that the editor would drop. */
function roundTrip(design: Design): Design {
  const doc = Node.fromJSON(schema, documentOf(design))
  doc.check()
  return designOf(doc.toJSON(), design.settings)
}

const anyText = fc.oneof(
  fc.string({ minLength: 1, maxLength: 20 }),
  fc.constantFrom('{{ plan ?? "x" }}', '<script>', '👩‍👩‍👧', '\u00a0 x  '),
)
const anyHref = fc.constantFrom('', 'https://x.test/?a=1&b=2', '{{ url ?? "https://x.test" }}')
const anyColor = fc.constantFrom('#fff', '#0b6e82')
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value)
type Parts = Record<string, fc.Arbitrary<unknown>>
/** Attributes may be absent, null, or set. */
const attrs = (required: Parts, optional: Parts = {}) =>
  fc.record({ id: fc.uuid(), ...required, ...optional } as Parts, { requiredKeys: ['id', ...Object.keys(required)] })

const align = maybe(fc.constantFrom('left', 'center', 'right'))
const MARKS = Object.keys(schema.marks)
/** As the editor orders them. */
const marks = fc
  .uniqueArray(
    fc.oneof(
      fc.record({ type: fc.constantFrom('bold', 'italic', 'underline', 'strike') }),
      fc.record({ type: fc.constant('link'), attrs: fc.record({ href: anyHref }) }),
      fc.record({ type: fc.constant('color'), attrs: fc.record({ color: anyColor }) }),
    ),
    { selector: ({ type }) => type, minLength: 1, maxLength: 4 },
  )
  .map((found) => found.toSorted((a, b) => MARKS.indexOf(a.type) - MARKS.indexOf(b.type)))
const marked = (node: Parts) => fc.record({ ...node, marks } as Parts, { requiredKeys: Object.keys(node) })
type Inline = { type: string; text?: string; marks?: unknown }
/** Texts with equal marks stand next to each other only as one text. */
const joined = (nodes: Inline[]) =>
  nodes.filter(
    ({ type, marks: own }, at) =>
      !(type === 'text' && nodes[at - 1]?.type === 'text' && JSON.stringify(own) === JSON.stringify(nodes[at - 1]!.marks)),
  )
const inline = fc
  .array(
    fc.oneof(
      marked({ type: fc.constant('text'), text: anyText }),
      marked({
        type: fc.constant('variable'),
        attrs: fc.record(
          { path: fc.constantFrom('plan', 'first name'), fallback: maybe(anyText), filter: maybe(fc.constant('upcase')) },
          { requiredKeys: ['path'] },
        ),
      }),
      marked({ type: fc.constant('hardBreak') }),
    ) as fc.Arbitrary<Inline>,
    { minLength: 1, maxLength: 4 },
  )
  .map(joined)
const withText = (type: string, own: fc.Arbitrary<unknown>) =>
  fc.record({ type: fc.constant(type), attrs: own, content: inline }, { requiredKeys: ['type', 'attrs'] })
const leaf = (type: string, own: fc.Arbitrary<unknown>) => fc.record({ type: fc.constant(type), attrs: own })

const { blocks: anyBlocks } = fc.letrec<{ block: unknown; blocks: unknown[]; list: unknown; item: unknown }>((tie) => {
  const holder = (type: string, own: fc.Arbitrary<unknown>) => fc.record({ type: fc.constant(type), attrs: own, content: tie('blocks') })
  return {
    blocks: fc.array(tie('block'), { minLength: 1, maxLength: 4 }),
    item: fc.record({
      type: fc.constant('listItem'),
      content: fc.array(fc.oneof({ depthSize: 'small' }, fc.record({ type: fc.constant('paragraph'), content: inline }), tie('list')), {
        minLength: 1,
        maxLength: 3,
      }),
    }),
    list: fc.record(
      {
        type: fc.constantFrom('bulletList', 'orderedList'),
        attrs: attrs({}),
        content: fc.array(tie('item'), { minLength: 1, maxLength: 3 }),
      },
      { requiredKeys: ['type', 'content'] },
    ),
    block: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      withText('paragraph', attrs({}, { align })),
      withText('heading', attrs({ level: fc.constantFrom(1, 2, 3) }, { align })),
      withText('button', attrs({ href: anyHref }, { align, style: maybe(fc.constantFrom('filled', 'outline', 'link')) })),
      leaf(
        'image',
        attrs(
          { src: anyHref },
          { alt: maybe(anyText), width: maybe(fc.integer({ min: 8, max: 700 })), href: maybe(anyHref), align, isLogo: maybe(fc.boolean()) },
        ),
      ),
      leaf('divider', attrs({})),
      leaf('spacer', attrs({ height: fc.integer({ min: 4, max: 200 }) })),
      leaf('html', attrs({ source: anyText })),
      leaf('footer', attrs({}, { align })),
      leaf(
        'social',
        attrs({ links: fc.array(fc.record({ kind: fc.constantFrom('x', 'My blog'), href: anyHref }), { maxLength: 3 }) }, { align }),
      ),
      tie('list'),
      holder('section', attrs({}, { bg: maybe(anyColor), padding: maybe(fc.integer({ min: 0, max: 64 })) })),
      fc.record({
        type: fc.constant('columns'),
        attrs: attrs(
          {},
          { widths: maybe(fc.array(fc.constantFrom(0.3, 0.5), { minLength: 2, maxLength: 4 })), stack: maybe(fc.boolean()) },
        ),
        content: fc.array(fc.record({ type: fc.constant('column'), content: tie('blocks') }), { minLength: 2, maxLength: 4 }),
      }),
      holder(
        'condition',
        attrs({ field: fc.constant('data.plan'), operator: fc.constant('equals'), value: fc.oneof(anyText, fc.integer(), fc.boolean()) }),
      ),
      holder('condition', attrs({ expression: fc.constant('plan == "pro"') })),
      holder('loop', attrs({ item: fc.constant('item'), list: fc.constant('items') })),
    ),
  }
})
const anySettings = fc.record(
  { preview: maybe(anyText), lang: fc.constant('pt-BR'), width: fc.integer({ min: 480, max: 700 }) },
  { requiredKeys: [] },
)
const anyDesign = fc.record(
  { version: fc.constant(1), settings: anySettings, content: anyBlocks },
  { requiredKeys: ['version', 'content'] },
) as unknown as fc.Arbitrary<Design>

describe('a design in the editor', () => {
  test('is the same when it comes back', () => {
    fc.assert(
      fc.property(anyDesign, (design) => {
        expect(JSON.stringify(roundTrip(design))).toBe(JSON.stringify(ordered(design)))
      }),
      { numRuns: 200 },
    )
  })

  test('gets ids where it has none, and nothing else', () => {
    fc.assert(
      fc.property(anyDesign, (design) => {
        const without = JSON.parse(JSON.stringify(design, (key, value) => (key === 'id' ? undefined : value))) as Design
        const doc = withBlockIds(Node.fromJSON(schema, documentOf(without)))
        const named = JSON.stringify(designOf(doc.toJSON(), without.settings))
        const ids = [...named.matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id)
        expect(new Set(ids).size).toBe(ids.length)
        const unnamed = JSON.parse(named, (key, value) => (key === 'id' ? undefined : value)) as Design
        expect(roundTrip(unnamed)).toEqual(roundTrip(without))
      }),
      { numRuns: 30 },
    )
  })

  test('keeps an id for the first of two blocks that have it', () => {
    const copies = { version: 1 as const, content: [1, 2].map(() => ({ type: 'divider' as const, attrs: { id: 'same' } })) }
    const ids = withBlockIds(Node.fromJSON(schema, documentOf(copies))).children.map(({ attrs }) => attrs.id)
    expect([ids[0], ids[1] === 'same']).toEqual(['same', false])
  })

  test('without blocks has a line to type in', () => {
    expect(roundTrip({ version: 1, content: [] }).content).toEqual([{ type: 'paragraph' }])
  })
})
