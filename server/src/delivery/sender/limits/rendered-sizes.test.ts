import { expect, test } from 'vitest'
import { createRenderedSizes } from './rendered-sizes.ts'

const MB = 1024 * 1024
const LOOP = '{% for i in (1..1200) %}<p>Hi</p>{% endfor %}'
const rendered = (size: number) => ({ ok: true, html: 'x'.repeat(size) }) as const

test('emails of an ordinary content are rendered all together', () => {
  expect(createRenderedSizes().countTogether({ id: 'a', body: '<p>Hi {{name}}</p>' })).toBe(Number.POSITIVE_INFINITY)
})

test('a template that may become large is rendered for one recipient first, then for as many as fit into two megabytes', () => {
  const sizes = createRenderedSizes()
  const content = { id: 'a', body: LOOP }
  expect(sizes.countTogether(content)).toBe(1)
  sizes.note(content, [rendered(1_000)])
  expect(sizes.countTogether(content)).toBeGreaterThan(1_000)
  sizes.note(content, [rendered(1_000), rendered(MB / 2), { ok: false }])
  expect(sizes.countTogether(content)).toBe(4)
  sizes.note(content, [rendered(5 * MB)])
  expect(sizes.countTogether(content)).toBe(1)
})

test('the number of remembered contents is bounded', () => {
  const sizes = createRenderedSizes()
  for (let n = 0; n <= 1_000; n++) sizes.note({ id: `content ${n}`, body: LOOP }, [rendered(1)])
  expect(sizes.countTogether({ id: 'content 0', body: LOOP })).toBe(1)
  expect(sizes.countTogether({ id: 'content 1000', body: LOOP })).toBe(2 * MB)
})
