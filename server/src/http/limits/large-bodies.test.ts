import { expect, test } from 'vitest'
import { createLargeBodyParser, isLargeBody } from './large-bodies.ts'

const body = (text: string) => Buffer.from(JSON.stringify({ text: text.padEnd(200_000, ' ') }))

test('owners take turns, so that many bodies of one do not hold up another', async () => {
  const parse = createLargeBodyParser()
  const order: string[] = []
  const note = (name: string, owner: string) => parse(body(name), owner).then(() => order.push(name))
  await Promise.all([note('a1', 'a'), note('a2', 'a'), note('a3', 'a'), note('b1', 'b')])
  expect(order).toEqual(['a1', 'a2', 'b1', 'a3'])
})

test('a malformed body is refused, and the next one is parsed', async () => {
  const parse = createLargeBodyParser()
  const malformed = Buffer.from(`{"text":"${' '.repeat(200_000)}`)
  const [refused, parsed] = await Promise.allSettled([parse(malformed, 'a'), parse(body('next'), 'a')])
  expect([refused.status, parsed.status]).toEqual(['rejected', 'fulfilled'])
})

test('a body of 128 KB is large, a smaller one is not', () => {
  expect([isLargeBody(Buffer.alloc(128 * 1024)), isLargeBody(Buffer.alloc(128 * 1024 - 1))]).toEqual([true, false])
})
