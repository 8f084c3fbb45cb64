import { expect, test } from 'vitest'
import { readParts } from './compiled/compiled-html.ts'

const urls = {
  untracked: [],
  click: (position: number, target: string) => `t${position}:${target}`,
  trap: () => 'trap',
  pixel: () => 'pixel',
}
const track = (html: string) => readParts(html).withTracking(urls)

test('a link after the body is tracked, and nothing is repeated', () => {
  const tracked = track('<body><a href="https://a.example">a</a></body><a href="https://b.example">b</a>')
  expect(tracked).toMatch(
    /^<body><a href="t1:https:\/\/a\.example">a<\/a><a hidden href="trap"[^>]*><\/a><div style="[^"]*url\('pixel'\)[^"]*"><\/div><!--.*?--><\/body><a href="t2:https:\/\/b\.example">b<\/a>$/,
  )
})

test('HTML without links gets a pixel and no hidden link', () => {
  expect(track('<p>x</p>')).not.toContain('trap')
})

/** Tags outside of comments, as a spam filter sees them. */
const imagesIn = (html: string) => html.replace(/<!--.*?-->/gs, '').match(/<img/g)?.length ?? 0
const words = (count: number) => 'word '.repeat(count / 5)

test.each<[string, string, number]>([
  ['a short email', '<p>x</p>', 0],
  ['an email of 3,200 characters', `<p>${words(3_200)}</p>`, 0],
  ['a longer one', `<p>${words(3_210)}</p>`, 1],
  ['a short one with an image of its own', '<p>x <img src="a.png" alt="a"></p>', 2],
  ['a short one with long links', `<p>${'<a href="https://a.example/long">a</a> '.repeat(200)}</p>`, 0],
  ['a long preformatted one', `<pre>${words(3_210)}</pre>`, 1],
])('the pixel of %s makes it no email of an image and little text', (_, html, images) => {
  const tracked = track(html)
  expect(imagesIn(tracked)).toBe(images)
  expect(tracked.match(/pixel/g)).toHaveLength(images ? 1 : 2)
})

test('the pixel of a short email is a background, and an image for Outlook on Windows', () => {
  expect(track('<p>x</p>')).toBe(
    `<p>x</p><div style="background-image:url('pixel');width:1px;height:1px"></div><!--[if mso]><img src="pixel" width="1" height="1" alt=""><![endif]-->`,
  )
})

test('links after the first thousand are left as they are', () => {
  const tracked = track('<a href="https://a.example">a</a>'.repeat(1_001))
  expect([tracked.match(/t\d+:/g)!.length, tracked.includes('t1001:'), tracked.match(/href="https/g)!.length]).toEqual([1_000, false, 1])
})
