import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readJson } from './json.ts'

const storable = fc
  .jsonValue({ maxDepth: 6, noUnicodeString: false })
  .filter((value) => !/\\u(0000|d[89a-f])|__proto__/i.test(JSON.stringify(value)))

test('a value that can be stored is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(storable, (value) => {
      const text = JSON.stringify(value)
      const exact = !/\d{16}|e\+/.test(text)
      fc.pre(exact)
      expect(readJson(Buffer.from(text))).toEqual(JSON.parse(text))
    }),
  )
})

test('any bytes at all are read or refused, never crash', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        readJson(Buffer.from(bytes))
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
      const read = () => readJson(Buffer.from(body))
      if (depth <= 32) expect(read).not.toThrow()
      else expect(read).toThrow('more than 32 levels deep')
    }),
  )
})
