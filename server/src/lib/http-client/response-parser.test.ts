import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ResponseHead } from './response-head.ts'
import { createResponseParser } from './response-parser.ts'

type Read = { heads: ResponseHead[]; body: string; end: number | undefined; error: string | undefined; isWhole: boolean }

/** Reads a response from the given pieces, each in a buffer that is overwritten afterwards. */
function read(pieces: Buffer[], isHead = false): Read {
  const heads: ResponseHead[] = []
  let body = ''
  const parser = createResponseParser({ onHead: (head) => heads.push(head), onBody: (bytes) => (body += bytes.toString('latin1')) })
  parser.begin(isHead)
  let before = 0
  for (const piece of pieces) {
    // As of a buffer that had longer pieces before.
    const bytes = Buffer.concat([piece, Buffer.from('\r\n\r\n0\r\n\r\n')])
    try {
      const used = parser.push(bytes, piece.length)
      if (used !== undefined) return { heads, body, end: before + used, error: undefined, isWhole: true }
    } catch (err) {
      return { heads, body, end: undefined, error: (err as { code: string }).code, isWhole: false }
    }
    before += piece.length
    bytes.fill('#')
  }
  return { heads, body, end: undefined, error: undefined, isWhole: parser.isWholeAtEnd() }
}

const one = (text: string, isHead = false) => read([Buffer.from(text, 'latin1')], isHead)

function split(bytes: Buffer, cuts: number[]) {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...at].map((from, n) => bytes.subarray(from, at[n] ?? bytes.length)).filter(({ length }) => length)
}

const text = fc.string({ unit: fc.constantFrom('a', 'Z', '0', ' ', ':', ';', 'é', '\r', '\n', '\r\n'), maxLength: 60 })
const token = fc.stringMatching(/^[a-z-]{1,12}$/)
const value = fc.stringMatching(/^[a-z0-9 ,;=]{0,20}$/)
const latin1 = (given: string) => Buffer.from(given, 'latin1')

const chunked = fc
  .tuple(fc.array(text), fc.constantFrom('', ';x=y'), fc.constantFrom('', 'trailer: x\r\n'))
  .map(([parts, extension, trailer]) => {
    const chunks = parts.filter(Boolean).map((part) => `${part.length.toString(16)}${extension}\r\n${part}\r\n`)
    return `transfer-encoding: chunked\r\n\r\n${chunks.join('')}0\r\n${trailer}\r\n`
  })
const sized = text.map((body) => `content-length: ${body.length}\r\n\r\n${body}`)
const response = fc
  .tuple(
    fc.array(fc.constantFrom('HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'), { maxLength: 3 }),
    fc.constantFrom('HTTP/1.1 200 OK', 'HTTP/1.0 500', 'HTTP/1.1 204 ', 'HTTP/1.1 429 Too\tmany'),
    fc.array(
      fc.tuple(token, value).map(([name, content]) => `${name}: ${content}\r\n`),
      { maxLength: 4 },
    ),
    fc.oneof(
      chunked,
      sized,
      text.map((body) => `\r\n${body}`),
    ),
    text,
  )
  .map(([interims, status, headers, body, more]) => latin1(`${interims.join('')}${status}\r\n${headers.join('')}${body}${more}`))

describe('however the bytes are split', () => {
  const cuts = fc.array(fc.nat(), { maxLength: 12 })

  test('a response is the same', () => {
    fc.assert(fc.property(response, cuts, (bytes, at) => void expect(read(split(bytes, at))).toEqual(read([bytes]))))
  })

  test('byte by byte too', () => {
    fc.assert(
      fc.property(response, (bytes) => void expect(read([...bytes].map((byte) => Buffer.from([byte])))).toEqual(read([bytes]))),
      { numRuns: 50 },
    )
  })

  test('a response with wrong bytes is the same, or the same error', () => {
    const wrong = fc.tuple(response, fc.nat(), fc.uint8Array({ maxLength: 4 })).map(([bytes, at, other]) => {
      const copy = Buffer.from(bytes)
      copy.set(other.subarray(0, Math.max(0, copy.length - (at % copy.length))), at % copy.length)
      return copy
    })
    fc.assert(fc.property(wrong, cuts, (bytes, at) => void expect(read(split(bytes, at))).toEqual(read([bytes]))))
  })

  test('the limits of heads are at the same byte', () => {
    for (const more of [-1, 0, 1]) {
      const start = 'HTTP/1.1 200 OK\r\nx: '
      const bytes = latin1(`${start}${'y'.repeat(16 * 1_024 - start.length + more)}\r\n\r\n`)
      const outcome = more > 0 ? { error: 'HEAD_TOO_LARGE' } : { error: undefined, heads: [{ status: 200 }] }
      expect(read([bytes])).toMatchObject(outcome)
      expect(read(split(bytes, [5, 9_000, bytes.length - 2]))).toMatchObject(outcome)
    }
  })
})

