import { expect, test } from 'vitest'
import type { Disposition } from '../../transport/classify.ts'
import { createBreaker } from './breaker.ts'

const SENT: Disposition = { action: 'sent', reason: null }
const denied: Disposition = { action: 'retry', about: 'recipient', repeatable: true, reason: '554 5.7.1 Relay access denied' }
const unknown: Disposition = { action: 'fail', about: 'recipient', unknownRecipient: true, reason: '550 5.1.1 No such user' }
const sender: Disposition = { action: 'retry', about: 'sender-domain', reason: '550 Your account has been disabled' }

function start() {
  let now = 0
  const report = createBreaker(() => now)
  return {
    pass: (ms: number) => (now += ms),
    from: (project: string, disposition: Disposition, domain = `${project}.example`) =>
      report({ projectId: project, owner: project, domain, disposition }),
    times: (count: number, project: string, disposition: Disposition) => {
      const from = (given: Disposition) => report({ projectId: project, owner: project, domain: `${project}.example`, disposition: given })
      return Array.from({ length: count }, () => from(disposition)?.pause).at(-1)
    },
  }
}

test('three unknown outcomes of the provider within ten seconds pause it, unless an email is accepted between them', () => {
  const { from, pass } = start()
  const unanswered: Disposition = { action: 'unknown', about: 'provider', reason: '503 ServiceUnavailable: Try again' }
  const outcomes = (count: number) => Array.from({ length: count }, (_, index) => from(`p${index}`, unanswered))
  expect(outcomes(2)).toEqual([undefined, undefined])
  from('b', SENT)
  expect(outcomes(2)).toEqual([undefined, undefined])
  pass(10_001)
  expect(outcomes(2)).toEqual([undefined, undefined])
  pass(10_000)
  expect(outcomes(1)).toEqual([{ pause: 'provider', reason: unanswered.reason }])
  expect(outcomes(3).at(-1)).toMatchObject({ pause: 'provider' })
})

test('emails that a relay took without a reply pause nothing', () => {
  const { times } = start()
  expect(times(100, 'a', { action: 'unknown', reason: 'the connection was lost' })).toBeUndefined()
})

test('a refused session pauses the provider at once', () => {
  const { from } = start()
  expect(from('a', { action: 'retry', about: 'provider', reason: '535 no' })).toEqual({ pause: 'provider', reason: '535 no' })
})

test('twenty identical refusals in a row of those that are retried pause the sender domain, nineteen do not', () => {
  const { times, from } = start()
  expect(times(19, 'a', denied)).toBeUndefined()
  expect(from('a', denied)).toMatchObject({ pause: 'sender-domain', reason: denied.reason })
})

test('an accepted email or a different refusal restarts the count; unknown recipients neither count nor interrupt', () => {
  const { times, from } = start()
  times(19, 'a', denied)
  from('a', SENT)
  expect(times(19, 'a', denied)).toBeUndefined()
  from('a', { ...denied, reason: '554 5.7.1 Something else' })
  expect(times(19, 'a', denied)).toBeUndefined()
  expect(times(100, 'a', unknown)).toBeUndefined()
  expect(from('a', denied)?.pause).toBe('sender-domain')
})

test('refusals are counted per project and per domain', () => {
  const { times, from } = start()
  times(19, 'a', denied)
  expect(times(19, 'b', denied)).toBeUndefined()
  expect(from('a', denied, 'other.example')).toBeUndefined()
})

test('MAIL FROM refusals of one of several active projects concern its domain only, however many', () => {
  const { times, from } = start()
  from('b', SENT)
  expect(times(50, 'a', sender)).toBe('sender-domain')
})

test('MAIL FROM refusals of two projects within a minute concern the provider; further apart they do not', () => {
  const { pass, from } = start()
  expect(from('a', sender)?.pause).toBe('sender-domain')
  pass(59_000)
  expect(from('b', sender)?.pause).toBe('provider')
  const later = start()
  later.from('a', sender)
  later.pass(61_000)
  later.from('c', SENT)
  expect(later.from('b', sender)?.pause).toBe('sender-domain')
})

test('MAIL FROM refusals of two projects of one owner concern their domains', () => {
  const report = createBreaker(() => 0)
  const from = (projectId: string, owner: string, disposition: Disposition) =>
    report({ projectId, owner, domain: `${projectId}.example`, disposition })?.pause
  from('other', 'ada', SENT)
  expect([from('a', 'eve', sender), from('b', 'eve', sender), from('c', 'eve', sender)]).toEqual(Array(3).fill('sender-domain'))
  expect(from('d', 'bob', sender)).toBe('provider')
})

test('refusals that end an email are not counted here', () => {
  const { times } = start()
  expect(times(50, 'a', { ...denied, action: 'fail' })).toBeUndefined()
})

test('MAIL FROM refusals of the only active project concern the provider after the fifth', () => {
  const { times, from } = start()
  expect(times(4, 'a', sender)).toBe('sender-domain')
  expect(from('a', sender)?.pause).toBe('provider')
})

test('a throttled provider pauses nothing', () => {
  const { from } = start()
  expect(from('a', { action: 'retry', about: 'provider', throttled: true, reason: '454' })).toBeUndefined()
})
