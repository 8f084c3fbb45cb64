import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compile } from '../../src/templates/language/compile.ts'
import { tokenize } from '../../src/templates/language/tokenize.ts'
import { scopeOf } from '../../src/templates/language/variables.ts'
import { textOf } from '../../src/templates/rendering/render.ts'
import { anyCharacter } from '../support/any-character.ts'
import { recipient, render, renderByEngine, renderSubject } from './rendering.ts'

describe('a template body', () => {
  test.each<[string, string, string]>([
    ['prints a variable', 'Hi {{name}}!', 'Hi Ada!'],
    ['prints one with blanks around it', 'Hi {{ name }}!', 'Hi Ada!'],
    ['prints nothing for a missing one', '[{{ unknown }}]', '[]'],
    ['prints nothing for null', '[{{ nothing }}]', '[]'],
    ['prints nothing for a missing one in a missing one', '[{{ a.b.c }}]', '[]'],
    ['prints nested values', '{{profile.tier}}', 'gold'],
    ['takes x and data.x for the same', '{{ plan }} {{ data.plan }} {{ data["plan"] }}', 'pro pro pro'],
    ['prints numbers and booleans', '{{ age }} {{ zero }} {{ no }} {{ yes }}', '36 0 false true'],
    ['joins a bare list by commas', '{{ items }}', 'a,b,c'],
    ['joins a nested list too', '{{ profile.tags }}', 'x,y'],
    ['prints an object as JSON', '{{ orders[0] | raw }}', '{"id":1,"total":5}'],
    // Fallbacks
    ['falls back when a variable is missing', '{{ unknown ?? "there" }}', 'there'],
    ['falls back when it is null', '{{ nothing ?? "there" }}', 'there'],
    ['falls back when it is empty', '{{ hollow ?? "there" }}', 'there'],
    ['falls back for an empty list', '{{ none ?? "there" }}', 'there'],
    ['does not fall back for zero', '{{ zero ?? "there" }}', '0'],
    ['does not fall back for false', '{{ no ?? "there" }}', 'false'],
    ['does not fall back when there is a value', '{{ name ?? "there" }}', 'Ada'],
    ['takes a fallback without quotes', '{{ unknown ?? there }}', 'there'],
    ['takes a fallback of several words without quotes', '{{ unknown ?? dear customer! }}', 'dear customer!'],
    ['takes single quotes', "{{ unknown ?? 'you' }}", 'you'],
    ['takes typographic quotes', '{{ unknown ?? “you” }}', 'you'],
    ['needs no blanks around ??', '{{unknown??"you"}}', 'you'],
    ['needs no blanks and no quotes', '{{unknown??you}}', 'you'],
    ['takes an empty fallback', '[{{ unknown ?? "" }}]', '[]'],
    ['takes a number', '{{ unknown ?? 3.5 }}', '3.5'],
    ['keeps ?? and bars inside quotes', '{{ unknown ?? "a ?? b | c" }}', 'a ?? b | c'],
    ['falls back in nested paths', '{{ profile.plan ?? "free" }} {{ profile.tier ?? "free" }}', 'free gold'],
    ['falls back in missing nested paths', '{{ a.b ?? "free" }}', 'free'],
    ['filters after a fallback', '{{ unknown ?? "there" | upcase }}', 'THERE'],
    ['filters after a fallback without quotes', '{{ unknown ?? there | upcase }}', 'THERE'],
    ['filters the value when there is one', '{{ name ?? "there" | upcase }}', 'ADA'],
    ['tries one variable after the other', '{{ unknown ?? hollow ?? name ?? "x" }}', 'Ada'],
    ['takes the last of several for a text', '{{ unknown ?? nothing ?? name }}', 'name'],
    ['takes data.x for a variable even there', '{{ unknown ?? data.name }}', 'Ada'],
    ['escapes a fallback like any value', '{{ unknown ?? "<b>" }}', '&lt;b&gt;'],
    ['falls back in a condition', '{% if unknown ?? "pro" == "pro" %}yes{% endif %}', 'yes'],
    ['falls back in a condition to a text without quotes', '{% if unknown ?? pro == plan %}yes{% endif %}', 'yes'],
    ['falls back to false in a condition', '{% if unknown ?? false %}yes{% else %}no{% endif %}', 'no'],
    ['falls back in an assignment', '{% assign who = unknown ?? "you" | upcase %}{{ who }}', 'YOU'],
    ['falls back in a loop', '{% for item in unknown ?? data.items %}{{ item }}{% endfor %}', 'abc'],
    ['falls back in an argument', '{{ name | append: unknown ?? "!" }}', 'Ada!'],
    // Names with spaces
    ['finds names with spaces', '{{first name}}', 'Ada'],
    ['finds them with more blanks', '{{  first   name  }}', 'Ada'],
    ['finds them across a line break', '{{ first\nname }}', 'Ada'],
    ['filters them', '{{ first name | upcase }}', 'ADA'],
    ['finds them in data', '{{data["first name"] | upcase}} {{ data.first name }}', 'ADA Ada'],
    ['finds them nested', '{{ profile.home town }} {{ profile["home town"] }}', 'London London'],
    ['falls back for them', '{{ last name ?? "L." }} {{ first name ?? "F." }}', 'L. Ada'],
    ['finds them in conditions', '{% if first name == "Ada" and age > 30 %}yes{% endif %}', 'yes'],
    ['finds them in assignments', '{% assign n = first name %}{{ n }}', 'Ada'],
    ['finds them in arguments', '{{ "Hi " | append: first name }}', 'Hi Ada'],
    ['finds them in loops', '{% for x in first name reversed %}{{ x }}{% endfor %}', 'Ada'],
    // Liquid
    ['knows if, elsif and else', '{% if no %}a{% elsif yes %}b{% else %}c{% endif %}', 'b'],
    ['knows unless', '{% unless no %}a{% endunless %}', 'a'],
    ['knows case', '{% case plan %}{% when "free", "pro" %}a{% else %}b{% endcase %}', 'a'],
    ['knows loops', '{% for o in orders %}{{ forloop.index }}:{{ o.total }};{% endfor %}', '1:5;2:7;'],
    ['knows loops with limits', '{% for i in items limit:2 offset:1 %}{{ i }}{% endfor %}', 'bc'],
    ['knows ranges', '{% for i in (1..3) %}{{ i }}{% endfor %}', '123'],
    ['knows else in loops', '{% for i in none %}x{% else %}nobody{% endfor %}', 'nobody'],
    ['knows cycle', '{% for i in items %}{% cycle "odd", first name %}{% endfor %}', 'oddAdaodd'],
    ['knows increment', '{% increment n %}{% increment n %}', '01'],
    ['knows size, first, last and indexes', '{{ items.size }}{{ items.first }}{{ items.last }}{{ items[1] }}{{ items[-1] }}', '3acbc'],
    ['knows filters with arguments', '{{ name | append: "!" | prepend: "¡" }}', '¡Ada!'],
    ['knows default', '{{ unknown | default: "x" }}{{ name | default: "x" }}', 'xAda'],
    ['knows dates, in UTC', '{{ createdAt | date: "%d.%m.%Y %H:%M" }}', '02.01.2026 03:04'],
    ['knows map and join', '{{ orders | map: "total" | join: "+" }}', '5+7'],
    ['takes parentheses', '{% if (name | upcase) == "ADA" %}yes{% endif %}', 'yes'],
    ['trims white space at dashes', 'a  {{- name -}}  b {%- if yes -%} c {%- endif %}', 'aAdabc'],
    ['shows raw blocks as they are', '{% raw %}{{ name }} {% if %}{% endraw %}', '{{ name }} {% if %}'],
    ['ends raw blocks at dashes too', '{% raw %}{{ a }}{%- endraw -%}  b', '{{ a }}b'],
    ['shows nothing of comments', 'a{% comment %} {{ "oops }} {% if %} {% endcomment %}b{% # note %}c', 'abc'],
    ['knows echo', '{% echo name | upcase %}', 'ADA'],
    // JavaScript truthiness
    ['takes 0 for false', '{% if zero %}a{% else %}b{% endif %}', 'b'],
    ['takes an empty text for false', '{% if hollow %}a{% else %}b{% endif %}', 'b'],
    ['takes null and missing for false', '{% if nothing or unknown %}a{% else %}b{% endif %}', 'b'],
    ['takes an empty list for true', '{% if none %}a{% else %}b{% endif %}', 'a'],
    // Escaping
    ['escapes values', '{{ html }}', '&lt;b&gt;&quot;Tom&quot; &amp; &#39;Jerry&#39;&lt;/b&gt;'],
    ['does not escape what is raw', '{{ html | raw }}', '<b>"Tom" & \'Jerry\'</b>'],
    ['escapes once with escape', '{{ "<" | escape }}', '&lt;'],
    ['escapes filtered values', '{{ html | upcase }}', '&lt;B&gt;&quot;TOM&quot; &amp; &#39;JERRY&#39;&lt;/B&gt;'],
    [
      'escapes in loops and cycles',
      '{% for x in html %}{{ x }}{% cycle html, "b" %}{% endfor %}'.replace('{{ x }}', ''),
      '&lt;b&gt;&quot;Tom&quot; &amp; &#39;Jerry&#39;&lt;/b&gt;',
    ],
    ['escapes echo', '{% echo html %}', '&lt;b&gt;&quot;Tom&quot; &amp; &#39;Jerry&#39;&lt;/b&gt;'],
    ['does not escape its own text', '<p>&nbsp;</p>', '<p>&nbsp;</p>'],
    [
      'does not escape captured markup twice',
      '{% capture c %}<i>{{ html }}</i>{% endcapture %}{{ c }}',
      '<i>&lt;b&gt;&quot;Tom&quot; &amp; &#39;Jerry&#39;&lt;/b&gt;</i>',
    ],
    ['takes captured text for a text in size', '{% capture y %}-{{ name }}-{% endcapture %}{{ y | size }} {{ y.size }}', '5 5'],
    ['takes captured text for a text in json', '{% capture y %}-{{ name }}-{% endcapture %}{{ y | json | raw }}', '"-Ada-"'],
    ['takes captured text for a text in inspect', '{% capture y %}-{{ name }}-{% endcapture %}{{ y | inspect | raw }}', '"-Ada-"'],
    [
      'takes captured text for a text in arguments',
      '{% capture y %}da{% endcapture %}{{ name | remove: y }}{{ "x" | append: y | size }}',
      'A3',
    ],
    [
      'takes captured text for a text in lists',
      '{% capture y %}a,b{% endcapture %}{% assign z = y | split: "," %}{{ z | first }}{{ y | slice: 2 }}',
      'ab',
    ],
    ['keeps captured markup through a fallback', '{% capture c %}<i>x</i>{% endcapture %}{{ c ?? "y" }}', '<i>x</i>'],
    ['escapes captured markup that was filtered', '{% capture c %}<i>{% endcapture %}{{ c | upcase }}', '&lt;I&gt;'],
    ['breaks lines without letting markup through', '{{ "a<\n" | newline_to_br }}', 'a&lt;<br />\n'],
    // Links
    ['keeps good links', '<a href="{{ link }}">', '<a href="https://example.com/?a=1&amp;b=2">'],
    ['defuses scripts in links', '<a href="{{ script }}">', '<a href="#">'],
    ['defuses them after a condition', '<a href="{% if yes %}{{ script }}{% endif %}">', '<a href="#">'],
    [
      'defuses them in single quotes, without quotes, in sources',
      `<img src='{{ script }}' alt=""><a HREF = {{ script }}>`,
      `<img src='#' alt=""><a HREF = #>`,
    ],
    ['leaves text alone', 'href="x" {{ script }}', 'href="x" javascript:alert(1)'],
    [
      'leaves the middle of links alone',
      '<a href="https://x.example/?q={{ script }}">',
      '<a href="https://x.example/?q=javascript:alert(1)">',
    ],
    ['believes raw', '<a href="{{ script | raw }}">', '<a href="javascript:alert(1)">'],
    // Standard names
    [
      'knows its standard names',
      '{{ id }} {{ email }} {{ subscribed }} {{ createdAt }}',
      'contact-1 ada@example.com true 2026-01-02T03:04:05.000Z',
    ],
    [
      'knows its links',
      '{{ unsubscribeUrl }} {{ subscribeUrl }} {{ manageUrl }}',
      'https://mail.example/u https://mail.example/s https://mail.example/m',
    ],
    [
      'knows its branded names',
      '{{ sterna_id }} {{ sterna_email }} {{ service_id }} {{ service_email }}',
      'contact-1 ada@example.com contact-1 ada@example.com',
    ],
    ['finds a custom field of a taken name in data', '{{ data["subscribed"] }}', 'custom'],
    ['reads the locale', '{{ locale }}', 'de'],
    // Attacks
    ['never renders what a value says', '{{ liquid | raw }}', '{{ email }}{% for i in (1..9) %}x{% endfor %}'],
    [
      'has no way to a prototype',
      '[{{ constructor }}{{ __proto__ }}{{ data.__proto__.polluted }}{{ name.constructor.name }}{{ "".constructor.constructor }}]',
      '[]',
    ],
    [
      'has no way to a prototype on the main thread',
      '[{{ constructor }}{{ __proto__ }}{{ toString }}{{ data.__proto__.polluted }}{{ name.constructor.name }}{{ items.push }}]',
      '[]',
    ],
    [
      'has no way to a prototype by computed names',
      '{% assign k = "constructor" %}[{{ data[k] }}{{ name[k] }}{{ items["__proto__"] }}{{ orders[0].toString }}]',
      '[]',
    ],
    ['has no way to the environment', '[{{ env }}{{ process }}{{ process.env }}{{ global }}{{ this }}]', '[]'],
  ])('%s', async (_, body, expected) => {
    expect(await render(body)).toBe(expected)
    expect(renderByEngine(body)).toBe(expected)
  })

  test('reads a field of any name, also of names of object methods', async () => {
    const data = {
      constructor: 'a',
      toString: 'b',
      hasOwnProperty: 'c',
      size: 'd',
      'a.b': 'e',
      naïve: 'f',
      '2nd line': 'g',
      'is-vip?': 'h',
    }
    expect(
      await render(
        '{{ constructor }}{{ toString }}{{ hasOwnProperty }}{{ size }}{{ data["a.b"] }}{{ naïve }}{{ 2nd line }}{{ is-vip? }}',
        data,
      ),
    ).toBe('abcdefgh')
  })

  test('has no locale for a contact without one', async () => {
    expect(await render('[{{ locale ?? "en" }}]', {})).toBe('[en]')
  })
})

