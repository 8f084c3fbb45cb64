import { expect, test } from 'vitest'
import { changeSearch, isFiltered, listSearch, nextSort, readRequest } from './list-search.ts'

const defaults = { filters: ['subscribed', 'created'], size: 25 }

test('the URL of a list keeps its own parameters and drops all others', () => {
  expect(listSearch('subscribed')({ q: 'ada', subscribed: 'true', cursor: '', other: 'x', peek: 5 })).toEqual({
    q: 'ada',
    subscribed: 'true',
  })
})

test('a request has the filters of the URL, and a page size that is offered', () => {
  expect(readRequest({ q: 'ada', subscribed: 'true', size: '50', dir: 'sideways' }, defaults)).toEqual({
    q: 'ada',
    limit: 50,
    filters: { subscribed: 'true' },
  })
  expect(readRequest({ size: '100000' }, defaults).limit).toBe(25)
})

test('a list counts as filtered by a search or a filter, not by its order', () => {
  const filtered = (search: Record<string, string>) => isFiltered(readRequest(search, defaults))
  expect([filtered({ sort: 'email' }), filtered({ q: 'a' }), filtered({ created: '..' })]).toEqual([false, true, true])
})

test('a new filter starts at the first page and closes the panel; an empty value removes it', () => {
  const search = { q: 'ada', subscribed: 'true', cursor: 'abc', peek: 'id' }
  expect(changeSearch(search, { subscribed: undefined })).toEqual({ q: 'ada' })
})

test('a heading sorts in its usual direction first, then in the other', () => {
  expect(nextSort({}, 'email')).toEqual({ sort: 'email', dir: 'asc' })
  expect(nextSort({ sort: 'email', dir: 'asc' }, 'email')).toEqual({ sort: 'email', dir: 'desc' })
  expect(nextSort({ sort: 'email', dir: 'asc' }, 'createdAt', 'desc')).toEqual({ sort: 'createdAt', dir: 'desc' })
})
