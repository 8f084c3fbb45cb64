import { expect, test } from 'vitest'
import { alertsOf } from './alerts.ts'

const cap = (isBlocked = false) => ({ isBlocked, isWarning: isBlocked })
const STATUS = {
  isHealthy: true,
  shouldDisable: false,
  violations: [],
  warnings: [],
  twentyFourHour: { total: 0, bounces: 0, complaints: 0, bounceRate: 0, complaintRate: 0 },
  sevenDay: { total: 0, bounces: 0, complaints: 0, bounceRate: 0, complaintRate: 0 },
  allTime: { total: 0, bounces: 0, complaints: 0, bounceRate: 0, complaintRate: 0 },
}
const WELL = {
  domains: [{ domain: 'example.com', status: 'verified' as const }],
  security: { isDisabled: false, status: STATUS },
  limits: { transactional: cap(), campaigns: cap(), workflows: cap(), inbound: cap() },
  paused: [],
  doctor: 'ok' as const,
}

test('nothing is said when all is well, or not known yet', () => {
  expect(alertsOf(WELL)).toEqual([])
  expect(alertsOf({ domains: [], paused: [] })).toEqual([])
})

test('each thing that is wrong has a line and a fix', () => {
  const alerts = alertsOf({
    domains: [
      { domain: 'mail.example.com', status: 'pending' },
      { domain: 'try-0123abcd.test', status: 'pending' },
    ],
    security: { isDisabled: false, status: { ...STATUS, warnings: ['The bounce rate is 6 %.'] } },
    limits: { ...WELL.limits, campaigns: cap(true) },
    paused: [{ id: 'c1', name: 'May news', reason: 'bounce spike' }],
    doctor: 'FAIL',
  })
  expect(alerts.map(({ path }) => path)).toEqual(['/settings/security', '/settings/billing', '/campaigns/c1', '/domains', '/doctor'])
  expect(alerts[1]!.text).toBe('The cap of campaigns is reached.')
})

test('a stopped project does not repeat the rates that stopped it', () => {
  const security = { isDisabled: true, status: { ...STATUS, violations: ['The bounce rate is 12 %.'] } }
  expect(alertsOf({ ...WELL, security }).map(({ id }) => id)).toEqual(['disabled'])
})