describe('a template subject', () => {
  test.each<[string, string, string]>([
    ['is a template', 'Hi {{ first name ?? "you" }}', 'Hi Ada'],
    ['is not escaped', '{{ html }}', '<b>"Tom" & \'Jerry\'</b>'],
    ['is not escaped by the engine either', '{% if yes %}{{ html }}{% endif %}', '<b>"Tom" & \'Jerry\'</b>'],
    ['is one line, whatever the values', 'Re: {{ lines }}', 'Re: onetwo'],
    ['is one line in a thread too', 'Re: {% if yes %}{{ lines }}{% endif %}', 'Re: onetwo'],
  ])('%s', async (_, subject, expected) => {
    expect(await renderSubject(subject)).toBe(expected)
  })

  test('fails if it renders too long', async () => {
    const reason = 'failed: The rendered subject is longer than 998 characters.'
    expect(await renderSubject('{{ long }}', { long: 'x'.repeat(999) })).toBe(reason)
    expect(await renderSubject('{{ long }}{% if a %}{% endif %}', { long: 'x'.repeat(999) })).toBe(reason)
    expect(await renderSubject('{{ long }}', { long: 'x'.repeat(998) })).toHaveLength(998)
  })
})

describe('for any text', () => {
  const plain = fc.string({ unit: anyCharacter, maxLength: 500 }).map((text) => text.replaceAll('{', ''))
  const tricky = fc
    .array(
      fc.constantFrom(
        '{',
        '}',
        '%',
        '{{',
        '}}',
        '{%',
        '%}',
        '"',
        "'",
        '-',
        ' ',
        'a',
        'raw',
        'endraw',
        'comment',
        'endcomment',
        '\n',
        '\\',
        '??',
        '|',
        'if',
        'endif',
      ),
      { maxLength: 30 },
    )
    .map((parts) => parts.join(''))

  test('a text without tags renders to itself', async () => {
    await fc.assert(
      fc.asyncProperty(plain, async (text) => {
        expect(await render(text)).toBe(text)
      }),
    )
  })

  test('the tokens of a template add up to the template', () => {
    fc.assert(
      fc.property(tricky, (source) => {
        let parts: ReturnType<typeof tokenize>
        try {
          parts = tokenize(source)
        } catch (err) {
          expect((err as Error).constructor.name).toBe('TemplateSyntaxError')
          return
        }
        expect(parts.map(({ start, end }) => source.slice(start, end)).join('')).toBe(source)
      }),
      { numRuns: 2_000 },
    )
  })

  test('the engine compiles checked templates or reports a position', () => {
    fc.assert(
      fc.property(tricky, (source) => {
        try {
          compile(source, { html: true })(scopeOf(recipient()))
        } catch (err) {
          expect(err).toMatchObject({ line: expect.any(Number), column: expect.any(Number) })
        }
      }),
      { numRuns: 2_000 },
    )
  })

  test('a value never adds markup', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: fc.constantFrom('<', '>', '"', "'", '&', 'a', '{', '}', '%') }), async (value) => {
        const html = await render('[{{ value }}]', { value })
        expect(html).not.toMatch(/[<>"']/)
        expect(renderByEngine('[{{ value }}]', { value })).toBe(html)
      }),
    )
  })

  test('a value never adds a line to the subject', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: fc.constantFrom('\r', '\n', 'a', ':') }), async (value) => {
        expect(await renderSubject('{{ value }}', { value })).not.toMatch(/[\r\n]/)
      }),
    )
  })
})

test('rendered HTML is converted to text in a thread', async () => {
  const body = '<h1>Hi {{ name }}</h1><p>See <a href="{{ link }}">this</a></p><img src="x.png" alt="A picture"><style>p{}</style>'
  const text = 'Hi Ada\n\nSee this (https://example.com/?a=1&b=2)\n\nA picture\n'
  expect(await textOf(await render(body), 'a project')).toEqual({ ok: true, text })
})
