import { expect, test } from 'vitest'
import { templatesQuery } from './templates-query.ts'

test('the newest edit comes first, and the cursor is the number of the page', () => {
  expect(templatesQuery({ limit: 25, filters: {} })).toEqual({ page: 1, pageSize: 25, sort: 'updatedAt', dir: 'desc' })
  expect(
    templatesQuery({ limit: 50, cursor: '3', q: 'hello', sort: 'name', dir: 'asc', filters: { type: 'MARKETING', workflow: 'none' } }),
  ).toEqual({
    page: 3,
    pageSize: 50,
    sort: 'name',
    dir: 'asc',
    type: 'MARKETING',
    workflowId: 'none',
    search: 'hello',
  })
})

test('a page and a type that do not exist are ignored', () => {
  expect(templatesQuery({ limit: 25, cursor: 'x', filters: { type: 'toString' } })).toMatchObject({ page: 1 })
  expect(templatesQuery({ limit: 25, cursor: '-1', filters: { type: 'toString' } })).not.toHaveProperty('type')
})
