import fc from 'fast-check'
import { expect, test } from 'vitest'
import { containsText } from './contains-text.ts'

test('long texts are found as `includes` finds them', () => {
  const repetitive = (minLength: number, maxLength: number) => fc.string({ unit: fc.constantFrom('a', 'b', 'é'), minLength, maxLength })
  const search = fc.record({
    part: repetitive(1, 4),
    times: fc.integer({ min: 80, max: 120 }),
    end: repetitive(0, 3),
    around: repetitive(0, 5),
  })
  fc.assert(
    fc.property(search, repetitive(0, 400), ({ part, times, end, around }, other) => {
      const needle = part.repeat(times) + end
      for (const text of [around + part.repeat(2 * times) + around, other + needle.slice(1) + other, around + part + needle + other, other])
        expect(containsText(text, needle)).toBe(text.includes(needle))
    }),
  )
})
