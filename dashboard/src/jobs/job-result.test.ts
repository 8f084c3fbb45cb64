import { expect, test } from 'vitest'
import { describeJobResult, hasFailures, labelOf } from './job-result.ts'

const done = (result: Record<string, unknown>) => ({ state: 'completed' as const, result, failedReason: null })

test('the result of a bulk job names changed, unchanged and failed', () => {
  expect(describeJobResult(done({ successCount: 10, unchangedCount: 3, failureCount: 1 }))).toBe('7 changed, 3 unchanged, 1 failed')
})

test('the result of an import names created, updated and failed', () => {
  expect(describeJobResult(done({ successCount: 5, createdCount: 4, updatedCount: 1, failureCount: 2 }))).toBe(
    '4 created, 1 updated, 2 failed',
  )
  expect(hasFailures(done({ failureCount: 2 }))).toBe(true)
})

test('a job without an effect says so, a failed one says why, a running one nothing', () => {
  expect(describeJobResult(done({}))).toBe('Nothing to do')
  expect(describeJobResult({ state: 'failed', result: null, failedReason: 'No email column.' })).toBe('No email column.')
  expect(describeJobResult({ state: 'active', result: {}, failedReason: null })).toBeUndefined()
})

test('the result of an export names the contacts in the file', () => {
  expect(describeJobResult(done({ exportedCount: 1_204, bytes: 9 }))).toBe('1,204 exported')
})

test('a job that was started elsewhere is named by its kind, and one that runs on its own is not shown', () => {
  expect(labelOf({ type: 'bulk-delete' })).toBe('Delete contacts')
  expect([labelOf({ type: 'compute-segment' }), labelOf({ type: 'constructor' })]).toEqual([undefined, undefined])
})
