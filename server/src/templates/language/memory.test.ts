import { describe, expect, test } from 'vitest'
import { GROUPED_ITEM_SIZE } from './limits.ts'
import { assertPrintable, createHeapCheck } from './memory.ts'

const TOO_LARGE = /too large/

describe('a value to be printed or filtered', () => {
  const list = (length: number) => Array.from({ length }, () => 1)
  const many = list(100_000)

  test.each<[string, unknown]>([
    ['a text of a million characters', 'x'.repeat(1_000_000)],
    ['a list of 330,000 items', list(330_000)],
    ['a list of lists', [many, many, many]],
    ['nothing', undefined],
    ['an object with lists', { a: many, b: [{ c: many }] }],
  ])('may be %s', (_, value) => {
    expect(() => assertPrintable(value)).not.toThrow()
  })

  test.each<[string, unknown]>([
    ['a longer text', 'x'.repeat(1_000_001)],
    ['a longer list', list(340_000)],
    ['a list that contains another one many times', [many, many, many, many]],
    ['a list of texts', ['x'.repeat(600_000), 'x'.repeat(600_000)]],
    ['lists in objects', { a: many, b: [{ c: many, d: { e: [many, many] } }] }],
  ])('may not be %s', (_, value) => {
    expect(() => assertPrintable(value)).toThrow(TOO_LARGE)
  })

  test('has fewer items if they are to be grouped', () => {
    expect(() => assertPrintable(list(99_000), GROUPED_ITEM_SIZE)).not.toThrow()
    expect(() => assertPrintable(list(101_000), GROUPED_ITEM_SIZE)).toThrow(TOO_LARGE)
  })
})

describe('the check of the heap', () => {
  const after = (usedMb: number[]) => {
    const check = createHeapCheck({ usedBytes: () => usedMb[0]! * 1024 * 1024, collect: () => void usedMb.shift() })
    return () => check()
  }

  test('passes while little is in use, and when garbage is collected', () => {
    expect(after([100])).not.toThrow()
    expect(after([300, 100])).not.toThrow()
  })

  test('fails when too much is in use after a collection', () => {
    expect(after([300, 250])).toThrow(TOO_LARGE)
  })
})
