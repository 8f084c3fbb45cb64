import { expect, test } from 'vitest'
import { inChunks } from './chunks.ts'

test('every address is in one chunk, and no chunk is too large', () => {
  expect(inChunks([])).toEqual([])
  expect(inChunks(['a', 'b', 'c'], 2)).toEqual([['a', 'b'], ['c']])
})
