import type { Condition } from '@sterna/sdk'
import { expect, test } from 'vitest'
import { describeEmptyLine } from './empty-line.tsx'

const condition = {
  logic: 'AND',
  groups: [
    {
      filters: [
        { field: 'subscribed', operator: 'equals', value: true },
        { field: 'data.plan', operator: 'equals', value: 'pro' },
      ],
    },
  ],
} as Condition
const lines = (...remaining: [number, number]) =>
  remaining.map((left, index) => ({ ...condition.groups[0]!.filters![index]!, path: `groups.0.filters.${index}`, remaining: left }))

test('the first line that leaves no contact is named', () => {
  expect(describeEmptyLine(condition, lines(5, 0), {})).toContain('pro')
  expect(describeEmptyLine(condition, lines(0, 0), {})).toContain('subscribed')
  expect(describeEmptyLine(condition, lines(5, 1), {})).toBeUndefined()
})
