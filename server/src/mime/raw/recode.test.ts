import { isAscii } from 'node:buffer'
import fc from 'fast-check'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { changeBodyHtml } from './body-html.ts'
import { decodedBody } from './decode.ts'
import { anyMime } from './mime-tree.arbitrary.ts'
import { leavesOf, type MimePart, readMimeTree } from './parts.ts'
import { recodeTo7bit } from './recode.ts'

const message = anyMime('From: ada@shop.example\r\nSubject: Hi\r\n')

/** The message as another parser reads it. It adds line ends of its own to texts, which are no part of the comparison. */
async function parsed(bytes: Buffer) {
  const { text, html, attachments, subject } = await PostalMime.parse(bytes)
  const trimmed = (given: string | undefined) => given?.replace(/\s+/g, '')
  const files = attachments.map(({ mimeType, filename, content }) => [
    mimeType,
    filename,
    contentOf(mimeType, Buffer.from(content as ArrayBuffer)),
  ])
  return { text: trimmed(text), html: trimmed(html), files: files.filter(([type]) => type !== 'message/rfc822'), subject }
}

/** It reads lines of text as LF, unless they are encoded. */
const contentOf = (type: string, content: Buffer) =>
  type.startsWith('text/') ? content.toString('latin1').replaceAll('\r\n', '\n').trimEnd() : content.toString('hex')

const structureOf = ({ type, parts }: MimePart): unknown => [type, parts.map(structureOf)]
const bodiesOf = (bytes: Buffer) => leavesOf(readMimeTree(bytes)).map((part) => decodedBody(bytes, part).toString('latin1').trimEnd())

describe('a message for a server without 8BITMIME', () => {
  test('is ASCII and has the same parts with the same contents', async () => {
    await fc.assert(
      fc.asyncProperty(message, async (bytes) => {
        const recoded = recodeTo7bit(bytes)
        expect(isAscii(recoded)).toBe(true)
        expect(structureOf(readMimeTree(recoded))).toEqual(structureOf(readMimeTree(bytes)))
        expect(bodiesOf(recoded)).toEqual(bodiesOf(bytes))
        expect(await parsed(recoded)).toEqual(await parsed(bytes))
      }),
      { numRuns: 300 },
    )
  })

  test('stays as it is without text in 8 bits', () => {
    const bytes = Buffer.from('Content-Type: multipart/mixed; boundary=a\r\n\r\nx\r\n--a\r\n\r\n\r\n--a--\r\n')
    expect(recodeTo7bit(bytes).equals(bytes)).toBe(true)
  })

  test('cannot be made of a signed one', () => {
    const signed = 'Content-Type: multipart/signed; boundary=a\r\n\r\n--a\r\n\r\nGrüße\r\n--a--\r\n'
    expect(() => recodeTo7bit(Buffer.from(signed))).toThrow(/signed/)
  })
})

describe('the HTML of the body', () => {
  const change = (html: string) => html.replace('</p>', '!</p>')
  const part = (type: string, body: string, more = '') => `Content-Type: ${type}; charset=utf-8\r\n${more}\r\n${body}`
  const multipart = (kind: string, ...parts: string[]) =>
    `Content-Type: multipart/${kind}; boundary=${kind}\r\n\r\n${parts.map((each) => `--${kind}\r\n${each}\r\n`).join('')}--${kind}--\r\n`
  const HTML = part('text/html', '<p>Grüße</p>')
  const TEXT = part('text/plain', 'Grüße')

  test.each([
    ['of the whole message', HTML],
    ['of an alternative', multipart('alternative', TEXT, HTML)],
    [
      'beside attachments',
      multipart('mixed', multipart('alternative', TEXT, HTML), part('text/html', '<p>file</p>', 'Content-Disposition: attachment\r\n')),
    ],
    ['with images', multipart('alternative', TEXT, multipart('related', HTML, part('image/png', 'x')))],
  ])('%s is changed, and nothing else', async (_, source) => {
    const bytes = Buffer.from(source)
    const changed = changeBodyHtml(bytes, change)!
    const [before, after] = [await parsed(bytes), await parsed(changed)]
    expect(after).toEqual({ ...before, html: before.html?.replace('Grüße</p>', 'Grüße!</p>') })
  })

  test.each([
    ['an attachment', multipart('mixed', TEXT, part('text/html', '<p>x</p>'))],
    ['signed', multipart('signed', HTML, part('application/pgp-signature', 'x'))],
    ['encrypted', multipart('encrypted', part('application/pgp-encrypted', 'x'), HTML)],
    ['plain text', TEXT],
  ])('is left alone: %s', (_, source) => {
    expect(changeBodyHtml(Buffer.from(source), change)).toBeUndefined()
  })
})

test('lines that look like boundaries are bounded', () => {
  const bytes = Buffer.from(`Content-Type: multipart/mixed; boundary=a\r\n\r\n${'--b\r\n'.repeat(200_000)}`)
  expect(() => readMimeTree(bytes)).toThrow(/too many lines/)
})
