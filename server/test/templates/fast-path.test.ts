import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { joinSlots } from '../../src/mime/compiled/slotted-html.ts'
import { compileFastPath } from '../../src/templates/fast/fast-path.ts'
import { MAX_FAST_PROCESSED } from '../../src/templates/language/limits.ts'
import { prepare } from '../../src/templates/language/prepare.ts'
import { renderEmails } from '../../src/templates/rendering/render.ts'
import { isSimple, recipient, render, renderByEngine } from './rendering.ts'

describe('the fast path', () => {
  test.each([
    ['Hi {{ name }}', true],
    ['{{ first name ?? "you" | upcase }}', true],
    ['{{ a.b["c d"] | default: "x" }}', true],
    ['{{ html | raw }}', true],
    ['{{ items.size }}', false],
    ['{{ items[0] }}', false],
    ['{{ data[name] }}', false],
    ['{{ name | append: "x" }}', false],
    ['{{- name -}}', true],
    ['{% if a %}x{% elsif b == "c" %}y{% else %}z{% endif %}', true],
    ['{% unless a contains "b" and c != nil %}{% endunless %}', true],
    ['{%- for item in items -%}{{ item.name }}{% unless forloop.last %}, {% endunless %}{% else %}none{% endfor %}', true],
    ['{% comment %}{{ anything {% endcomment %}{% # more %}', true],
    ['{% if (a or b) and c %}{% endif %}', false],
    ['{% if a | upcase %}{% endif %}', false],
    ['{% if a %}{% else %}{% elsif b %}{% endif %}', false],
    ['{% for item in items limit: 2 %}{% endfor %}', false],
    ['{% for item in items %}{% break %}{% endfor %}', false],
    ['{% for item in items %}{{ forloop }}{% endfor %}', false],
    ['{% assign a = 1 %}', false],
    ['{% case a %}{% when 1 %}{% endcase %}', false],
    ['{% raw %}{% endraw %}', false],
    ['{{ a == b }}', false],
    ['{{ (a) }}', false],
  ])('accepts %j: %s', (body, expected) => {
    expect(isSimple(body)).toBe(expected)
  })

  const word = fc.constantFrom(
    'name',
    'first name',
    'html',
    'profile',
    'tier',
    'items',
    'nothing',
    'hollow',
    'zero',
    'no',
    'unknown',
    'data',
    'email',
    'script',
    'lines',
  )
  const path = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join('.'))
  const filter = fc.constantFrom('upcase', 'downcase', 'capitalize', 'strip', 'default: "d<"', 'default: 7')
  const fallback = fc.constantFrom('"f&"', 'free text', "'\\u0041\\n\\\"'", '0', 'true', 'data.name', '""')
  const output = fc
    .tuple(path, fc.array(fallback, { maxLength: 2 }), fc.array(filter, { maxLength: 3 }), fc.boolean(), fc.boolean())
    .map(([p, f, filters, isRaw, isUrl]) => {
      const chain = [p, ...f.map((each, n) => (n < f.length - 1 && /^[a-z]+ /.test(each) ? 'name' : each))].join(' ?? ')
      const inner = [chain, ...filters, ...(isRaw ? ['raw'] : [])].join(' | ')
      return isUrl ? `<a href="{{ ${inner} }}">` : `{{ ${inner} }}`
    })
  const text = fc.oneof(
    fc.string().map((each) => each.replaceAll('{', '(')),
    fc.constantFrom(' ', '\n', ' \u00a0x\u2003 '),
  )

  test('has the output of the engine', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(output, text), { maxLength: 6 }), async (parts) => {
        const body = parts.join(' ')
        expect(isSimple(body)).toBe(true)
        expect(await render(body)).toBe(renderByEngine(body))
      }),
      { numRuns: 500 },
    )
  })

  const literal = fc.constantFrom('"gold"', '"Ada"', '"a"', '36', '"36"', '0', 'true', 'false', '""')
  const special = fc.constantFrom('nil', 'empty', 'blank', 'null')
  const field = fc.oneof(path, fc.constantFrom('age', 'yes', 'none', 'orders', 'item', 'item.id', 'other', 'forloop.first', 'profile.tags'))
  const operand = fc.oneof(
    field,
    field,
    literal,
    fc.tuple(field, literal).map(([a, b]) => `${a} ?? ${b}`),
  )
  const operator = fc.constantFrom('==', '!=', '<', '>', '<=', '>=', 'contains')
  const comparison = fc.oneof(
    operand,
    fc.tuple(operand, operator, operand).map((terms) => terms.join(' ')),
    fc.tuple(field, fc.constantFrom('==', '!='), special).map((terms) => terms.join(' ')),
    operand.map((each) => `not ${each}`),
  )
  const condition = fc
    .tuple(comparison, fc.array(fc.tuple(fc.constantFrom('and', 'or'), comparison), { maxLength: 2 }))
    .map(([first, more]) => [first, ...more.flat()].join(' '))
  const dash = fc.constantFrom('', '', '-')
  const tag = (content: string, [before, after]: string[]) => `{%${before} ${content} ${after}%}`
  const dashes = fc.tuple(dash, dash)
  /** A template of nested conditions and loops; `item` and `other` are the variables of loops. */
  const { template } = fc.letrec<{ template: string; part: string; choice: string; loop: string }>((tie) => ({
    template: fc.array(tie('part'), { maxLength: 4 }).map((parts) => parts.join('')),
    part: fc.oneof(
      { maxDepth: 3 },
      text,
      output,
      fc.constantFrom('{{ item }}', '{{- item.total ?? "-" -}}', '{{ other | upcase }}', '{% comment %}{{ x {% endcomment -%}'),
      tie('choice'),
      tie('loop'),
    ),
    choice: fc
      .tuple(
        fc.constantFrom('if', 'unless'),
        condition,
        tie('template'),
        fc.array(fc.tuple(condition, tie('template')), { maxLength: 2 }),
        fc.option(tie('template'), { nil: undefined }),
        dashes,
      )
      .map(([name, test, then, more, otherwise, trims]) =>
        [
          tag(`${name} ${test}`, trims) + then,
          ...more.map(([each, block]) => tag(`elsif ${each}`, trims) + block),
          otherwise === undefined ? '' : tag('else', trims) + otherwise,
          tag(`end${name}`, trims),
        ].join(''),
      ),
    loop: fc
      .tuple(
        fc.constantFrom('item', 'item', 'other', 'name'),
        fc.constantFrom('items', 'orders', 'none', 'name', 'nothing', 'unknown', 'profile.tags', 'hollow', 'age', 'profile', 'item'),
        tie('template'),
        fc.option(tie('template'), { nil: undefined }),
        fc.constantFrom(
          '',
          '{{ forloop.index }}/{{ forloop.length }}',
          '{% unless forloop.last %}, {% endunless %}',
          '{{ forloop.rindex0 }}',
        ),
        dashes,
      )
      .map(([local, list, each, otherwise, counter, trims]) =>
        [
          tag(`for ${local} in ${list}`, trims) + each + counter,
          otherwise === undefined ? '' : tag('else', trims) + otherwise,
          tag('endfor', trims),
        ].join(''),
      ),
  }))

  test('has the output of the engine for conditions and loops, wherever it does not leave them to the engine', async () => {
    const ways = { fast: 0, engine: 0 }
    await fc.assert(
      fc.asyncProperty(template, async (body) => {
        const path = compileFastPath(prepare(body, { html: true }), { html: true })
        const filled = path?.fill(recipient(), { characters: MAX_FAST_PROCESSED })
        ways[filled ? 'fast' : 'engine']++
        if (filled) expect(joinSlots(filled)).toBe(renderByEngine(body))
      }),
      { numRuns: Number(process.env.FC_RUNS ?? 3_000) },
    )
    expect(ways.fast).toBeGreaterThan(ways.engine)
  })

  test('shares the texts of recipients that take the same branches, of at most 16 combinations', () => {
    const body = '<p>{% if a %}{{ a }}{% else %}nobody{% endif %}</p>{% for b in list %}<i>{{ b }}</i>{% endfor %}'
    const { fill } = compileFastPath(prepare(body, { html: true }), { html: true })!
    const textsFor = (data: Record<string, unknown>) => {
      const filled = fill(recipient(data), { characters: MAX_FAST_PROCESSED })!
      return filled.isShared ? filled.texts : undefined
    }
    const first = textsFor({ a: 'x', list: [1, 2] })
    expect(first).toEqual(['<p>', '</p><i>', '</i><i>', '</i>'])
    expect(textsFor({ a: 'y', list: ['z', ''] })).toBe(first)
    expect(textsFor({ list: [1, 2] })).toEqual(['<p>nobody</p><i>', '</i><i>', '</i>'])
    for (let length = 3; length < 17; length++) expect(textsFor({ list: Array(length).fill('x') })).toHaveLength(length + 1)
    expect(textsFor({ list: Array(17).fill('x') })).toBeUndefined()
    expect(textsFor({ a: 'y', list: [3, 4] })).toBe(first)
  })

  test('leaves long loops to the threads', () => {
    const { fill } = compileFastPath(prepare('{% for a in list %}{% for b in list %}{% endfor %}{% endfor %}', { html: true }), {
      html: true,
    })!
    expect(fill(recipient({ list: Array(40).fill(1) }), { characters: MAX_FAST_PROCESSED })).toBeDefined()
    expect(fill(recipient({ list: Array(60).fill(1) }), { characters: MAX_FAST_PROCESSED })).toBeUndefined()
  })

  /** Counts the reads of a value by a template. */
  const counting = (value: unknown) => {
    const data = {
      reads: 0,
      get w() {
        data.reads++
        return value
      },
    }
    return data
  }
  const FILTERED = `{{ w ${'| upcase | downcase '.repeat(24)}| strip }}`

  test.each<[string, string, unknown, number]>([
    ['filters on a string with no output', FILTERED.repeat(200), '\u2003'.repeat(65_000), 1],
    ['a stripped string with no output', '{{ w | strip }}'.repeat(200), ' '.repeat(65_000), 4],
    ['a list with little output', '{{ w | upcase }}'.repeat(200), Array.from({ length: 20_000 }, () => [[]]), 4],
    ['many strings with a little output each', '{{ w | upcase }}'.repeat(200), 'x'.repeat(1_000), 129],
  ])('stops at 256,000 characters for %s', (_, body, value, reads) => {
    const data = counting(value)
    const { fill } = compileFastPath(prepare(body, { html: true }), { html: true })!
    expect(fill(recipient(data), { characters: MAX_FAST_PROCESSED })).toBeUndefined()
    expect(data.reads).toBeLessThanOrEqual(reads)
  })

  test('processes a bounded number of characters for all recipients of a call', async () => {
    const data = counting('x'.repeat(20_000))
    const { reads } = data
    const others = Array.from({ length: 100 }, () => recipient({ w: 'y' }))
    const results = await renderEmails({ subject: 'x', body: '{{ w | strip }}'.repeat(6) }, [
      ...Array.from({ length: 40 }, () => recipient(data)),
      ...others,
    ])
    expect(results.every(({ ok }) => ok)).toBe(true)
    // 17 recipients of 240,000 characters; the rest is read once more for the thread.
    expect(data.reads - reads).toBeLessThanOrEqual(18 * 6 + 40)
  })

  test('leaves long values to the threads', async () => {
    expect(await render('{{ big }}'.repeat(10), { big: 'x'.repeat(50_000) })).toHaveLength(500_000)
  })
})
