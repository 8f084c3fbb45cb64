import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bytesOf, compose } from './compose.ts'
import { anyMessage } from './message.arbitrary.ts'
import { readMessage } from './raw/read-message.ts'

const lines = (text: string) => text.toWellFormed().replace(/\r\n|\r/g, '\n')
/** Differences that an encoder may make in a body: line breaks, and characters that no message can contain. */
const comparable = (text: string | null) => lines(text ?? '').replace(/[^\P{Cc}\n\t]|\ufeff/gu, '')

test('a message is read back as it was composed', () => {
  fc.assert(
    fc.property(anyMessage, (fields) => {
      const read = readMessage(bytesOf(compose(fields)))
      expect([comparable(read.html), comparable(read.text)]).toEqual([comparable(fields.html), comparable(fields.text)])
      expect(read.attachments.map(({ bytes, inline }) => [bytes, inline]).sort()).toEqual(
        fields.attachments.map(({ content, inline }) => [content.length, inline]).sort(),
      )
    }),
    { numRuns: 200 },
  )
})

test('headers and file names are decoded', () => {
  const message = bytesOf(
    compose({
      id: '0199a000-0000-7000-8000-000000000000',
      messageId: 'a@example.com',
      date: new Date(0),
      from: { name: 'Zoë', address: 'zoe@example.com' },
      to: { address: 'ada@example.com' },
      replyTo: null,
      subject: `Grüße ${'ü'.repeat(60)} 🦜`,
      html: '<p>€</p>',
      text: '€',
      headers: {},
      attachments: [
        { filename: 'Übersicht "1".pdf', contentType: 'application/pdf', contentId: null, inline: false, content: Buffer.from('abcd') },
        { filename: 'plain.txt', contentType: 'text/plain', contentId: null, inline: false, content: Buffer.from('not the text part') },
      ],
    }),
  )
  const { headers, attachments, text } = readMessage(message)
  expect(headers.find(({ name }) => name === 'Subject')?.value).toBe(`Grüße ${'ü'.repeat(60)} 🦜`)
  expect(attachments.map(({ filename, contentType, bytes }) => [filename, contentType, bytes])).toEqual([
    [expect.stringMatching(/^Übersicht .1.\.pdf$/), 'application/pdf', 4],
    ['plain.txt', 'text/plain', 17],
  ])
  expect(text).toBe('€')
})

test('bytes that are no message have no parts', () => {
  for (const bytes of ['', 'x', 'Content-Type: multipart/mixed; boundary="a"\r\n\r\n--a\r\n', 'A: b\r\n\r\n'])
    expect(readMessage(Buffer.from(bytes))).toMatchObject({ html: null, attachments: [] })
})
