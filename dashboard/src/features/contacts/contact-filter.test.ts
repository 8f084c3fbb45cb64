import { expect, test } from 'vitest'
import { NOTHING, select, selectAll } from '../../list/selection.ts'
import { bulkBody, contactFilter, contactsQuery, readFieldFilter } from './contact-filter.ts'

test('the filters of the URL become the filter of the API', () => {
  const filters = { subscribed: 'false', created: '2026-01-01..2026-02-01', field: 'plan=a=b', segment: 's1' }
  expect(contactFilter({ q: 'ada', filters })).toEqual({
    q: 'ada',
    subscribed: false,
    createdFrom: '2026-01-01',
    createdTo: '2026-02-01',
    segmentId: 's1',
    field: 'plan',
    value: 'a=b',
  })
})

test('values of the URL that mean nothing are left out', () => {
  expect(contactFilter({ filters: { subscribed: 'maybe', created: 'soon', field: '=x' } })).toEqual({})
  expect(readFieldFilter('plan')).toBeUndefined()
})

test('a condition is sent as text with the list, and as a tree with a job', () => {
  const condition = { logic: 'AND', groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }] }
  const request = { limit: 25, filters: { condition: JSON.stringify(condition) } }
  expect(contactsQuery(request)).toEqual({ limit: 25, condition: JSON.stringify(condition) })
  expect(bulkBody(selectAll(), request)).toEqual({ mode: 'query', excludeIds: [], filter: { condition } })
  expect(contactFilter({ filters: { condition: '{"logic":"AND","groups":[]}' } })).toEqual({})
})

test('the list asks for the same contacts as a bulk job acts on', () => {
  const request = { q: 'ada', limit: 25, filters: { subscribed: 'true' } }
  expect(contactsQuery(request)).toEqual({ limit: 25, q: 'ada', subscribed: 'true' })
  expect(bulkBody(selectAll(), request)).toEqual({ mode: 'query', excludeIds: [], filter: { q: 'ada', subscribed: true } })
})

test('a bulk job acts on chosen contacts, or on all but a few', () => {
  const request = { filters: {} }
  expect(bulkBody(select(NOTHING, ['a', 'b'], true), request)).toEqual({ mode: 'ids', contactIds: ['a', 'b'] })
  expect(bulkBody(select(selectAll(), ['a'], false), request)).toEqual({ mode: 'query', excludeIds: ['a'], filter: {}, all: true })
})
