import fc from 'fast-check'
import { Parser } from 'htmlparser2'
import { expect, test } from 'vitest'
import { withFooter } from './footer.ts'

const links = {
  unsubscribeUrl: 'https://mail.example/unsubscribe/TOKEN',
  subscribeUrl: 'https://mail.example/subscribe/OTHER',
  manageUrl: 'https://mail.example/manage/CHOICES',
}
const add = (html: string) => withFooter({ type: 'MARKETING', html, links, language: 'en', sender: 'Test' })
const FOOTER = add('')
const LINK = `<a href="${links.unsubscribeUrl}">Leave</a>`

test.each([
  LINK,
  `<A HREF='${links.manageUrl}'>Choose</A>`,
  `<a href=${links.unsubscribeUrl}>Leave</a>`,
  `<a class="a > b" href="https://example.com/?to=https%3A%2F%2Fmail.example%2Funsubscribe%2FTOKEN"><b>Leave</b></a>`,
  `<a href="${links.unsubscribeUrl}"><img src="leave.png" alt="Leave"></a>`,
  `<map><area href="${links.unsubscribeUrl}"></map>`,
  `<p>To leave: ${links.unsubscribeUrl}</p>`,
  `<div style="display:none">Preview</div><!--[if mso]><p><![endif]-->${LINK}`,
  `<!--[if !mso]><!-->${LINK}<!--<![endif]-->`,
  `<div hidden>a<div>b</div></div>${LINK}`,
  `<svg/>${LINK}`,
  `<!-->${LINK}`,
  `<td style="font-size:0">${LINK}</td>`,
])('a link that a reader can see is enough: %s', (html) => {
  expect(add(html)).toBe(html)
})

test.each([
  `<!-- ${LINK} -->`,
  `<style>a::after{content:"${links.unsubscribeUrl}"}</style>`,
  `<script>open("${links.unsubscribeUrl}")</script>`,
  `<title>${links.unsubscribeUrl}</title>`,
  `<textarea>${LINK}</textarea>`,
  `<template>${LINK}</template>`,
  `<template><template></template>${LINK}</template>`,
  `<noscript>${LINK}</noscript>`,
  `<svg><desc>${LINK}</desc></svg>`,
  `<video>${LINK}</video>`,
  `<div hidden>${LINK}</div>`,
  `<div style="color:red; Display : NONE">${LINK}</div>`,
  `<div style="visibility:hidden"><div></div>${LINK}</div>`,
  `<a href="${links.unsubscribeUrl}"></a>`,
  `<a href="${links.unsubscribeUrl}"> &nbsp;\u200b</a>`,
  `<a href="x" href="${links.unsubscribeUrl}">Leave</a>`,
  `<p title="${links.unsubscribeUrl}">News</p>`,
  `<img src="${links.unsubscribeUrl}">`,
  `<p title='<a href="${links.unsubscribeUrl}">'>News</p>`,
  `<a href="${links.subscribeUrl}">Join</a>`,
])('a link that no reader can see is not: %s', (html) => {
  expect(add(html)).toBe(html + FOOTER)
})

test.each([
  ['a comment', 'News', '<!-- unclosed </body>'],
  ['a comment that looks closed', 'News', '<!-- a -- > </body>'],
  ['a comment after the body', '<body>News', '</body></html><!-- more'],
  ['a style', '<p>News</p>', '<style>p{}</body>'],
  ['a script', '<p>News</p>', '<SCRIPT>"</body>"'],
  ['a title', '', '<title>News <p>News</p></body>'],
  ['a textarea', 'News', '<textarea></body></html>'],
  ['a template', 'News', '<template><template></template></body>'],
  ['a noscript', 'News', '<noscript><p>x</p></body>'],
  ['a select', 'News', '<select><option>a</body>'],
  ['plain text', 'News', '<plaintext></plaintext'],
  ['a hidden element', 'News', '<div style="display:none">more<div></div></body>'],
  ['a tag', 'News', '<a class="x" href='],
  ['an attribute in quotes', 'News', '<a href="x>more</a></body>'],
  ['an attribute in single quotes', 'News', "<img alt='x></body>"],
  ['an end tag', 'News', '</div class="x></body>'],
  ['a declaration', 'News', '<!doctype html'],
])('%s that does not end does not hide the footer', (_, before, after) => {
  expect(add(before + after)).toBe(before + FOOTER + after)
})

test.each([
  ['<body>News', '</body></html>'],
  ['<body>News<!-- </body> -->', '</BODY></html><!-- </body> -->'],
  ['<body>a</body>b', '</body>'],
  ['<body><p title="</body>">News</p>', '</body >'],
  ['<body>1 < 2 <3 </ 4> ', '</body>'],
  ['News', ''],
])('the footer stands before the end of the body, or at the end: %s', (before, after) => {
  expect(add(before + after)).toBe(before + FOOTER + after)
})

test('another parser finds the footer as a link, whatever was left open before it', () => {
  const piece = fc.constantFrom(
    ...['<!--', '-->', '<!', '<', '>', '"', "'", '</', '<a href="', '<a href=x>', '<p>', '</p>', '<div title=', ' ', 'x', '=', '</body>'],
    ...['<style>', '</style>', '<script>', '</script>', '<textarea>', '</textarea>', '<title>', '</title>', '<!-- x -->'],
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      const found: string[] = []
      const parser = new Parser({ onopentag: (name, { href }) => void (name === 'a' && href && found.push(href)) })
      parser.end(add(pieces.join('')))
      expect(found).toContain(links.unsubscribeUrl)
    }),
    { numRuns: 1_000 },
  )
})

test('the HTML is read once, up to a bounded number of tags', () => {
  const tags = '<b>x</b>'.repeat(20_000)
  expect(add(tags)).toHaveLength(tags.length + FOOTER.length)
  for (const nasty of ['<', '<!-', '<a ', '<a b="', '</', '<style>', '<div hidden>', '<a b = ', '<!-- -', '<![', '\t/\t/'])
    expect(add(`<p ${nasty.repeat(200_000)}`)).toContain(FOOTER)
})
