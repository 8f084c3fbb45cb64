import { expect, test } from 'vitest'
import { executionsQuery } from './executions/executions-query.ts'
import { filtersOfCount, workflowsQuery } from './workflows-query.ts'

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