test.each<[string, Partial<Read>]>([
  ['HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabcd', { body: 'abc', end: 41 }],
  ['HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab', { body: 'ab', end: undefined, isWhole: false }],
  ['HTTP/1.1 200 OK\r\n\r\nabc', { body: 'abc', end: undefined, isWhole: true }],
  ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n', { body: 'abc', isWhole: true }],
  ['HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, Chunked\r\n\r\n1\r\na\r\n0\r\nx: y\r\n\r\n', { body: 'a', isWhole: true }],
  ['HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nabc', { body: 'abc', end: undefined, isWhole: true }],
  ['HTTP/1.1 204 No\r\ncontent-length: 9\r\n\r\n', { body: '', end: 38 }],
  ['HTTP/1.1 304 No\r\ncontent-length: 9\r\n\r\n', { body: '', end: 38 }],
])('the body of %j', (given, expected) => {
  expect(one(given)).toMatchObject({ ...expected, error: undefined })
})

test('a reply to HEAD has no body', () => {
  expect(one('HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n', true)).toMatchObject({ body: '', end: 38 })
})

test.each([
  ['HTTP/1.1 200 OK\r\ncontent-length: 0', true],
  ['HTTP/1.1 200 OK\r\ncontent-length: 0\r\nConnection: Keep-Alive, Close', false],
  ['HTTP/1.1 200 OK\r\nconnection: x\r\nconnection: close\r\ncontent-length: 0', false],
  ['HTTP/1.0 200 OK\r\ncontent-length: 0', false],
  ['HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive', true],
  ['HTTP/1.1 200 OK', false],
])('after %j the connection is kept: %s', (head, isKept) => {
  expect(one(`${head}\r\n\r\n`).heads).toMatchObject([{ status: 200, isKept }])
})

test('Retry-After is read, the first of two, without the space around it', () => {
  expect(one('HTTP/1.1 429 x\r\nRetry-After: \t17 \r\nretry-after: 18\r\n\r\n').heads).toMatchObject([{ retryAfter: '17' }])
  expect(one('HTTP/1.1 429 x\r\nretry-after:\r\n 17\r\n\r\n').heads).toMatchObject([{ retryAfter: '17' }])
})

test.each([
  'SSH-2.0-OpenSSH_9.6\r\n\r\n',
  'http/1.1 200 OK\r\n\r\n',
  'HTTP/2.0 200 OK\r\n\r\n',
  'HTTP/1.1 20 OK\r\n\r\n',
  'HTTP/1.1 099 OK\r\n\r\n',
  'HTTP/1.1  200 OK\r\n\r\n',
  'HTTP/1.1 2000 OK\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n',
  'HTTP/1.1 200 OK\r\nno field\r\n\r\n',
  'HTTP/1.1 200 OK\r\nname : value\r\n\r\n',
  'HTTP/1.1 200 OK\r\n: value\r\n\r\n',
  'HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n',
  'HTTP/1.1 200 OK\r\nx: a\rb\r\n\r\n',
  'HTTP/1.1 200 OK\nx: a\r\n\r\n',
  'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
  'HTTP/1.1 200 OK\r\ncontent-length: +1\r\n\r\n',
  'HTTP/1.1 200 OK\r\ncontent-length: 1, 1\r\n\r\n',
  'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n',
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n',
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n123456789\r\n',
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc',
  `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;${'x'.repeat(2_000)}`,
  `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${'x: y\r\n'.repeat(5_000)}`,
])('%j is no response', (given) => {
  expect(one(given)).toMatchObject({ error: 'BAD_RESPONSE' })
})
