import { expect, test } from 'vitest'
import { createInboxQuota } from './inbox-quota.ts'

const LIMITS = { messagesPerMinute: 6, messagesOfOneNetwork: 3 }

test('one network cannot use up the quota of a project, nor its own share in another project', () => {
  const quota = createInboxQuota(LIMITS)
  for (let count = 0; count < 3; count++) quota.count('a', '8.8.8.8')
  expect(quota.isUsedUp('a', '8.8.8.8')).toBe(true)
  expect(quota.isUsedUp('a', '9.9.9.9')).toBe(false)
  expect(quota.isUsedUp('b', '8.8.8.8')).toBe(false)
})

test('an IPv6 network counts as one', () => {
  const quota = createInboxQuota(LIMITS)
  for (let host = 1; host <= 3; host++) quota.count('a', `2a00:1450:4001:1::${host}`)
  expect(quota.isUsedUp('a', '2a00:1450:4001:1::99')).toBe(true)
  expect(quota.isUsedUp('a', '2a00:1450:4001:2::1')).toBe(false)
})

test('all networks together are bound by the limit of the project', () => {
  const quota = createInboxQuota(LIMITS)
  for (let host = 1; host <= 6; host++) quota.count('a', `8.8.${host}.1`)
  expect(quota.isUsedUp('a', '1.1.1.1')).toBe(true)
})

test('a relay of the operator may use the whole limit of the project', () => {
  const quota = createInboxQuota(LIMITS)
  for (let count = 0; count < 5; count++) quota.count('a', '10.0.0.1')
  expect(quota.isUsedUp('a', '10.0.0.1')).toBe(false)
  quota.count('a', '10.0.0.1')
  expect(quota.isUsedUp('a', '10.0.0.1')).toBe(true)
})
