import { expect, test } from 'vitest'
import {
  BLANK_SEGMENT,
  newSegmentOf,
  type SegmentValues,
  segmentChangesOf,
  segmentConsequenceOf,
  segmentProblemOf,
} from './segment-values.ts'

const CONDITION = '{"logic":"AND","groups":[{"filters":[{"field":"subscribed","operator":"equals","value":true}]}]}'
const saved: SegmentValues = { name: 'Pro', description: '', condition: CONDITION, trackMembership: false }

test('only what differs is sent', () => {
  expect(segmentChangesOf(saved, saved)).toEqual({})
  expect(segmentChangesOf(saved, { ...saved, description: ' x ' })).toEqual({ description: 'x' })
  expect(segmentChangesOf({ ...saved, description: 'x' }, saved)).toEqual({ description: null })
  const other = CONDITION.replace('true', 'false')
  expect(segmentChangesOf(saved, { ...saved, condition: other })).toEqual({ condition: JSON.parse(other) })
})

test('a segment without a name or with half a condition cannot be saved', () => {
  expect(segmentProblemOf(saved, false)).toBeUndefined()
  expect(segmentProblemOf({ ...saved, name: ' ' }, false)).toMatch(/name/)
  expect(segmentProblemOf({ ...saved, condition: '{' }, false)).toMatch(/condition/)
  expect(segmentProblemOf({ ...saved, condition: '' }, true)).toBeUndefined()
})

test('the consequence says who is affected', () => {
  expect(segmentConsequenceOf(saved, { ...saved, trackMembership: true })).toMatch(/entry event for every member/)
  expect(segmentConsequenceOf(saved, { ...saved, condition: '{}' })).toMatch(/at once/)
  expect(segmentConsequenceOf(saved, { ...saved, name: 'X' })).toMatch(/stay the same/)
})

test('a new segment needs a name and at least one line', () => {
  expect(segmentProblemOf(BLANK_SEGMENT, false)).toMatch(/name/)
  expect(segmentProblemOf({ ...BLANK_SEGMENT, name: 'Pro' }, false)).toMatch(/condition/)
  expect(newSegmentOf({ ...saved, name: ' Pro ' })).toEqual({ name: 'Pro', condition: JSON.parse(CONDITION), trackMembership: false })
})
