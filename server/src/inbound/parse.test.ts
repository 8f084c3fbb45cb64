import { afterAll, describe, expect, test } from 'vitest'
import { createParser } from './parse.ts'

/** With its thread: the decoder is installed for a whole thread. */
const parser = createParser()
afterAll(() => parser.close())

/** Each character of the text is one byte of the message. */
const bytesOf = (text: string) => Buffer.from(text.replace(/\r?\n/g, '\r\n'), 'latin1')
const utf8 = (text: string) => Buffer.from(text).toString('latin1')
const read = (text: string) => parser.parse('owner', bytesOf(text))

const message = (type: string, body: string, encoding = '8bit') =>
  `Subject: x\nMIME-Version: 1.0\nContent-Type: ${type}\nContent-Transfer-Encoding: ${encoding}\n\n${body}\n`

describe('the text of a message', () => {
  test.each([
    ['windows-1252', 'text/plain; charset=windows-1252', 'Preis 5 \x80 \x93ok\x94 \x96 \xfc', 'Preis 5 € “ok” – ü'],
    ['iso-8859-1, as the standard says', 'text/plain; charset="ISO-8859-1"', '\x80 \xfc', '€ ü'],
    ['latin1', 'text/plain; charset=latin1', '\x92', '’'],
    ['an unknown charset', 'text/plain; charset=made-up', '\x80', '€'],
    ['utf-8', 'text/plain; charset=utf-8', utf8('€ ü 🦜'), '€ ü 🦜'],
    ['utf-8 with a wrong byte', 'text/plain; charset=utf-8', `${utf8('ü')}\xfc`, 'ü\ufffd'],
    ['koi8-r', 'text/plain; charset=koi8-r', '\xf0\xd2', 'Пр'],
    ['no charset and valid UTF-8', 'text/plain', utf8('€ ü'), '€ ü'],
    ['no charset and invalid UTF-8', 'text/plain', 'Gr\xfc\xdfe, 5 \x80', 'Grüße, 5 €'],
    ['us-ascii with bytes of UTF-8', 'text/plain; charset=us-ascii', utf8('ü'), 'ü'],
    ['us-ascii with other bytes', 'text/plain; charset=us-ascii', '\xfc \x80', 'ü €'],
    ['windows-1252 in HTML', 'text/html; charset=cp1252', '<p>\x80</p>', '<p>€</p>'],
  ])('in %s is decoded correctly', async (_, type, body, expected) => {
    const { text, html } = await read(message(type, body))
    expect((html ?? text)!.trim()).toBe(expected)
  })

  test('in windows-1252 is decoded correctly from quoted-printable and base64', async () => {
    const type = 'text/plain; charset=windows-1252'
    expect((await read(message(type, '5 =80 =93ok=94', 'quoted-printable'))).text!.trim()).toBe('5 € “ok”')
    expect((await read(message(type, Buffer.from('5 \x80', 'latin1').toString('base64'), 'base64'))).text!.trim()).toBe('5 €')
  })
})

describe('the headers of a message', () => {
  test.each([
    ['encoded words in windows-1252', '=?windows-1252?Q?5_=80_=93ok=94?=', '5 € “ok”'],
    ['encoded words in iso-8859-1', '=?iso-8859-1?B?gCD8?=', '€ ü'],
    ['bytes of UTF-8', utf8('5 € für dich'), '5 € für dich'],
    ['bytes of no named charset', '5 \x80 f\xfcr dich', '5 € für dich'],
  ])('with %s are decoded correctly', async (_, subject, expected) => {
    const parsed = await read(`Subject: ${subject}\nFrom: ${subject} <a@example.com>\nX-Own: ${subject}\n\nx\n`)
    expect([parsed.subject, parsed.from?.name, parsed.headers['x-own']]).toEqual([expected, expected, expected])
  })

  test('with a file name in windows-1252 are decoded correctly', async () => {
    const part = `Content-Type: application/pdf\nContent-Disposition: attachment; filename*=windows-1252''5%20%80.pdf\n\nx`
    const { attachments } = await read(`Content-Type: multipart/mixed; boundary=b\n\n--b\n${part}\n--b--\n`)
    expect(attachments[0]!.filename).toBe('5 €.pdf')
  })
})

describe('the fingerprint of a message', () => {
  const original = 'From: a@example.com\nSubject: one\nDate: Mon, 16 Nov 2026 10:00:00 +0000\nMessage-ID: <1@example.com>\n\nHello\n'
  const fingerprintOf = async (text: string) => (await read(text)).fingerprint

  test('is the same when a relay adds a header', async () => {
    expect(await fingerprintOf(`Received: by mx.example\nX-Spam: no\n${original}`)).toBe(await fingerprintOf(original))
  })

  test.each([
    ['body', 'Hello', 'Hallo'],
    ['subject', 'Subject: one', 'Subject: two'],
    ['sender', 'From: a@', 'From: b@'],
    ['date', '10:00', '10:01'],
  ])('differs with the %s', async (_, from, to) => {
    expect(await fingerprintOf(original.replace(from, to))).not.toBe(await fingerprintOf(original))
  })
})
