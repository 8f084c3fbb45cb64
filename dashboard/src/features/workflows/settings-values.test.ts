import type { Workflow } from '@sterna/sdk'
import { expect, test } from 'vitest'
import { workflowChangesOf, workflowProblemOf, workflowValuesOf } from './settings-values.ts'

const WORKFLOW = {
  name: 'Welcome',
  description: null,
  triggerType: 'EVENT',
  triggerConfig: { eventName: 'signup' },
  allowReentry: false,
} as Partial<Workflow> as Workflow

test('only what was changed is sent', () => {
  const saved = workflowValuesOf(WORKFLOW)
  expect(workflowChangesOf(saved, saved)).toEqual({})
  expect(workflowChangesOf(saved, { ...saved, name: 'Hello' })).toEqual({ name: 'Hello' })
  // A schedule that is not chosen is no change.
  expect(workflowChangesOf(saved, { ...saved, schedule: '* * * * *' })).toEqual({})
  expect(workflowChangesOf(saved, { ...saved, triggerType: 'MANUAL' })).toEqual({ triggerType: 'MANUAL', triggerConfig: {} })
  const scheduled = { ...saved, triggerType: 'SCHEDULE' as const, schedule: '0 9 * * *', timezone: 'UTC', segmentId: 's1' }
  expect(workflowChangesOf(saved, scheduled)).toEqual({
    triggerType: 'SCHEDULE',
    triggerConfig: { schedule: '0 9 * * *', timezone: 'UTC', segmentId: 's1' },
  })
})

test('settings that are not complete say what is missing', () => {
  const saved = workflowValuesOf(WORKFLOW)
  expect(workflowProblemOf(saved)).toBe(undefined)
  expect(workflowProblemOf({ ...saved, eventName: ' ' })).toBe('name the event')
  expect(workflowProblemOf({ ...saved, triggerType: 'SCHEDULE' })).toBe('choose a segment')
  expect(workflowProblemOf({ ...saved, triggerType: 'MANUAL', eventName: '' })).toBe(undefined)
})
