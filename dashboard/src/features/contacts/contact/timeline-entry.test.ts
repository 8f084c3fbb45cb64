import { expect, test } from 'vitest'
import { describeEntry, groupByDay, isKind, typesOf } from './timeline-entry.ts'

const tracked = (eventName: string, data: object = {}) => ({ eventName, data })

test.each([
  ['email.sent', { subject: 'Hello', emailId: 'e1' }, { kind: 'email', title: 'Email sent', detail: 'Hello', path: '/emails/e1' }],
  ['email.opened', { subject: 'Hello', machine: true }, { kind: 'email', title: 'Email opened by a machine', detail: 'Hello' }],
  [
    'email.clicked',
    { subject: 'Hello', link: 'https://example.com' },
    { kind: 'email', title: 'Link clicked', detail: 'Hello · https://example.com' },
  ],
  ['email.bounced', { bounceType: 'Transient' }, { kind: 'email', title: 'Soft bounce' }],
  ['contact.unsubscribed', {}, { kind: 'subscription', title: 'Unsubscribed' }],
  ['contact.suppressed', { reason: 'BOUNCE' }, { kind: 'subscription', title: 'Suppressed', detail: 'BOUNCE' }],
  [
    'workflow.started',
    { workflowId: 'w1', executionId: 'x1', workflowName: 'Welcome' },
    { kind: 'workflow', title: 'Entered a workflow', detail: 'Welcome', path: '/workflows/w1/executions?peek=x1' },
  ],
  ['event.triggered', tracked('segment.pro-users.entry'), { kind: 'segment', title: 'Entered the segment pro-users' }],
  [
    'event.triggered',
    tracked('signup', { subject: 'not an email' }),
    { kind: 'event', title: 'signup', data: { subject: 'not an email' } },
  ],
  ['event.triggered', tracked('signup'), { kind: 'event', title: 'signup' }],
] as const)('%s is described in words', (type, metadata, entry) => {
  expect(describeEntry({ type, metadata })).toEqual(entry)
})

test('a kind is asked of the server by its types', () => {
  expect(typesOf('workflow')).toBe('workflow.started,workflow.completed,workflow.failed')
  expect(typesOf('email').split(',')).toContain('email.skipped')
  expect([typesOf('event'), typesOf('segment')]).toEqual(['event.triggered', 'event.triggered'])
  expect([isKind('email'), isKind('toString'), isKind(undefined)]).toEqual([true, false, false])
})

test('entries are grouped by day in their order', () => {
  const entries = ['2026-11-16T10:00', '2026-11-16T08:00', '2026-11-15T23:00'].map((timestamp) => ({ timestamp }))
  const days = groupByDay(entries, ({ timestamp }) => timestamp.slice(0, 10))
  expect(days.map(({ day, entries: ofDay }) => [day, ofDay.length])).toEqual([
    ['2026-11-16', 2],
    ['2026-11-15', 1],
  ])
})

test('a segment is named and linked while it exists', () => {
  const entry = { type: 'event.triggered' as const, metadata: tracked('segment.pro-users.exit') }
  const segments = { 'pro-users': { id: 's1', name: 'Pro users' } }
  expect(describeEntry(entry, segments)).toEqual({ kind: 'segment', title: 'Left the segment Pro users', path: '/segments/s1' })
})
