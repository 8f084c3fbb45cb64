import type { ConditionInput } from '@sterna/sdk'
import { expect, test } from 'vitest'
import { filterAt, printCondition, readConditionText } from './condition-text.ts'

const CONDITION = { logic: 'AND', groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }] }

test('a condition is read as it was printed', () => {
  expect(readConditionText(printCondition(CONDITION))).toEqual({ condition: CONDITION })
  expect(printCondition(null)).toBe('')
})

test.each([
  ['', /nothing never means everyone/],
  ['{', /not JSON/],
  ['[]', /condition must be an object/],
  ['{"logic":"and","groups":[]}', /condition.logic/],
  ['{"logic":"AND","groups":[]}', /condition.groups/],
  ['{"logic":"AND","groups":[{"filters":[]}]}', /condition.groups.0 has no filter/],
  ['{"logic":"AND","groups":[{"filters":[{"operator":"exists"}]}]}', /groups.0.filters.0.field/],
  ['{"logic":"AND","groups":[{"filters":[],"conditions":{"logic":"OR"}}]}', /groups.0.conditions.groups/],
])('%s is refused with its place', (text, problem) => {
  expect(readConditionText(text)).toEqual({ problem: expect.stringMatching(problem) })
})

test('a filter is found by the path that the server names', () => {
  const nested = { logic: 'AND', groups: [{ filters: [], conditions: CONDITION }] } as ConditionInput
  expect(filterAt(CONDITION as ConditionInput, 'groups.0.filters.0')).toMatchObject({ value: 'pro' })
  expect(filterAt(nested, 'groups.0.conditions.groups.0.filters.0')).toMatchObject({ value: 'pro' })
  expect(filterAt(nested, 'groups.7.filters.0')).toBeUndefined()
})
