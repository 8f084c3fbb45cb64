import { expect, test } from 'vitest'
import { countRows, type ImportCheck, joinChecks } from './join-checks.ts'

const check = (more: Partial<ImportCheck>): ImportCheck => ({
  dryRun: true,
  totalRows: 10,
  validCount: 9,
  failureCount: 1,
  duplicateCount: 0,
  newCount: 9,
  knownCount: 0,
  unsubscribeCount: 0,
  misspeltCount: 0,
  fileError: null,
  columns: [],
  errors: [{ row: 3, email: 'x', error: 'Not a valid email address' }],
  duplicates: [],
  misspelt: [],
  ...more,
})

test('the parts of a file are checked as one: counts add up', () => {
  const bad = (row: number) => [{ row, email: 'x', error: 'Not a valid email address' }]
  const checks = [check({}), check({ fileError: 'Line 3 opens a quote.', errors: bad(13) }), check({ knownCount: 2, errors: bad(23) })]
  const joined = joinChecks(checks)
  expect(joined).toMatchObject({ totalRows: 30, validCount: 27, failureCount: 3, knownCount: 2, fileError: 'Line 3 opens a quote.' })
  expect(joined.errors.map(({ row }) => row)).toEqual([3, 13, 23])
  expect(joinChecks([check({})])).toEqual(check({}))
  expect([countRows([]), countRows(checks.slice(0, 2))]).toEqual([0, 20])
})
