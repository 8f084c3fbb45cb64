import { filters, Liquid } from 'liquidjs'
import { describe, expect, test } from 'vitest'
import { FILTERS } from '../../src/templates/language/filters.ts'
import { referencesIn } from '../../src/templates/rendering/references.ts'

describe('the variables of a template', () => {
  const used = (body: string) =>
    referencesIn({ subject: '', body }).map(({ path, needsValue }) => `${path.join('.')}${needsValue ? '!' : ''}`)

  test.each<[string, string[]]>([
    ['{{ name }}', ['name!']],
    ['{{ data.name }} {{ data["first name"] }}', ['name!', 'first name!']],
    ['{{ name ?? "x" }}', ['name']],
    ['{{ a ?? b ?? "x" }}', ['a', 'b']],
    ['{{ name | default: "x" }}', ['name']],
    ['{{ profile.tier | upcase }}', ['profile.tier!']],
    ['{% if name %}{{ name }}{% endif %}', ['name', 'name']],
    ['{% for order in orders %}{{ order.id }}{{ forloop.index }}{% endfor %}{{ order.id }}', ['orders!', 'order.id!']],
    ['{% assign x = name %}{{ x }}', ['name!']],
    ['{% capture x %}{{ name }}{% endcapture %}{{ x }}', ['name!']],
    ['{{ data[key] }}', ['key!', 'data!']],
    ['{{ "text" }} {{ 5 }}', []],
    ['{% raw %}{{ name }}{% endraw %}{% comment %}{{ name }}{% endcomment %}', []],
  ])('%s', (body, expected) => {
    expect(used(body)).toEqual(expected)
  })
})

test('the filters are those of the engine and one of our own', () => {
  expect([...FILTERS].sort()).toEqual([...Object.keys(filters), 'fallback'].sort())
  expect(Object.keys(new Liquid().filters).sort()).toEqual(Object.keys(filters).sort())
})
