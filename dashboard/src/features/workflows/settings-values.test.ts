import type { Workflow } from '@sterna/sdk'
import { expect, test } from 'vitest'
import { changesOf, problemOf, valuesOf } from './settings-values.ts'

const WORKFLOW = {
  name: 'Welcome',
  description: null,
  triggerType: 'EVENT',
  triggerConfig: { eventName: 'signup' },
  allowReentry: false,
} as Partial<Workflow> as Workflow

test('only what was changed is sent', () => {
  const saved = valuesOf(WORKFLOW)
  expect(changesOf(saved, saved)).toEqual({})
  expect(changesOf(saved, { ...saved, name: 'Hello' })).toEqual({ name: 'Hello' })
  // A schedule that is not chosen is no change.
  expect(changesOf(saved, { ...saved, schedule: '* * * * *' })).toEqual({})
  expect(changesOf(saved, { ...saved, triggerType: 'MANUAL' })).toEqual({ triggerType: 'MANUAL', triggerConfig: {} })
  const scheduled = { ...saved, triggerType: 'SCHEDULE' as const, schedule: '0 9 * * *', timezone: 'UTC', segmentId: 's1' }
  expect(changesOf(saved, scheduled)).toEqual({
    triggerType: 'SCHEDULE',
    triggerConfig: { schedule: '0 9 * * *', timezone: 'UTC', segmentId: 's1' },
  })
})

test('settings that are not complete say what is missing', () => {
  const saved = valuesOf(WORKFLOW)
  expect(problemOf(saved)).toBe(undefined)
  expect(problemOf({ ...saved, eventName: ' ' })).toBe('name the event')
  expect(problemOf({ ...saved, triggerType: 'SCHEDULE' })).toBe('choose a segment')
  expect(problemOf({ ...saved, triggerType: 'MANUAL', eventName: '' })).toBe(undefined)
})
