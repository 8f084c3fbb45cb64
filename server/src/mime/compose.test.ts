import fc from 'fast-check'
import PostalMime, { decodeWords } from 'postal-mime'
import { expect, test } from 'vitest'
import { type Attachment, compose, type MessageFields } from './compose.ts'
import { anyMessage, messageSource, plainMessage, structuredValue } from './message.arbitrary.ts'

const parse = (given: MessageFields) => PostalMime.parse(messageSource(compose(given)))

/** The parser counts the line break before a boundary to the text, and takes a mark of the byte order away. */
const textOf = (parsed: string | undefined) => (parsed ?? '\n').replace(/\n$/, '')

/** The promise about a text: its lines, whatever they ended with, without characters that do nothing but harm. */
const asSent = (text: string) =>
  text
    .toWellFormed()
    .replace(/\r\n?|\n/g, '\n')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that are removed
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, '')
    .replace(/^\ufeff+/, '')

const asLine = (text: string) =>
  text
    .toWellFormed()
    .replace(/[\r\n]+/g, ' ')
    .replaceAll('\ufeff', '')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that are removed
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, '')

const bytesOf = ({ content }: { content: ArrayBuffer | Uint8Array | string }) => Buffer.from(content as ArrayBuffer).toString('hex')

test('another parser reads exactly what was composed', async () => {
  await fc.assert(
    fc.asyncProperty(anyMessage, async (given) => {
      const parsed = await parse(given)
      expect(parsed.subject ?? '').toBe(asLine(given.subject))
      expect(parsed.from).toEqual({ name: asLine(given.from.name ?? '').trim(), address: given.from.address })
      expect(parsed.to).toEqual([{ name: asLine(given.to.name ?? '').trim(), address: given.to.address }])
      expect(parsed.replyTo?.map(({ address }) => address)).toEqual(given.replyTo ? [given.replyTo] : undefined)
      expect(parsed.messageId).toBe(`<${given.messageId}>`)
      expect(parsed.date).toBe(given.date.toISOString())
      expect(textOf(parsed.html)).toBe(asSent(given.html))
      expect(textOf(parsed.text)).toBe(asSent(given.text))
      for (const [name, value] of Object.entries(given.headers)) {
        const found = parsed.headers.filter(({ originalKey }) => originalKey === name)
        expect(found.map((each) => decodeWords(each.value))).toEqual([asLine(value)])
      }
      const files = [...given.attachments.filter(({ inline }) => inline), ...given.attachments.filter(({ inline }) => !inline)]
      expect(
        parsed.attachments.map(({ filename, mimeType, disposition, contentId, content }) => ({
          filename,
          mimeType,
          disposition,
          contentId,
          bytes: bytesOf({ content }),
        })),
      ).toEqual(
        files.map(({ filename, contentType, inline, contentId, content }) => ({
          filename: asLine(filename) || 'unnamed',
          mimeType: contentType.toLowerCase(),
          disposition: inline ? 'inline' : 'attachment',
          contentId: contentId ? `<${contentId}>` : undefined,
          bytes: bytesOf({ content }),
        })),
      )
    }),
    { numRuns: 400 },
  )
})

test('every message is acceptable to any server: ASCII, CRLF, no long line, no terminating dot', () => {
  fc.assert(
    fc.property(anyMessage, (given) => {
      const source = messageSource(compose(given))
      expect(source).toMatch(/^(?:[\x20-\x7e\t]|\r\n)*\r\n$/)
      for (const line of source.split('\r\n')) {
        if (line.length > 998) expect.fail(`a line of ${line.length}`)
        if (line.startsWith('.')) expect.fail('a line that begins with a dot')
        if (/^[ \t]+$/.test(line)) expect.fail('a line of white space only')
      }
    }),
    { numRuns: 400 },
  )
})

test('lines of encoded text have at most 76 characters', () => {
  fc.assert(
    fc.property(anyMessage, (given) => {
      const { head, body } = compose(given)
      for (const line of head.split('\r\n')) if (line.includes('=?UTF-8?B?')) expect(line.length).toBeLessThanOrEqual(76)
      for (const part of body.split('--=_')) {
        if (!/Content-Transfer-Encoding: (quoted-printable|base64)/.test(part)) continue
        for (const line of part.split('\r\n\r\n').slice(1).join('\r\n\r\n').split('\r\n')) if (line.length > 76) expect.fail(line)
      }
    }),
    { numRuns: 200 },
  )
})

const namesIn = (head: string) =>
  head
    .split(/\r\n(?![ \t])/)
    .filter(Boolean)
    .map((field) => field.slice(0, field.indexOf(':')))

test('no input adds a header, ends the header or adds a part', async () => {
  await fc.assert(
    fc.asyncProperty(anyMessage, async (given) => {
      const { head, body } = compose(given)
      const expected = ['From', 'To', 'Subject', 'Date', 'Message-ID', 'X-Sterna-Id', 'MIME-Version', 'Content-Type']
      if (given.replyTo) expected.push('Reply-To')
      expect(namesIn(head).sort()).toEqual([...expected, ...Object.keys(given.headers)].sort())
      expect(head).not.toContain('\r\n\r\n')
      const inline = given.attachments.filter((each) => each.inline).length
      const files = given.attachments.length - inline
      const boundaries = body.split('\r\n').filter((line) => line.startsWith(`--=_${given.id}`) && !line.endsWith('--'))
      expect(boundaries).toHaveLength(2 + (inline ? inline + 1 : 0) + (files ? files + 1 : 0))
    }),
    { numRuns: 200 },
  )
})

