import { expect, test } from 'vitest'
import { isUnderWay } from './emails.ts'

test.each([
  ['SENDING', null, true],
  // The report that it bounced may follow at once.
  ['SENT', '2026-05-01T10:00:00.000Z', true],
  ['SENT', '2026-05-01T09:59:00.000Z', false],
  ['BOUNCED', '2026-05-01T10:00:00.000Z', false],
] as const)('an email that is %s since %s may change soon: %s', (status, sentAt, expected) => {
  expect(isUnderWay({ status, sentAt }, Date.parse('2026-05-01T10:00:05.000Z'))).toBe(expected)
})
