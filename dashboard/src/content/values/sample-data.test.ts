import { expect, test } from 'vitest'
import { readSample } from './sample-data.ts'

test('sample data is an object, or nothing', () => {
  expect(readSample(' ')).toEqual({})
  expect(readSample('{"plan": null}')).toEqual({ plan: null })
  for (const text of ['[]', 'null', '1', '{"plan"']) expect(readSample(text)).toBeUndefined()
})
