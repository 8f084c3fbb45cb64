import { expect, test } from 'vitest'
import { executionsQuery, toCursorPage, workflowsQuery } from './list-query.ts'

test('a request for workflows leaves out what the API would refuse', () => {
  expect(workflowsQuery({ limit: 25, filters: { status: 'active' }, q: 'wel', sort: 'name', dir: 'asc', cursor: '3' })).toEqual({
    page: 3,
    pageSize: 25,
    sort: 'name',
    dir: 'asc',
    status: 'active',
    search: 'wel',
  })
  expect(workflowsQuery({ limit: 25, filters: { status: 'x' }, sort: 'x', cursor: '-1' })).toEqual({
    page: 1,
    pageSize: 25,
    sort: 'updatedAt',
    dir: 'desc',
  })
})

test('a request for executions leaves out what the API would refuse', () => {
  const step = '0198c0de-0000-7000-8000-000000000001'
  expect(executionsQuery({ limit: 50, filters: { status: 'FAILED', step } }, 'c1')).toEqual({
    page: 1,
    pageSize: 50,
    status: 'FAILED',
    stepId: step,
    contactId: 'c1',
  })
  expect(executionsQuery({ limit: 50, filters: { status: 'failed', step: 'x' } }, undefined)).toEqual({ page: 1, pageSize: 50 })
})

test('the number of the next page is the cursor', () => {
  expect(toCursorPage({ data: [], total: 60, page: 2, totalPages: 3 })).toMatchObject({ cursor: '3', hasMore: true })
  expect(toCursorPage({ data: [], total: 60, page: 3, totalPages: 3 })).toMatchObject({ cursor: null, hasMore: false })
})
