import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyCharacter } from '../../../test/support/any-character.ts'
import { createValueCounter, readStorableJson } from './json.ts'

const storable = fc
  .jsonValue({ maxDepth: 6, stringUnit: anyCharacter })
  .filter((value) => !/\\u(0000|d[89a-f])|__proto__/i.test(JSON.stringify(value)))

test('a value that can be stored is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(storable, (value) => {
      const text = JSON.stringify(value)
      const exact = !/\d{16}|e\+/.test(text)
      fc.pre(exact)
      expect(readStorableJson(Buffer.from(text))).toEqual(JSON.parse(text))
    }),
  )
})

test('any bytes are parsed or refused, without a crash', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        readStorableJson(Buffer.from(bytes))
      } catch (err) {
        expect([400, 422]).toContain((err as { statusCode: number }).statusCode)
      }
    }),
  )
})

test('depth is counted outside strings only, however they are escaped', () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 0, max: 60 }), (text, depth) => {
      const body = `${'['.repeat(depth)}${JSON.stringify(text.replaceAll('\0', ''))}${']'.repeat(depth)}`
      const read = () => readStorableJson(Buffer.from(body))
      if (depth <= 40) expect(read).not.toThrow()
      else expect(read).toThrow('more than 40 levels deep')
    }),
  )
})

const digits = (max: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: max }).map((text) => text.replace(/^0+(?=.)/, ''))
const numbers = fc
  .tuple(fc.constantFrom('', '-'), digits(25), fc.option(digits(20)), fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'E-'), digits(3))))
  .map(([sign, whole, fraction, exponent]) => `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${exponent?.join('') ?? ''}`)

test('a number is refused exactly when it is inexact, at any position', () => {
  const places = [
    (text: string) => `{"a":${text}}`,
    (text: string) => `{"a":[true,${text} ,"1e400"]}`,
    (text: string) => `[{"b":{"c":${text}}}]`,
  ]
  fc.assert(
    fc.property(numbers, fc.constantFrom(...places), (text, place) => {
      const read = () => readStorableJson(Buffer.from(place(text)))
      if (Math.abs(Number(text)) <= Number.MAX_SAFE_INTEGER) expect(read()).toEqual(JSON.parse(place(text)))
      else expect(read).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }))
    }),
    { numRuns: 1_000 },
  )
})

const list = (values: number) => `[${Array(values).fill('0').join()}]`

test('100,000 values are read, one more is refused before the body is parsed', () => {
  expect(readStorableJson(Buffer.from(list(100_000)))).toHaveLength(100_000)
  const refused = expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE', statusCode: 413 })
  expect(() => readStorableJson(Buffer.from(list(100_001)))).toThrow(refused)
  // Also invalid JSON, which only parsing would detect.
  expect(() => readStorableJson(Buffer.from(list(100_001).slice(0, -1)))).toThrow(refused)
})

test('commas inside strings do not count as values', () => {
  expect(readStorableJson(Buffer.from(JSON.stringify({ a: ','.repeat(200_000) })))).toEqual({ a: ','.repeat(200_000) })
})

test('a value that cannot be stored is named by its path, however long its keys are', () => {
  const key = 'k'.repeat(100_000)
  const issues = (json: string) => {
    try {
      readStorableJson(Buffer.from(json))
      return []
    } catch (err) {
      return (err as { extra: { errors: { field: string }[] } }).extra.errors.map(({ field }) => field)
    }
  }
  expect(issues('{"a":[1,{"b":["x","\\u0000"]},1e99],"c":"\\ud800"}')).toEqual(['a.1.b.1', 'a.2', 'c'])
  expect(issues(`{"a":{"${key}":1e99}}`)).toEqual([`a.${key}`.slice(0, 200)])
  expect(issues(`[${Array(1_000).fill('1e99').join()}]`)).toHaveLength(10)
})

test('a byte order mark before the document is skipped, a second one is not', () => {
  expect(readStorableJson(Buffer.from('\ufeff{"a":1}'))).toEqual({ a: 1 })
  expect(() => readStorableJson(Buffer.from('\ufeff\ufeff{}'))).toThrow('not valid JSON')
})

test('values that are counted while the body arrives are those of the body, however it is cut', () => {
  const text = fc.string({ unit: fc.constantFrom('\\', '"', ',', 'a', 'é'), maxLength: 90 })
  const strings = fc.array(text, { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(strings, fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 20 }), (values, sizes) => {
      // As many values as are allowed, together with those before.
      const all = [...values, ...Array(100_000 - values.length).fill(0)]
      const countOf = (list: unknown[]) => {
        const count = createValueCounter()
        let rest = Buffer.from(JSON.stringify(list))
        for (const size of sizes) {
          count(rest.subarray(0, size))
          rest = rest.subarray(size)
        }
        count(rest)
      }
      expect(() => countOf(all)).not.toThrow()
      expect(() => countOf([...all, 0])).toThrow('more than 100,000 values')
    }),
    { numRuns: 50 },
  )
})
