import type { CampaignPreflight } from '@sterna/sdk'
import { expect, test } from 'vitest'
import { checksOf } from './checks.ts'

const FINE: CampaignPreflight = {
  audience: { matches: 5_040, unsubscribed: 4_990, suppressed: 31, invalid: 14, recipients: 5, estimated: false },
  missingVariables: [],
  lint: [],
  sender: { from: 'news@acme.example', verified: true },
  ratePerMinute: 60,
  estimatedSeconds: 5,
}

test('a campaign that can be sent has only good checks', () => {
  expect(checksOf(FINE).map(({ level }) => level)).toEqual(['good', 'good', 'good'])
  expect(checksOf(FINE)[0]).toMatchObject({ text: '5 people will get it', part: 'recipients' })
})

test('what keeps it from being sent comes first', () => {
  const checks = checksOf({
    ...FINE,
    audience: { ...FINE.audience, recipients: 0 },
    sender: { from: 'news@acme.example', verified: false },
    missingVariables: [{ variable: 'plan', contacts: 3 }],
  })
  expect(checks.map(({ level }) => level)).toEqual(['wrong', 'wrong', 'warning'])
  expect(checks[0]!.text).toMatch(/No recipients/)
  expect(checks[2]!.text).toMatch(/plan.* empty for 3 people/)
})

test('without a known rate no duration is claimed', () => {
  expect(checksOf({ ...FINE, ratePerMinute: null, estimatedSeconds: null }).map(({ id }) => id)).not.toContain('time')
})
