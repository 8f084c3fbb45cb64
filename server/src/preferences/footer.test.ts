import fc from 'fast-check'
import { Parser } from 'htmlparser2'
import { expect, test } from 'vitest'
import { deriveSecrets } from '../lib/secrets.ts'
import { tokensOf, withFooter } from './footer.ts'
import { preferenceLinks } from './link.ts'

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
  `<td style="font-size:0"><div style="font-size:13px">${LINK}</div></td>`,
  `<td style="font-size:0px"><p style="font:13px Arial">${LINK}</p></td>`,
  `<td style="font-size:0"><p></p></td>${LINK}`,
  `<td style="font-size:0"><a href="${links.unsubscribeUrl}"><img src="leave.png" alt="Leave"></a></td>`,
  `<div style="opacity:0.9;font-size:0.8em;max-height:0">${LINK}</div>`,
  `<div style="line-height:0;overflow:hidden">${LINK}</div>`,
  `<p style="font-family:&quot;display&quot;">${LINK}</p>`,
])('adds no footer when a link is visible: %s', (html) => {
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
  `<div style="display&#58;none">${LINK}</div>`,
  `<div style="&#x64;isplay&colon; none">${LINK}</div>`,
  `<div style="opacity:0">${LINK}</div>`,
  `<div style="color:red;opacity: 0.0 !important"><p>${LINK}</p></div>`,
  `<td style="font-size:0">${LINK}</td>`,
  `<td style="font-size:0px;color:red"><td></td><b style="font-size:2em">${LINK}</b></td>`,
  `<a style="font-size:0" href="${links.unsubscribeUrl}">Leave</a>`,
  `<div style="max-height:0;overflow:hidden">${LINK}</div>`,
  `<div style="overflow:hidden;max-height:0px">${LINK}</div>`,
  `<a href="${links.unsubscribeUrl}"></a>`,
  `<a href="${links.unsubscribeUrl}"> &nbsp;\u200b</a>`,
  `<a href="x" href="${links.unsubscribeUrl}">Leave</a>`,
  `<p title="${links.unsubscribeUrl}">News</p>`,
  `<img src="${links.unsubscribeUrl}">`,
  `<p title='<a href="${links.unsubscribeUrl}">'>News</p>`,
  `<a href="${links.subscribeUrl}">Join</a>`,
])('adds a footer when the link is not visible: %s', (html) => {
  expect(add(html)).toBe(html + FOOTER)
})

test.each([
  ['comment', 'News', '<!-- unclosed </body>'],
  ['comment that looks closed', 'News', '<!-- a -- > </body>'],
  ['comment after the body', '<body>News', '</body></html><!-- more'],
  ['style', '<p>News</p>', '<style>p{}</body>'],
  ['script', '<p>News</p>', '<SCRIPT>"</body>"'],
  ['title', '', '<title>News <p>News</p></body>'],
  ['textarea', 'News', '<textarea></body></html>'],
  ['template', 'News', '<template><template></template></body>'],
  ['noscript', 'News', '<noscript><p>x</p></body>'],
  ['select', 'News', '<select><option>a</body>'],
  ['plain text', 'News', '<plaintext></plaintext'],
  ['hidden element', 'News', '<div style="display:none">more<div></div></body>'],
  ['tag', 'News', '<a class="x" href='],
  ['attribute in quotes', 'News', '<a href="x>more</a></body>'],
  ['attribute in single quotes', 'News', "<img alt='x></body>"],
  ['end tag', 'News', '</div class="x></body>'],
  ['declaration', 'News', '<!doctype html'],
])('an unclosed %s does not hide the footer', (_, before, after) => {
  expect(add(before + after)).toBe(before + FOOTER + after)
})

test.each([
  ['<body>News', '</body></html>'],
  ['<body>News<!-- </body> -->', '</BODY></html><!-- </body> -->'],
  ['<body>a</body>b', '</body>'],
  ['<body><p title="</body>">News</p>', '</body >'],
  ['<body>1 < 2 <3 </ 4> ', '</body>'],
  ['News', ''],
])('the footer is inserted before the end of the body, or at the end: %s', (before, after) => {
  expect(add(before + after)).toBe(before + FOOTER + after)
})

test('another parser finds the link of the footer after any unclosed markup', () => {
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

const MANY_TAGS = '<b>x</b>'.repeat(15_000)

test.each([
  ['<body>', '</body></html>'],
  ['<body>', '</BODY ><!-- </body> -->'],
  ['', ''],
  ['', '<!-- </body>'],
  ['', '<style></body>'],
])('above the tag limit the footer is still inserted at the end of the body: %s%s', (before, after) => {
  expect(add(before + MANY_TAGS + after)).toBe(before + MANY_TAGS + FOOTER + after)
})

test('above the tag limit a visible link is enough, and one in a comment is not', () => {
  const shown = `${MANY_TAGS}<p>${LINK}</p></body>`
  expect(add(shown)).toBe(shown)
  for (const hidden of [`<!-- ${LINK} -->`, `<style>${LINK}</style>`, `<a href="${links.unsubscribeUrl}"></a>`])
    expect(add(`${MANY_TAGS}${hidden}</body>`)).toBe(`${MANY_TAGS}${hidden}${FOOTER}</body>`)
})

test('the HTML is parsed once, up to a limited number of tags', () => {
  const tags = '<b>x</b>'.repeat(20_000)
  expect(add(tags)).toHaveLength(tags.length + FOOTER.length)
  for (const nasty of ['<b style="opacity:0', '0', ';', '&#', 'x><!--', 'x><a x>'])
    expect(add(`${tags}<p style="opacity:${nasty.repeat(100_000)}`)).toContain(FOOTER)
  for (const nasty of ['<', '<!-', '<a ', '<a b="', '</', '<style>', '<div hidden>', '<a b = ', '<!-- -', '<![', '\t/\t/'])
    expect(add(`<p ${nasty.repeat(200_000)}`)).toContain(FOOTER)
})

test('links that are computed on first use are looked for once something has asked for them, also in a copy', () => {
  const newLinks = () => preferenceLinks(deriveSecrets('a master key of more than 32 characters'), 'https://mail.example', OWNER)
  const lazy = newLinks()
  const recipient = Object.assign(lazy, { email: 'ada@example.com' })
  expect(tokensOf(recipient)).toEqual([])
  const manage = `<a href="${recipient.manageUrl}">Choose</a>`
  expect(tokensOf(recipient)).toEqual([recipient.manageUrl.split('/').at(-1)])
  const show = (html: string, own: typeof lazy) => withFooter({ type: 'MARKETING', html, links: own, language: 'en', sender: 'Test' })
  expect(show(manage, recipient)).toBe(manage)
  expect(show('<p>Hi</p>', newLinks())).toContain(newLinks().unsubscribeUrl)
  expect(tokensOf({ ...newLinks() })).toHaveLength(2)
})

const OWNER = { projectId: '01890000-0000-7000-8000-000000000001', contactId: '01890000-0000-7000-8000-000000000002' }
