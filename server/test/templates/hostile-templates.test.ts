import { describe, expect, test } from 'vitest'
import { checkTemplate, renderEmail, renderEmails } from '../../src/templates/rendering/render.ts'
import { startLoopClock } from '../support/faults/loop-clock.ts'
import { recipient, render } from './rendering.ts'

describe('a hostile template', () => {
  const DOUBLE_APPEND = `{% assign a = "xxxxxxxxxx" %}${'{% assign a = a | append: a %}'.repeat(40)}{{ a }}`
  const DOUBLE_CAPTURE = `{% capture a %}xxxxxxxxxx{% endcapture %}${'{% capture a %}{{ a }}{{ a }}{% endcapture %}'.repeat(30)}{{ a }}`
  const LIST_OF_LISTS =
    '{% assign r = (1..200000) %}{% assign a = "" | split: "" %}{% for i in (1..100) %}{% assign a = a | push: r %}{% endfor %}{{ a }}'
  const REVERSED_LOOPS = `{% assign r = (1..4000000) %}${'{% for a in r reversed %}'.repeat(9)}${'{% endfor %}'.repeat(9)}`
  const TIME = 'Rendering took longer than 250 ms.'
  const MEMORY = 'Rendering used too much memory.'
  const LENGTH = 'The rendered email is longer than 5 million characters.'

  test.each<[string, string, string[]]>([
    ['loops in loops', '{% for i in (1..100000) %}{% for j in (1..100000) %}x{% endfor %}{% endfor %}', [TIME, MEMORY, LENGTH]],
    [
      'loops in loops over small ranges',
      '{% for a in (1..999) %}{% for b in (1..999) %}{% for c in (1..999) %}{% endfor %}{% endfor %}{% endfor %}',
      [TIME, MEMORY],
    ],
    ['loops ten million times over nothing', '{% for i in (1..10000000) %}{% endfor %}', [TIME, MEMORY]],
    ['loops a thousand million times', '{% for i in (1..1000000000) %}{% endfor %}', [TIME, MEMORY]],
    ['makes a table of a million cells', '{% tablerow i in (1..1000000) cols:2 %}{{ i }}{% endtablerow %}', [TIME, MEMORY, LENGTH]],
    ['filters by expression', '{% assign r = (1..300000) %}{{ r | where_exp: "i", "i > 1 and i < 0" | size }}', [TIME, MEMORY]],
    ['groups by expression', '{% assign r = (1..300000) %}{{ r | group_by_exp: "i", "i | modulo: 7" | size }}', [TIME, MEMORY]],
    [
      'sorts again and again',
      `{% assign r = (1..350000) %}${'{% assign r = r | reverse | sort %}'.repeat(30)}{{ r | size }}`,
      [TIME, MEMORY],
    ],
    ['doubles a string', DOUBLE_APPEND, [TIME, MEMORY, LENGTH]],
    ['doubles a capture', DOUBLE_CAPTURE, [TIME, MEMORY, LENGTH]],
    [
      'replaces characters by long strings',
      `{% assign a = "${'x'.repeat(3000)}" %}{% assign a = a | replace: "x", a %}{% assign a = a | replace: "x", a %}{{ a | size }}`,
      [TIME, MEMORY],
    ],
    ['asks for a date of many digits', `{{ "now" | date: "%9999999d" }}`, [TIME, MEMORY, LENGTH]],
    ['asks for a date of more digits', `{{ "now" | date: "%999999999d" }}`, [TIME, MEMORY, LENGTH]],
    [
      'encodes again and again',
      `{% assign a = big %}${'{% assign a = a | base64_encode %}'.repeat(100)}{{ a | split: "" | size }}`,
      [TIME, MEMORY],
    ],
    ['prints a large value often', '{{ big }}'.repeat(1000), [TIME, MEMORY, LENGTH]],
    [
      'joins lists of lists',
      '{% assign a = "a,b,c,d,e,f,g,h" | split: "," %}{% for i in (1..25) %}{% assign a = a | concat: a %}{% endfor %}{{ a | size }}',
      [TIME, MEMORY],
    ],
    ['sorts millions', '{% assign r = (1..2400000) %}{{ r | sort | size }}', [TIME, MEMORY]],
    ['prints a list of lists', LIST_OF_LISTS, [TIME, MEMORY, LENGTH]],
    ['reverses a list in loops in loops', REVERSED_LOOPS, [TIME, MEMORY]],
    ['strips endless tags', '{% for i in (1..100) %}{{ tags | strip_html | size }}{% endfor %}', [TIME, MEMORY]],
    // Retried: on a busy machine a thread without CPU time may be killed for the time limit.
  ])('that %s fails alone and does not block the event loop', { retry: 2 }, async (_, bomb, reasons) => {
    const data = { big: 'x'.repeat(60_000), tags: '<script'.repeat(50_000) }
    await renderEmail({ subject: 'x', body: '{% if a %}{% endif %}' }, recipient()) // starts the thread
    const worked = startLoopClock()
    const started = performance.now()
    const [bombed, innocent] = await Promise.all([
      renderEmail({ subject: 'x', body: bomb }, recipient(data)),
      renderEmail({ subject: 'x', body: 'Hi {% if yes %}{{ name }}{% endif %}' }, recipient()),
    ])
    const active = worked()
    expect(bombed).toEqual({ ok: false, reason: expect.stringMatching(/./) })
    expect(reasons).toContain(!bombed.ok && bombed.reason)
    expect(innocent).toMatchObject({ ok: true, html: 'Hi Ada' })
    expect(active).toBeLessThan(100)
    expect(performance.now() - started).toBeLessThan(40_000)
  })

  test.each([
    ['5,000 variables', '{{ first name ?? "you" | upcase }} '.repeat(4_990)],
    ['5,000 tags', '{% if name %}{% endif %}'.repeat(2_495)],
    ['half a megabyte of expressions', `{{ a | append: b, "${'x'.repeat(70)}" }}`.repeat(4_990)],
    ['two megabytes of text', 'x'.repeat(2_000_000)],
    ['two megabytes of text and a tag', `${'x'.repeat(1_999_990)}{{ name }}`],
  ])('does not block the event loop during its check, with %s', { retry: 2 }, async (_, body) => {
    const worked = startLoopClock()
    expect(await checkTemplate({ subject: 'x', body })).toEqual([])
    expect(worked()).toBeLessThan(100)
  })

  test('is stopped inside a regular expression', async () => {
    const linear = await render('{{ tags | strip_html | size }}', { tags: '<script'.repeat(50_000) })
    expect(linear).toMatch(/^\d+$|took longer/)
  })

  test('fails for one recipient of a batch and renders for the others', async () => {
    const body = '{% for i in (1..count) %}{% for j in (1..count) %}{% for k in (1..count) %}{% endfor %}{% endfor %}{% endfor %}{{ name }}'
    const recipients = Array.from({ length: 60 }, (_, n) => recipient({ name: `n${n}`, count: n % 25 === 13 ? 2_000 : 1 }))
    const results = await renderEmails({ subject: '{{ name }}', body }, recipients)
    expect(results).toHaveLength(60)
    results.forEach((result, n) => {
      if (n % 25 === 13) expect(result).toMatchObject({ ok: false })
      else expect(result).toEqual({ ok: true, subject: `n${n}`, html: `n${n}`, previewText: '' })
    })
  })

  test('is killed if the engine does not stop it, and the batch is rendered again without it', async () => {
    const body = '{% if evil %}{% assign r = (1..300000) %}{{ r | where_exp: "i", "i | times: 3 | modulo: 7" | size }}{% endif %}{{ name }}'
    const recipients = ['a', 'evil', 'b', 'evil', 'c'].map((name) => recipient({ name, evil: name === 'evil' }))
    const results = await renderEmails({ subject: 'x', body }, recipients)
    expect(results.map((result) => (result.ok ? result.html : 'failed'))).toEqual(['a', 'failed', 'b', 'failed', 'c'])
  })

  test('does not block other templates', async () => {
    const bomb = { subject: 'x', body: '{% for i in (1..4000) %}{% for j in (1..4000) %}{% endfor %}{% endfor %}' }
    const bombs = Array.from({ length: 6 }, () => renderEmail(bomb, recipient()))
    expect(await render('{% if yes %}{{ name }}{% endif %}')).toBe('Ada')
    expect((await Promise.all(bombs)).map(({ ok }) => ok)).toEqual(Array(6).fill(false))
  })
})
