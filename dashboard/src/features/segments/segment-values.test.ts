import { expect, test } from 'vitest'
import { changesOf, consequenceOf, problemOf, type SegmentValues } from './segment-values.ts'

const CONDITION = '{"logic":"AND","groups":[{"filters":[{"field":"subscribed","operator":"equals","value":true}]}]}'
const saved: SegmentValues = { name: 'Pro', description: '', condition: CONDITION, trackMembership: false }

test('only what differs is sent', () => {
  expect(changesOf(saved, saved)).toEqual({})
  expect(changesOf(saved, { ...saved, description: ' x ' })).toEqual({ description: 'x' })
  expect(changesOf({ ...saved, description: 'x' }, saved)).toEqual({ description: null })
  const other = CONDITION.replace('true', 'false')
  expect(changesOf(saved, { ...saved, condition: other })).toEqual({ condition: JSON.parse(other) })
})

test('a segment without a name or with half a condition cannot be saved', () => {
  expect(problemOf(saved, false)).toBeUndefined()
  expect(problemOf({ ...saved, name: ' ' }, false)).toMatch(/name/)
  expect(problemOf({ ...saved, condition: '{' }, false)).toMatch(/condition/)
  expect(problemOf({ ...saved, condition: '' }, true)).toBeUndefined()
})

test('the consequence says who is affected', () => {
  expect(consequenceOf(saved, { ...saved, trackMembership: true })).toMatch(/entry event for every member/)
  expect(consequenceOf(saved, { ...saved, condition: '{}' })).toMatch(/at once/)
  expect(consequenceOf(saved, { ...saved, name: 'X' })).toMatch(/stay the same/)
})
