import { expect, test } from 'vitest'
import { cancelFilter, executionsQuery, workflowsQuery } from './list-query.ts'

test('a request for workflows leaves out what the API would refuse', () => {
  expect(
    workflowsQuery({ limit: 25, filters: { status: 'active', trigger: 'SCHEDULE' }, q: 'wel', sort: 'name', dir: 'asc', cursor: '3' }),
  ).toEqual({
    page: 3,
    pageSize: 25,
    sort: 'name',
    dir: 'asc',
    status: 'active',
    triggerType: 'SCHEDULE',
    search: 'wel',
  })
  expect(workflowsQuery({ limit: 25, filters: { status: 'x', trigger: 'toString' }, sort: 'x', cursor: '-1' })).toEqual({
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

test.each([
  [{}, {}],
  [{ status: 'RUNNING,WAITING' }, {}],
  [{ status: 'WAITING,FAILED' }, { status: 'WAITING' }],
  [{ status: 'COMPLETED' }, undefined],
  [{ started: '2026-01-01..2026-01-02' }, { startedFrom: '2026-01-01', startedTo: '2026-01-02' }],
])('of the filters %j, %j is cancelled', (filters, cancelled) => {
  expect(cancelFilter(filters, undefined)).toEqual(cancelled)
})
