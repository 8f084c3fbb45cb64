import { expect, test } from 'vitest'
import { readParts } from './compiled-html.ts'

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
    /^<body><a href="t1:https:\/\/a\.example">a<\/a><a href="trap"[^>]*><\/a><img src="pixel"[^>]*><\/body><a href="t2:https:\/\/b\.example">b<\/a>$/,
  )
})

test('HTML without links gets a pixel and no hidden link', () => {
  expect(track('<p>x</p>')).toMatch(/^<p>x<\/p><img src="pixel"[^>]*>$/)
})

test('links after the first thousand are left as they are', () => {
  const tracked = track('<a href="https://a.example">a</a>'.repeat(1_001))
  expect([tracked.match(/t\d+:/g)!.length, tracked.includes('t1001:'), tracked.match(/href="https/g)!.length]).toEqual([1_000, false, 1])
})
