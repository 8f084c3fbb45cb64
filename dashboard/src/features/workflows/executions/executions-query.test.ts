import { expect, test } from 'vitest'
import { cancelFilter, executionsQuery, statusOfVisit, visitsQuery } from './executions-query.ts'

test('a request for executions leaves out what the API would refuse', () => {
  const step = '0198c0de-0000-7000-8000-000000000001'
  expect(executionsQuery({ limit: 50, filters: { status: 'FAILED,lost,EXITED', step } }, 'c1')).toEqual({
    page: 1,
    pageSize: 50,
    status: ['FAILED', 'EXITED'],
    stepId: step,
    contactId: 'c1',
  })
  expect(executionsQuery({ limit: 50, filters: { status: 'failed', step: 'x' } }, undefined)).toEqual({ page: 1, pageSize: 50 })
})

test('a request for the visits of a step leaves out what the API would refuse', () => {
  expect(visitsQuery({ limit: 25, cursor: 'c', filters: { outcome: 'failed,lost,toString,skipped' } })).toEqual({
    limit: 25,
    cursor: 'c',
    outcome: ['failed', 'skipped'],
  })
  expect(visitsQuery({ limit: 25, filters: { outcome: 'x' } })).toEqual({ limit: 25 })
})

test('a visit that was cancelled is not shown as skipped', () => {
  expect(statusOfVisit({ status: 'SKIPPED', outcome: 'cancelled' })).toBe('CANCELLED')
  expect(statusOfVisit({ status: 'SKIPPED', outcome: 'skipped' })).toBe('SKIPPED')
})

test.each([
  [{}, {}],
  [{ status: 'RUNNING,WAITING' }, {}],
  [{ status: 'WAITING,FAILED' }, { status: 'WAITING' }],
  [{ status: 'COMPLETED' }, undefined],
  [{ started: '2026-01-01..2026-01-02' }, { startedFrom: '2026-01-01', startedTo: '2026-01-02' }],
])('of the filters %j, %j is cancelled', (filters, cancelled) => {
  expect(cancelFilter(filters, undefined)).toEqual(cancelled)
})
