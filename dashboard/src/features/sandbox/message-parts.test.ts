import { expect, test } from 'vitest'
import { formatBytes } from '../../ui/text/format-bytes.ts'
import { bytesOf, CLIPPED_AT, findProblems, linksOf } from './message-parts.ts'

/** As much of a document as links need; the browser journey parses a real one. */
const documentOf = (anchors: [href: string, text: string][]) => () =>
  ({
    querySelectorAll: () => anchors.map(([href, textContent]) => ({ getAttribute: () => href, textContent })),
  }) as unknown as Document

test('links are listed in their order, each address once', () => {
  const parse = documentOf([
    ['https://example.com/a', ' First \n link '],
    ['https://example.com/a', 'again'],
    ['https://example.com/b', ''],
    [' ', 'nowhere'],
  ])
  expect(linksOf('', parse)).toEqual([
    { label: 'First link', url: 'https://example.com/a' },
    { label: 'An image or empty link', url: 'https://example.com/b' },
  ])
})

test('at most two hundred links are listed', () => {
  const parse = documentOf(Array.from({ length: 300 }, (_, index) => [`https://example.com/${index}`, 'x']))
  expect(linksOf('', parse)).toHaveLength(200)
})

const headers = [{ name: 'Subject' }]

test.each([
  [`<p>${'x'.repeat(CLIPPED_AT)}</p>`, 'x', /102 KB/],
  ['<p>x</p>', '  ', /no text part/],
  ['<img src="https://example.com/a.png">', 'x', /alternative text/],
  ['<img alt="" src="http://example.com/a.png">', 'x', /without encryption/],
  ['<p>Dear {{name}}</p>', 'x', /not replaced/],
])('a problem of %#', (html, text, problem) => {
  expect(findProblems({ html, text, headers })).toEqual([expect.stringMatching(problem)])
})

test('a sound message has no problem', () => {
  expect(findProblems({ html: '<p><img alt="" src="https://example.com/a.png"></p>', text: 'x', headers })).toEqual([])
  // Braces of a style sheet are not those of a variable.
  expect(findProblems({ html: '<style>@media print{p{color:red}}</style>', text: 'x', headers })).toEqual([])
  expect(findProblems({ html: '<p>x</p>', text: 'x', headers: [] })).toEqual(['It has no subject.'])
})

test('sizes are counted in bytes and shown rounded', () => {
  expect(bytesOf('é')).toBe(2)
  expect([640, 3_277, 104_448, 1_468_006].map(formatBytes)).toEqual(['640 B', '3.2 KB', '102 KB', '1.4 MB'])
})
