import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileFastPath } from '../../src/templates/language/fast-path.ts'
import { MAX_FAST_PROCESSED } from '../../src/templates/language/limits.ts'
import { prepare } from '../../src/templates/language/prepare.ts'
import { renderEmails } from '../../src/templates/render.ts'
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
    ['{% if a %}{% endif %}', false],
    ['{{- name }}', false],
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
  const text = fc.string().map((each) => each.replaceAll('{', '('))

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
    const { valuesFor } = compileFastPath(prepare(body, { html: true }), { html: true })!
    expect(valuesFor(recipient(data), { characters: MAX_FAST_PROCESSED })).toBeUndefined()
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
