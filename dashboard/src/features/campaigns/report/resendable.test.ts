import { expect, test } from 'vitest'
import { resendableOf } from './resendable.ts'

test('a resend takes passing failures only; those with an unknown outcome are apart', () => {
  const { passing, count, unknown } = resendableOf([
    { outcome: 'failed', reason: 'transient', recipients: 100 },
    { outcome: 'failed', reason: 'expired', recipients: 50 },
    { outcome: 'failed', reason: 'bounced', recipients: 7 },
    { outcome: 'failed', reason: 'outcome_unknown', recipients: 2 },
    { outcome: 'skipped', reason: 'suppressed', recipients: 1 },
    { outcome: 'open', reason: 'transient', recipients: 9 },
  ])
  expect([passing.map(({ reason }) => reason), count, unknown]).toEqual([['transient', 'expired'], 150, 2])
})
