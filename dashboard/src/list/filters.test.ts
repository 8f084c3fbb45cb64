import { expect, test } from 'vitest'
import { describeListFilter, type Filter, readRange, writeRange } from './filters.ts'

const created: Filter = { name: 'created', label: 'Created', kind: 'range' }
const status: Filter = { name: 'status', label: 'Status', kind: 'choices', options: { SENT: 'Sent', FAILED: 'Failed' } }

test.each([
  [created, '2026-01-01..', 'Created: since 2026-01-01'],
  [created, '..2026-02-01', 'Created: until 2026-02-01'],
  [created, '2026-01-01..2026-02-01', 'Created: 2026-01-01 to 2026-02-01'],
  [created, '2026-01-01T23:00:00.000Z..2026-01-02T22:59:59.999Z', 'Created: 2026-01-01 23:00 UTC to 2026-01-02 22:59 UTC'],
  [created, 'rubbish', 'Created: any time'],
  [status, 'SENT,FAILED', 'Status: Sent, Failed'],
  [status, 'NEW', 'Status: NEW'],
])('the pill of %o with %s says "%s"', (filter, value, text) => {
  expect(describeListFilter(filter, value)).toBe(text)
})

test('a range of dates is one value in the URL', () => {
  expect(readRange(writeRange({ from: '2026-01-01' }))).toEqual({ from: '2026-01-01' })
  expect(readRange("2026-01-01..'; drop table")).toEqual({ from: '2026-01-01' })
  expect(writeRange({ from: '', to: '' })).toBeUndefined()
})
