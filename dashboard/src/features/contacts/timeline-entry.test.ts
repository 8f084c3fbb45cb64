import { expect, test } from 'vitest'
import { describeEvent, groupByDay } from './timeline-entry.ts'

test.each([
  ['email.sent', { subject: 'Hello' }, { kind: 'email', title: 'Email sent', detail: 'Hello' }],
  ['email.open', { subject: 'Hello', machine: true }, { kind: 'email', title: 'Email opened by a machine', detail: 'Hello' }],
  [
    'email.click',
    { subject: 'Hello', link: 'https://example.com' },
    { kind: 'email', title: 'Link clicked', detail: 'Hello · https://example.com' },
  ],
  ['email.bounce', { bounceType: 'Transient' }, { kind: 'email', title: 'Email bounced for now' }],
  ['contact.unsubscribed', {}, { kind: 'subscription', title: 'Unsubscribed' }],
  ['segment.pro-users.entry', {}, { kind: 'segment', title: 'Entered the segment pro-users' }],
  ['signup', { subject: 'not an email' }, { kind: 'event', title: 'signup' }],
])('%s is described in words', (name, data, entry) => {
  expect(describeEvent({ name, data })).toEqual(entry)
})

test('events are grouped by day in their order', () => {
  const events = ['2026-11-16T10:00', '2026-11-16T08:00', '2026-11-15T23:00'].map((createdAt) => ({ createdAt }))
  const days = groupByDay(events, ({ createdAt }) => createdAt.slice(0, 10))
  expect(days.map(({ day, events }) => [day, events.length])).toEqual([
    ['2026-11-16', 2],
    ['2026-11-15', 1],
  ])
})
