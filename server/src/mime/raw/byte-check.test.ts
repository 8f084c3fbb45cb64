import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createByteCheck } from './byte-check.ts'

const pieces = fc
  .array(fc.constantFrom('\r\n', '\r', '\n', '\0', 'a', 'ü', '', 'a'.repeat(23), 'a'.repeat(40)), { maxLength: 12 })
  .map((all) => Buffer.from(all.join('')))

test('line ends and bytes are judged alike, wherever chunks end', () => {
  fc.assert(
    fc.property(pieces, fc.array(fc.nat(200), { maxLength: 4 }), (bytes, cuts) => {
      const check = createByteCheck()
      const ends = [0, ...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length]
      for (const [n, end] of ends.entries()) check.read(bytes.subarray(ends[n - 1] ?? 0, end))
      const text = bytes.toString('latin1')
      expect(check.problem() !== undefined).toBe(/\0|\r(?!\n)|(?<!\r)\n/.test(text))
      expect(check.is8bit()).toBe(/[\x80-\xff]/.test(text))
    }),
    { numRuns: 2_000 },
  )
})
