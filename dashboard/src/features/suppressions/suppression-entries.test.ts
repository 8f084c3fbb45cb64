import { expect, test } from 'vitest'
import { addUp, describeSuppressed, inBatches, MAX_ENTRIES, readEntries } from './suppression-entries.ts'

test('addresses and domains are read from pasted text, each once', () => {
  const pasted = 'Ada <ada@example.com>, example.org; @example.net\nADA@example.com "grace@example.com"'
  expect(readEntries(pasted)).toEqual(['ADA@example.com', 'example.org', 'example.net', 'grace@example.com'])
  expect(readEntries(' , ;\n')).toEqual([])
})

test('many entries are sent in as many requests as they need', () => {
  const entries = Array.from({ length: MAX_ENTRIES + 1 }, (_, index) => `p${index}@example.com`)
  expect(inBatches(entries).map(({ length }) => length)).toEqual([MAX_ENTRIES, 1])
  expect(inBatches([])).toEqual([])
})

test('the result names what changed, what did not and what is wrong', () => {
  const first = { addedCount: 12, existingCount: 1, invalid: [] }
  const second = { addedCount: 1, existingCount: 0, invalid: ['x@'] }
  expect(describeSuppressed(addUp([first, second]))).toBe('13 suppressed, 1 was suppressed before, 1 is neither an address nor a domain')
  expect(describeSuppressed(addUp([]))).toBe('0 suppressed')
})
