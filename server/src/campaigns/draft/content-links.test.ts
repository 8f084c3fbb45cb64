import { expect, test } from 'vitest'
import { addUnclicked } from './content-links.ts'

const clicked = (link: string) => ({ link, clicks: 2, people: 1 })
const zero = (link: string) => ({ link, clicks: 0, people: 0 })
const anchors = (...links: string[]) => links.map((link) => `<a href="${link}">x</a>`).join('')

test.each<[string, string[], string[]]>([
  [
    'links that nobody clicked, once each, in their order',
    ['https://a.example', 'http://b.example', 'https://a.example'],
    ['https://a.example', 'http://b.example'],
  ],
  ['entities decoded', ['https://a.example?x=1&amp;y=2'], ['https://a.example?x=1&y=2']],
  ['no other kinds of links', ['mailto:a@example.com', '#top', '/relative', 'javascript:x()', ''], []],
  ['no links of preferences', ['{{unsubscribeUrl}}', '{{- manageUrl }}', '{{ subscribeUrl }}'], []],
  [
    'links with variables as written',
    ['https://a.example/{{ id }}', '{{ shop }}/x', '{% if a %}https://b.example{% endif %}'],
    ['https://a.example/{{ id }}', '{{ shop }}/x', '{% if a %}https://b.example{% endif %}'],
  ],
  ['an unfinished tag literally', ['https://a.example/{{ id'], ['https://a.example/{{ id']],
])('the links of a content are %s', (_, hrefs, links) => {
  expect(addUnclicked([], anchors(...hrefs))).toEqual(links.map(zero))
})

test('clicked links come first, and are not repeated', () => {
  const list = [clicked('https://b.example'), clicked('https://gone.example')]
  expect(addUnclicked(list, anchors('https://a.example', 'https://b.example'))).toEqual([...list, zero('https://a.example')])
})

test.each([
  ['https://a.example/{{ id }}', 'https://a.example/7', true],
  ['https://a.example/{{ id }}/end', 'https://a.example/7/end', true],
  ['https://a.example/{{ id }}/end', 'https://a.example/7', false],
  ['https://a.example/{{ a }}/{{ b }}?c', 'https://a.example/1/2?c', true],
  ['https://a.example/{{ a }}x{{ b }}', 'https://a.example/12', false],
  ['https://a.example/aa{{ x }}aa', 'https://a.example/aaa', false],
  ['https://a.example/{{ x }}', 'https://b.example/7', false],
])('a link %s may be rendered as %s: %s', (written, rendered, may) => {
  const list = [clicked(rendered)]
  expect(addUnclicked(list, anchors(written))).toEqual(may ? list : [...list, zero(written)])
})
