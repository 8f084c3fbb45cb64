import { expect, test } from 'vitest'
import type { Steps } from '../../lib/text/steps.ts'
import { structuredTokens } from '../encoding/encode.ts'
import { decodeWords } from './encoded-words.ts'
import { splitComments } from './from-header.ts'
import { MalformedMessage } from './head.ts'
import { readStructured } from './header-text.ts'
import { readMimeTree } from './parts.ts'

/** Repeated, each of them made a search start again at every place. */
const PIECES = [
  '(',
  '()',
  '(()',
  '\\(',
  ')',
  '"',
  '\\"',
  ';',
  '; ',
  ';a="',
  ';a="\\"',
  'a=',
  ' ',
  '=?',
  '=?a?q?',
  '=?a?q?b',
  '=?a?q?b?=',
  '=?a?q?b?= ',
  ',',
  '=',
]

const SCANNERS: Record<string, (text: string, steps: Steps) => unknown> = {
  'the parameters of a header': readStructured,
  'encoded words': decodeWords,
  comments: splitComments,
  'the tokens of an address header': structuredTokens,
}

/** Readers of headers stop at a length; below it, steps must not grow faster than the text. */
const [SHORT, LONG] = [2_000, 8_000]

test.each(Object.keys(SCANNERS))('%s are read in steps by their length', (name) => {
  const stepsFor = (piece: string, length: number) => {
    const steps = { count: 0 }
    SCANNERS[name]!(`text/plain${piece.repeat(length / piece.length)}`, steps)
    return steps.count
  }
  for (const piece of PIECES) {
    expect(stepsFor(piece, LONG), piece).toBeLessThan(4 * LONG)
    expect(stepsFor(piece, LONG), piece).toBeLessThan(5 * stepsFor(piece, SHORT) + 100)
  }
})

const ROOT = 'Content-Type: multipart/mixed; boundary=x\r\n\r\n'
const part = (head: string) => `--x\r\n${head}\r\n\r\n.\r\n`

function read(body: string) {
  const bytes = Buffer.from(`${ROOT}${body}--x--\r\n`)
  const steps = { count: 0 }
  const tree = readMimeTree(bytes, steps)
  return { tree, stepsPerByte: steps.count / bytes.length }
}

test.each([
  ['parentheses', part(`Content-Type: ${'('.repeat(8_000)}`).repeat(100)],
  ['unclosed quotes', part(`Content-Type: a/b${';a="\\"'.repeat(1_300)}`).repeat(100)],
  ['semicolons', part(`Content-Type: a/b${'; '.repeat(4_000)}`).repeat(100)],
  ['lines of three characters', part(`${'a:\r\n'.repeat(10_000)}a:`).repeat(10)],
  ['lines that look like a boundary', '--y\r\n'.repeat(90_000)],
  [
    'nested parts',
    Array.from({ length: 25 }, (_, n) => `--x\r\nContent-Type: multipart/mixed; boundary=x${n}\r\n\r\n--x${n}\r\n`)
      .join('')
      .repeat(15),
  ],
])('a message of %s is read in steps by its length', (_, body) => {
  expect(read(body).stepsPerByte).toBeLessThan(4)
})

test('a message has up to 1,000 parts', () => {
  expect(read(part('A: b').repeat(1_000)).tree.parts).toHaveLength(1_000)
  expect(() => read(part('A: b').repeat(1_001))).toThrow(MalformedMessage)
})

test('a part has up to 64 KB of headers, all parts together 1 MB', () => {
  expect(read(part(`A: ${'x'.repeat(60_000)}`).repeat(17)).tree.parts).toHaveLength(17)
  expect(() => read(part(`A: ${'x'.repeat(66_000)}`))).toThrow(/larger than 64 KB/)
  expect(() => read(part('a:\r\n'.repeat(20_000)))).toThrow(/larger than 64 KB/)
  expect(() => read(part(`A: ${'x'.repeat(60_000)}`).repeat(18))).toThrow(/larger than 1 MB/)
})
