import { expect, test } from 'vitest'
import { createRenderedSizes } from './rendered-sizes.ts'

const MB = 1024 * 1024
const LOOP = '{% for i in (1..1200) %}<p>Hi</p>{% endfor %}'
const contentOf = (id: string, body: string, file = 0) => ({ id, body, raw: null, attachments: file ? [fileOf(file)] : [] })
const fileOf = (size: number) => ({ filename: 'a', contentType: 'text/plain', contentId: null, inline: false, content: Buffer.alloc(size) })
const rendered = (size: number) => ({ ok: true, html: 'x'.repeat(size) }) as const

test('emails of an ordinary content are rendered all together', () => {
  expect(createRenderedSizes().countTogether(contentOf('a', '<p>Hi {{name}}</p>'))).toBe(Number.POSITIVE_INFINITY)
})

test('a template that may become large is rendered for one recipient first, then for as many as fit into two megabytes', () => {
  const sizes = createRenderedSizes()
  const content = contentOf('a', LOOP)
  expect(sizes.countTogether(content)).toBe(1)
  sizes.note(content, [rendered(1_000)])
  expect(sizes.countTogether(content)).toBeGreaterThan(1_000)
  sizes.note(content, [rendered(1_000), rendered(MB / 2), { ok: false }])
  expect(sizes.countTogether(content)).toBe(4)
  sizes.note(content, [rendered(5 * MB)])
  expect(sizes.countTogether(content)).toBe(1)
})

test('each email of a content with files contains them', () => {
  const sizes = createRenderedSizes()
  expect(sizes.countTogether(contentOf('a', 'Hi', MB / 2))).toBe(4)
  expect(sizes.countTogether(contentOf('a', 'Hi', 10 * MB))).toBe(1)
})

test('the number of remembered contents is bounded', () => {
  const sizes = createRenderedSizes()
  for (let n = 0; n <= 1_000; n++) sizes.note({ id: `content ${n}` }, [rendered(1)])
  expect(sizes.countTogether(contentOf('content 0', LOOP))).toBe(1)
  expect(sizes.countTogether(contentOf('content 1000', LOOP))).toBe(2 * MB)
})
