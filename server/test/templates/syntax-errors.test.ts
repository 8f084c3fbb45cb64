import { describe, expect, test } from 'vitest'
import { checkTemplate } from '../../src/templates/rendering/render.ts'
import { render } from './rendering.ts'

describe('a syntax error has its position in the source', () => {
  test.each<[string, string, string]>([
    ['{{ name | nope }}', '1:11', 'Unknown filter "nope".'],
    ['{{ name | constructor }}', '1:11', 'Unknown filter "constructor".'],
    ['a\n  {% nope %}', '2:3', 'Unknown tag "nope".'],
    ['{% include "/etc/passwd" %}', '1:1', 'The tag "include" is not available.'],
    ['{% render "../../x" %}', '1:1', 'The tag "render" is not available.'],
    ['{% layout %}', '1:1', 'The tag "layout" is not available.'],
    ['{% block a %}{% endblock %}', '1:1', 'The tag "block" is not available.'],
    ['{% liquid\n include "x" %}', '1:1', 'The tag "liquid" is not available.'],
    ['{{ first name }}\n{{ a ?? b }}\n{{ x | nope }}', '3:8', 'Unknown filter "nope".'],
    ['{{ name', '1:1', '{{ is not closed by }}, or a string in it is not closed by a quote.'],
    ['{{ "name }}', '1:1', '{{ is not closed by }}, or a string in it is not closed by a quote.'],
    ['{% if name', '1:1', '{% is not closed by %}.'],
    ['{{ }}', '1:1', 'There is nothing between {{ and }}.'],
    ['{% %}', '1:1', 'A tag needs a name.'],
    ['\n{% if a %}', '2:1', '{% if %} is not closed by {% endif %}.'],
    ['{% endif %}', '1:1', '{% endif %} closes nothing.'],
    ['{% if a %}{% endfor %}', '1:11', '{% endfor %} does not close {% if %}.'],
    ['{% raw %} x', '1:1', '{% raw %} is not closed by {% endraw %}.'],
    ['{% comment %} x', '1:1', '{% comment %} is not closed by {% endcomment %}.'],
    ['{{ a "b" }}', '1:6', 'Unexpected "\\"".'],
    ['{{ "b" a }}', '1:8', 'Unexpected "a".'],
    ['{{ a = b }}', '1:6', 'Unexpected "=".'],
    ['{% if a = b %}{% endif %}', '1:9', 'Unexpected "=".'],
    ['{% if a && b %}{% endif %}', '1:9', 'Unexpected "&".'],
    ['{{{ a }}}', '1:3', 'Unexpected "{".'],
    ['{{ a ?? }}', '1:8', 'A fallback is missing after "??".'],
    ['{{ a | }}', '1:7', 'An expression is incomplete.'],
    ['{{ a | append: }}', '1:15', 'An expression is incomplete.'],
    ['{{ a[ }}', '1:6', 'An expression is incomplete.'],
    ['{% if %}{% endif %}', '1:6', 'An expression is incomplete.'],
    ['{% for a of b %}{% endfor %}', '1:7', 'Write {% for item in list %}.'],
    ['{% assign a %}', '1:12', 'An expression is incomplete.'],
    ['{% increment a ?? b %}', '1:16', '"??" cannot be used in {% increment %}.'],
    ['ab {% else %}', '1:4', 'Tag "else" not found.'],
    ['{{ a ?? b }} {% if a %}{% else x %}{% endif %}', '1:14', 'Unexpected "x".'],
  ])('%j', async (body, place, message) => {
    const [problem, ...others] = await checkTemplate({ subject: 'x', body })
    expect([`${problem?.line}:${problem?.column}`, problem?.message, problem?.field]).toEqual([place, message, 'body'])
    expect(others).toEqual([])
    expect(await render(body)).toBe(`failed: Line ${place.replace(':', ', column ')}: ${message}`)
  })

  test('is reported for subject and body', async () => {
    const problems = await checkTemplate({ subject: '{{ a | x }}', body: '{{ b | y }}' })
    expect(problems.map(({ field, message }) => [field, message])).toEqual([
      ['subject', 'Unknown filter "x".'],
      ['body', 'Unknown filter "y".'],
    ])
  })

  test.each<[string, string, RegExp]>([
    [
      '20,000 nested conditions',
      `${'{% if a %}'.repeat(20_000)}x${'{% endif %}'.repeat(20_000)}`,
      /nested more than 100|at most 5,000 tags/,
    ],
    ['101 nested conditions', `${'{% if a %}'.repeat(101)}x${'{% endif %}'.repeat(101)}`, /nested more than 100/],
    ['50,000 filters in a row', `{{ a ${'| upcase'.repeat(50_000)} }}`, /not closed/],
    ['51 filters in a row', `{{ a ${'| upcase'.repeat(51)} }}`, /At most 50 filters/],
    ['1,000 parentheses', `{{ ${'('.repeat(1000)}a${')'.repeat(1000)} }}`, /nested more than 100/],
    ['1,000 brackets', `{{ ${'a['.repeat(1000)}a${']'.repeat(1000)} }}`, /nested more than 100/],
    ['5,001 tags', '{{ a }}'.repeat(5_001), /at most 5,000 tags/],
    ['more than 2,000,000 characters', `{{ name }}${'x'.repeat(2_000_000)}`, /at most 2,000,000 characters/],
  ])('%s', async (_, body, message) => {
    const [problem] = await checkTemplate({ subject: 'x', body })
    expect(problem?.message).toMatch(message)
  })

  test('is not reported at the limits', async () => {
    const nested = `${'{% if yes %}'.repeat(100)}x${'{% endif %}'.repeat(100)}`
    const filtered = `{{ name ${'| upcase '.repeat(50)}}}`
    expect(await render(`${nested} ${filtered}`)).toBe('x ADA')
    expect(await checkTemplate({ subject: 'x', body: `${'x'.repeat(1_999_990)}{{ name }}` })).toEqual([])
    expect(await checkTemplate({ subject: 'x', body: '{{ name }}{% if yes %}{% endif %}'.repeat(1_666) })).toEqual([])
  })
})
