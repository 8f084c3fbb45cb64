import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { prepare } from '../../src/templates/language/prepare.ts'
import { findMissing } from '../../src/templates/preview.ts'
import { isSimple, recipient, render, renderByEngine, renderSubject } from './rendering.ts'

describe('a name that contains and, or, or not', () => {
  const named = { 'terms and conditions': 'T&C', 'not now': 'later', 'this or that': 'both', profile: { 'a and b': 'nested' } }

  test.each<[string, Record<string, unknown>, string]>([
    ['{{ terms and conditions }}', named, 'T&amp;C'],
    ['{{ terms  and\tconditions | downcase }}', named, 't&amp;c'],
    ['{{ this or that }} {{ not now }}', named, 'both later'],
    ['{{ profile.a and b }} {{ data.this or that }}', named, 'nested both'],
    ['{{ terms and conditions ?? "none" }}', named, 'T&amp;C'],
    // Without data it is a name.
    ['{{ terms and conditions ?? "none" }}', {}, 'none'],
    ['{{ terms and conditions ?? no text at all }}', {}, 'no text at all'],
    ['[{{ terms and conditions }}{{ not now }}]', {}, '[]'],
    // An empty field is a field.
    ['{{ terms and conditions ?? "none" }}', { ...named, 'terms and conditions': null, terms: 1 }, 'none'],
    ['[{{ terms and conditions }}]', { 'terms and conditions': '', terms: 1, conditions: 1 }, '[]'],
    // Inherited properties are not fields.
    ['[{{ constructor and toString }}]', {}, '[]'],
    // One of the parts has a value: an expression.
    ['{{ terms and conditions }}', { terms: 1, conditions: 2 }, 'true'],
    ['{{ terms and conditions }}', { terms: 1 }, 'false'],
    ['{{ not now }} {{ this or that }}', { now: 1, that: 1 }, 'false true'],
    ['{{ subscribed and vip }}', {}, 'false'],
    ['{% assign a = 1 %}{{ a and b }}', {}, 'false'],
    ['{% for a in list %}{{ a and a }}{% endfor %}', { list: [1] }, 'true'],
    ['{{ true and false }}', {}, 'false'],
    // Both: the name.
    ['{{ this or that }}', { ...named, this: 1, that: 1 }, 'both'],
    ['<a href="{{ this or that }}">', { 'this or that': 'javascript:x' }, '<a href="#">'],
  ])('%j with %j is %j', async (body, data, expected) => {
    expect(await render(body, data)).toBe(expected)
  })

  test('may be in a subject', async () => {
    expect(await renderSubject('{{ this or that }}', named)).toBe('both')
  })

  test('is a variable, unless the recipient has its parts', () => {
    const { references } = prepare('{{ terms and conditions }}{{ this or that ?? "x" }}{{ subscribed and vip }}', { html: true })
    const missingFor = (data: Record<string, unknown>) => findMissing(references, recipient(data)).map((path) => path.join('.'))
    expect(missingFor({})).toEqual(['terms and conditions', 'vip'])
    expect(missingFor({ 'terms and conditions': 1, vip: 1 })).toEqual([])
    expect(missingFor({ terms: 1, vip: 1 })).toEqual(['conditions'])
  })

  test('a parenthesis may begin with not', async () => {
    expect(await render('{{ (not now) }} {% if (not now) and yes %}y{% endif %}', { now: false, yes: true })).toBe('true y')
  })
})

describe('templates without such names', () => {
  test('are rewritten as before', () => {
    for (const [body, liquid] of [
      ['{{ a }}{{ first name ?? "x" }}', '{{ a }}{{ (["first name"] | fallback: "x") }}'],
      ['{{ a and b == 1 }}{{ a contains b }}', '{{ a and b == 1 }}{{ a contains b }}'],
      ['{{ a and "x" }}', '{{ a and "x" }}'],
    ])
      expect(prepare(body!, { html: true }).liquid).toBe(liquid)
    expect(isSimple('{{ first name ?? "x" }}')).toBe(true)
  })

  const FIELDS = { a: 1, yes: true, no: false, zero: 0, none: [] }
  const word = fc.constantFrom(...Object.keys(FIELDS), 'b')
  const condition = fc
    .array(fc.tuple(fc.constantFrom('and', 'or'), fc.boolean(), word), { minLength: 1, maxLength: 4 })
    .map((terms) => terms.map(([operator, isNot, name], n) => `${n ? `${operator} ` : ''}${isNot ? 'not ' : ''}${name}`).join(' '))
  const several = condition.filter((text) => text.includes(' '))
  const ifTag = (text: string) => `{% if ${text} %}true{% else %}false{% endif %}`

  test('have conditions in tags that are plain Liquid, whatever fields there are', () => {
    fc.assert(
      fc.property(several, (text) => {
        const tags = `${ifTag(text)}{% unless ${text} %}{% elsif ${text} %}{% endunless %}{% assign x = ${text} %}{% case ${text} %}{% endcase %}`
        expect(prepare(tags, { html: true }).liquid).toBe(tags)
        expect(renderByEngine(ifTag(text), { ...FIELDS, [text]: 0 })).toBe(renderByEngine(ifTag(text), { ...FIELDS, [text]: 1 }))
      }),
      { numRuns: 200 },
    )
  })

  test('have outputs that are the condition of the same tag, unless a field has their name', () => {
    fc.assert(
      fc.property(several, (text) => {
        // Only parts without data: a name.
        const isName = text.split(/ (?:and|or) /).every((part) => part.replace('not ', '') === 'b')
        expect(renderByEngine(`{{ ${text} }}`, FIELDS)).toBe(isName ? '' : renderByEngine(ifTag(text), FIELDS))
        expect(renderByEngine(`{{ ${text} }}`, { ...FIELDS, [text]: 'name' })).toBe('name')
      }),
      { numRuns: 200 },
    )
  })
})
