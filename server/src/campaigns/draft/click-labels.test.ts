import { expect, test } from 'vitest'
import { drawClicks } from './click-labels.ts'

const A = 'https://a.example/?x=1&y="2"'
const LINKS = [
  { link: A, clicks: 1_500, people: 1_200 },
  { link: 'https://b.example', clicks: 60, people: 50 },
  { link: 'https://c.example', clicks: 0, people: 0 },
  { link: 'https://d.example/7', clicks: 3, people: 3 },
]

/** As it is written; the links have no variables unless a test says otherwise. */
function draw(html: string, body = html) {
  const drawn = drawClicks(html, {
    links: LINKS,
    clickedCount: 1_600,
    body,
    untracked: ['https://mail.example/unsubscribe/'],
    peoplePath: (link) => `/people?${new URLSearchParams({ link })}`,
  })
  const labels = [...drawn.html.matchAll(/<sterna-label [^>]*>([^<]*)</g)].map(([, text]) => text)
  const titles = [...drawn.html.matchAll(/ title="([^"]*)"/g)].map(([, title]) => title)
  return { ...drawn, labels, titles }
}

const link = (target: string, content = 'x') => `<a href="${target.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}">${content}</a>`

test('each link has its people and their share, and opens its people in a new tab', () => {
  const { labels, titles, html, links } = draw(link(A) + link('https://b.example', '<img src="x.png">') + link('https://c.example'))
  expect([links, labels]).toEqual([3, ['1,200 · 75%', '50 · 3%', '0']])
  expect(titles).toEqual([
    '1,200 people clicked this link, 75% of all that clicked; 1,500 clicks. Opens these people in a new tab.',
    '50 people clicked this link, 3% of all that clicked; 60 clicks. Opens these people in a new tab.',
    'No clicks of this link.',
  ])
  const people = `/people?${new URLSearchParams({ link: A })}`
  expect(html).toContain(`<a href="${people.replaceAll('&', '&amp;')}" target="_blank" rel="noopener"`)
})

test('several places of a link share one figure, and say so', () => {
  const { labels, titles, links } = draw(link('https://b.example').repeat(3))
  expect([links, labels]).toEqual([1, ['50 · 3%', '50 · 3%', '50 · 3%']])
  expect(titles[0]).toContain('It is at 3 places, which share this figure.')
})

test('a link with variables has no figure and leads nowhere, even if somebody clicked just this one', () => {
  const body = link('https://d.example/{{ id }}') + link('https://b.example')
  const { labels, html } = draw(link('https://d.example/7') + link('https://b.example'), body)
  expect(labels).toEqual(['varies', '50 · 3%'])
  expect(html).not.toContain('d.example')
})

test('an email without links stays as it is', () => {
  const html = 'Plain text, <b>bold</b> <a href="https://mail.example/unsubscribe/x">leave</a>'
  expect(draw(html)).toMatchObject({ html, links: 0 })
})

test('neither links nor styles of a hostile email change a label', () => {
  const evil = 'https://e.example/"></a><script>alert(1)</script>'
  const drawn = drawClicks(`<a href='${evil}' onclick='x()' target='_top'>x</a>`, {
    links: [{ link: evil, clicks: 1, people: 1 }],
    clickedCount: 1,
    body: '',
    untracked: [],
    peoplePath: (target) => `/people?${new URLSearchParams({ link: target })}`,
  })
  expect(drawn.html).not.toMatch(/<script|onclick|_top/)
  expect(drawn.html).toMatch(
    /^<a href="\/people\?link=[^"<>]*" target="_blank" rel="noopener" title="[^"<>]*"><sterna-label style="[^"<>]*">1 · 100%<\/sterna-label>x<\/a>$/,
  )
  // An inline style that is important is stronger than any rule of the email.
  const style = /style="([^"]*)"/.exec(drawn.html)![1]!
  expect(style.split(';').every((each) => each.endsWith('!important'))).toBe(true)
})