test('composing a message twice gives the same bytes', () => {
  fc.assert(
    fc.property(anyMessage, (given) => {
      expect(compose({ ...given, date: new Date(given.date) })).toEqual(compose(given))
    }),
    { numRuns: 50 },
  )
})

test('a body that looks like the end of a message, or like its parts, stays one body', async () => {
  const { id } = plainMessage
  const html = [
    `--=_${id}-a`,
    'Content-Type: text/html',
    '',
    '<b>evil</b>',
    `--=_${id}-a--`,
    '.',
    '',
    '\n.\r',
    'MAIL FROM:<x@example.com>',
  ].join('\n')
  const given = { ...plainMessage, html, text: `--=_${id}-a--\r\n.\r\nQUIT` }
  const parsed = await parse(given)
  expect(textOf(parsed.html)).toBe(asSent(html))
  expect(textOf(parsed.text)).toBe(`--=_${id}-a--\n.\nQUIT`)
  expect(messageSource(compose(given))).not.toMatch(/\r\n\./)
})

test('a subject with a line break in it stays one header', async () => {
  for (const subject of [
    'a\r\nBcc: x@example.com',
    'a\nBcc: x@example.com',
    'a\rBcc: x@example.com',
    'a\u2028Bcc: x',
    'a\u0085Bcc: x',
    'a\0b',
  ]) {
    const parsed = await parse({ ...plainMessage, subject })
    expect(parsed.subject).toBe(asLine(subject))
    expect(parsed.bcc).toBeUndefined()
  }
})

test('a name that looks like an address is a name', async () => {
  for (const name of [
    'Ada, Bob',
    'evil@example.com',
    '<evil@example.com>',
    'a" <evil@example.com>',
    '=?UTF-8?Q?evil?=',
    'Group: a;',
    'A (b)',
  ]) {
    const parsed = await parse({ ...plainMessage, to: { name, address: 'ada@example.com' } })
    expect(parsed.to).toEqual([{ name, address: 'ada@example.com' }])
  }
})

test('a custom header keeps its address and its link, whatever surrounds them', () => {
  const headers = {
    'Reply-To': 'Jörg Müller <joerg@example.com>, Ada <ada@example.com>',
    'List-Unsubscribe': `<https://example.com/${'x'.repeat(900)}>, <mailto:u@example.com?subject=?>`,
  }
  const { head } = compose({ ...plainMessage, replyTo: 'other@example.com', headers })
  expect(head).toContain('\r\nReply-To: =?UTF-8?B?SsO2cmcgTcO8bGxlcg==?= <joerg@example.com>, Ada\r\n <ada@example.com>\r\n')
  expect(head).toContain(`\r\nList-Unsubscribe: ${headers['List-Unsubscribe'].replace(', ', ',\r\n ')}\r\n`)
  expect(head).not.toContain('other@example.com')
})

test('a reserved header cannot be set', () => {
  const headers = { subject: 'x', FROM: 'x@example.com', to: 'x@example.com', 'content-TYPE': 'text/plain', 'X-Sterna-ID': 'x' }
  expect(compose({ ...plainMessage, headers })).toEqual(compose(plainMessage))
})

test('a line break in a header value is refused, not sent', () => {
  const file: Attachment = { filename: 'a', contentType: 'image/png', contentId: 'a', inline: true, content: Buffer.from('a') }
  expect(() => compose({ ...plainMessage, headers: { 'X-A: b\r\nBcc': 'x@example.com' } })).toThrow()
  expect(() => compose({ ...plainMessage, to: { address: 'a@example.com>\r\nBcc: <x@example.com' } })).toThrow()
  expect(() => compose({ ...plainMessage, replyTo: 'a@example.com\nBcc: x@example.com' })).toThrow()
  expect(() => compose({ ...plainMessage, attachments: [{ ...file, contentId: 'a>\r\nX: <b' }] })).toThrow()
  expect(() => compose({ ...plainMessage, attachments: [{ ...file, contentType: 'image/png\r\nX: y' }] })).toThrow()
})

test('an attached message stays a file and does not become part of this one', async () => {
  const content = Buffer.from('Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nhello\r\n--x--\r\n')
  for (const contentType of ['message/rfc822', 'multipart/mixed', 'Message/Partial']) {
    const { attachments } = await parse({
      ...plainMessage,
      attachments: [{ filename: 'a.eml', contentType, contentId: null, inline: false, content }],
    })
    expect(attachments).toMatchObject([{ filename: 'a.eml', mimeType: 'application/octet-stream' }])
    expect(bytesOf(attachments[0]!)).toBe(content.toString('hex'))
  }
})

