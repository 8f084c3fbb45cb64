import { expect, test } from 'vitest'
import { readValue, writeValue } from './field-input.ts'

test.each(['pro', '5', 5, true, 'true', null, '', ' padded ', '{"a":1}', { a: [1] }, '2026-01-01', '"quoted"'])(
  'editing %o without a change keeps the value and its type',
  (value) => {
    expect(readValue(writeValue(value))).toEqual(value)
  },
)
