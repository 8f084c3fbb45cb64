import type { CampaignPreflight } from '@sterna/sdk'
import { expect, test } from 'vitest'
import { checksOf } from './checks.ts'

const BODY = '<p>News</p>'
const FINE: CampaignPreflight = {
  audience: { matches: 5_040, unsubscribed: 4_990, suppressed: 31, invalid: 14, recipients: 5, estimated: false },
  missingVariables: [],
  lint: [],
  sender: { from: 'news@acme.example', verified: true },
  ratePerMinute: 60,
  estimatedSeconds: 5,
}

test('a campaign that can be sent has only good checks', () => {
  expect(checksOf(FINE, BODY).map(({ level }) => level)).toEqual(['good', 'good', 'good'])
  expect(checksOf(FINE, BODY)[0]).toMatchObject({ text: '5 people will get it', part: 'recipients' })
})

test('what keeps it from being sent comes first', () => {
  const checks = checksOf(
    {
      ...FINE,
      audience: { ...FINE.audience, recipients: 0 },
      sender: { from: 'news@acme.example', verified: false },
      missingVariables: [{ variable: 'plan', contacts: 3 }],
    },
    BODY,
  )
  expect(checks.map(({ level }) => level)).toEqual(['wrong', 'wrong', 'warning'])
  expect(checks[0]!.text).toMatch(/No recipients/)
  expect(checks[2]!.text).toMatch(/plan.* empty for 3 people/)
})

test('without a known rate no duration is claimed', () => {
  expect(checksOf({ ...FINE, ratePerMinute: null, estimatedSeconds: null }, BODY).map(({ id }) => id)).not.toContain('time')
})

test('links that still lead to the address of the starters are a warning', () => {
  const levels = (body: string) => checksOf(FINE, body).map(({ level }) => level)
  expect(levels('<a href="https://example.com/news">News</a>')).toContain('warning')
  expect(levels('<a href="https://example.community/news">example.com</a>')).not.toContain('warning')
})
