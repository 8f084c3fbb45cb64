import { expect, test } from 'vitest'
import { commandsIn, type DoctorCheck, groupChecks, reportOf } from './report.ts'

const CHECKS: DoctorCheck[] = [
  { group: 'disk', name: 'disk', verdict: 'ok', note: '20 GB free' },
  { group: 'sending', name: 'workers', verdict: 'warn', note: 'none is running' },
]

test('checks stand in their groups', () => {
  expect(groupChecks(CHECKS).map(({ group, checks }) => [group, checks.length])).toEqual([
    ['sending', 1],
    ['disk', 1],
  ])
})

test('a report has one line for each check', () => {
  expect(reportOf({ checks: CHECKS, checkedAt: '2026-01-01T00:00:00.000Z' })).toBe(
    'Sterna, checked 2026-01-01T00:00:00.000Z\nok   disk: 20 GB free\nwarn workers: none is running',
  )
})

test('commands of a note can be copied', () => {
  expect(commandsIn('look for it there, then run: npm run sterna -- usage resolve x sent|again')).toEqual([
    'npm run sterna -- usage resolve x sent|again',
  ])
  expect(commandsIn('all is well')).toEqual([])
})