test('a non-ASCII address is written unchanged, for servers with SMTPUTF8, and nothing else is', async () => {
  const given = { ...plainMessage, to: { name: 'Jürgen', address: 'jürgen@xn--mller-kva.example' }, html: 'ü', subject: 'ü' }
  const { head, body } = compose(given)
  expect(head.replace('jürgen@', '') + body).toMatch(/^[\x20-\x7e\t\r\n]+$/)
  expect((await parse(given)).to).toEqual([given.to])
})

const structured = (name: string, value: string) =>
  /\r\nX-Sterna-Id: [^\r]*\r\n(.*?)MIME-Version/s
    .exec(compose({ ...plainMessage, headers: { [name]: value } }).head)![1]!
    .replace(/\r\n(?= )|\r\n$/g, '')

test.each([
  ['Reply-To', '"Foo  Bar" <foo@example.com>', '"Foo Bar" <foo@example.com>'],
  ['Reply-To', '\tAda <ada@example.com>,\t  Bob <bob@example.com> ', 'Ada <ada@example.com>, Bob <bob@example.com>'],
  ['Reply-To', '"Müller,  Jörg" <j@example.com>', '=?UTF-8?B?TcO8bGxlciwgSsO2cmc=?= <j@example.com>'],
  ['reply-to', 'Jörg  <j@example.com>, Ada <ada@example.com>', '=?UTF-8?B?SsO2cmc=?= <j@example.com>, Ada <ada@example.com>'],
  ['Reply-To', 'Jörg <jörg@example.com>', '=?UTF-8?B?SsO2cmc=?= <jörg@example.com>'],
  ['List-Unsubscribe', '<https://example.com/a>,  <mailto:u@example.com>', '<https://example.com/a>, <mailto:u@example.com>'],
  ['List-Unsubscribe', '<https://example.com/?q=ü ü>', '<https://example.com/?q=%C3%BC%20%C3%BC>'],
  ['List-Id', 'News\tof  Ünal <news.example.com>', 'News of =?UTF-8?B?w5xuYWw=?= <news.example.com>'],
  ['References', '<a@example.com>  <b@example.com>\t<c@example.com>', '<a@example.com> <b@example.com> <c@example.com>'],
  ['In-Reply-To', '  <=?a?=@example.com>', '<=?a?=@example.com>'],
])('a structured header keeps its structure: %s: %j leaves as %j', (name, given, expected) => {
  expect(structured(name, given)).toBe(`${name}: ${expected}`)
})

test('the longest URI in a structured header is not split, and has a line of its own', () => {
  const value = `<https://example.com/${'x'.repeat(997 - 22)}>`
  expect(compose({ ...plainMessage, headers: { 'List-Unsubscribe': value } }).head).toContain(`\r\nList-Unsubscribe:\r\n ${value}\r\n`)
})

test('no value of a structured header makes a line that is too long or adds a header', () => {
  const name = fc.constantFrom('Reply-To', 'List-Unsubscribe', 'References', 'In-Reply-To', 'List-Id')
  fc.assert(
    fc.property(name, structuredValue, (each, value) => {
      const { head } = compose({ ...plainMessage, headers: { [each]: value } })
      for (const line of head.split('\r\n')) expect(line.length).toBeLessThanOrEqual(998)
      expect(namesIn(head)).toEqual([...namesIn(compose(plainMessage).head).slice(0, 6), each, 'MIME-Version', 'Content-Type'])
    }),
    { numRuns: 200 },
  )
})

const nameIn = (head: 'Content-Disposition' | 'Content-Type', filename: string) => {
  const file = { filename, contentType: 'image/png', contentId: null, inline: false, content: Buffer.from('a') }
  const { body } = compose({ ...plainMessage, attachments: [file] })
  const unfolded = body.replace(/\r\n(?= )/g, '')
  return new RegExp(`${head}: (?:attachment|image/png); (.*)\\r\\n`).exec(unfolded)![1]!
}

test('a non-ASCII filename has no fallback that a parser could prefer', () => {
  expect(nameIn('Content-Disposition', 'logo 1.png')).toBe('filename="logo 1.png"')
  expect(nameIn('Content-Disposition', 'Grüße.png')).toBe(`filename*=UTF-8''Gr%C3%BC%C3%9Fe.png`)
  expect(nameIn('Content-Disposition', `${'ü'.repeat(20)}.png`)).toMatch(
    /^filename\*0\*=UTF-8''[%C3B]+(; filename\*\d\*=[%C3B]+)*; filename\*\d\*=[%C3B]+\.png$/,
  )
  expect(nameIn('Content-Type', 'logo 1.png')).toBe('name="logo 1.png"')
  expect(nameIn('Content-Type', 'Grüße.png')).toBe('name="=?UTF-8?B?R3LDvMOfZS5wbmc=?="')
})

test('no piece of a filename ends within a character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 20, maxLength: 255 }), (filename) => {
      const pieces = [...nameIn('Content-Disposition', `ü${filename}`).matchAll(/filename\*\d+\*=(?:UTF-8'')?(\S*?)(?:;|$)/g)]
      for (const [, piece] of pieces) expect(() => decodeURIComponent(piece!)).not.toThrow()
    }),
    { numRuns: 200 },
  )
})
