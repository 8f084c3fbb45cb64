import { expect, test } from 'vitest'
import { cancelFilter, executionsQuery, filtersOfCount, statusOfVisit, visitsQuery, workflowsQuery } from './list-query.ts'

test('a request for workflows leaves out what the API would refuse', () => {
  expect(
    workflowsQuery({
      limit: 25,
      filters: { status: 'active', trigger: 'SCHEDULE', failed: 'true' },
      q: 'wel',
      sort: 'name',
      dir: 'asc',
      cursor: '3',
    }),
  ).toEqual({
    page: 3,
    pageSize: 25,
    sort: 'name',
    dir: 'asc',
    status: 'active',
    triggerType: 'SCHEDULE',
    failed: 'true',
    search: 'wel',
  })
  expect(workflowsQuery({ limit: 25, filters: { status: 'x', trigger: 'toString', failed: 'x' }, sort: 'x', cursor: '-1' })).toEqual({
    page: 1,
    pageSize: 25,
    sort: 'updatedAt',
    dir: 'desc',
  })
})

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
  ['active', { status: ['RUNNING', 'WAITING'] }],
  ['finished', { status: ['COMPLETED', 'EXITED'] }],
  ['failed', { status: ['FAILED'] }],
  ['entered30Days', { startedFrom: '2026-01-31' }],
  ['executions', {}],
] as const)('the count %s opens the executions %j', (name, expected) => {
  const filters = filtersOfCount(name, '2026-01-31')
  expect(executionsQuery({ limit: 25, filters }, undefined)).toEqual({ page: 1, pageSize: 25, ...expected })
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
