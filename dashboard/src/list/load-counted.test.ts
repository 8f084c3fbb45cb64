import { expect, test } from 'vitest'
import type { ListRequest } from './list-search.ts'
import { loadCounted } from './load-counted.ts'

const request: ListRequest = { limit: 25, filters: { status: 'SENT' } }

test('a later page of an API that counts only the first has the total of the first', async () => {
  const asked: ListRequest[] = []
  const load = async (each: ListRequest) => {
    asked.push(each)
    return { data: each.limit, total: each.cursor ? 0 : 60 }
  }
  expect(await loadCounted(load, { ...request, cursor: 'abc' })).toEqual({ data: 25, total: 60 })
  expect(asked).toEqual([
    { ...request, cursor: 'abc' },
    { ...request, limit: 1 },
  ])
})

test('what is counted is not counted again', async () => {
  let calls = 0
  const load = async () => ({ total: calls++ ? 0 : 60 })
  expect(await loadCounted(load, { ...request, cursor: '2' })).toEqual({ total: 60 })
  expect(calls).toBe(1)
})
