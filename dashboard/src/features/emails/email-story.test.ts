import { expect, test } from 'vitest'
import { canResend, inPlainWords, shownEmailStatus, tellStep, timeToSend } from './email-story.ts'

const email = { errorCode: null, attempts: 1, type: 'TRANSACTIONAL' } as const

test.each([
  ['550 5.1.1 No such user', 'There is no mailbox with this address.'],
  ['452 4.2.2 quota exceeded', 'The mailbox is full.'],
  ['421 4.7.28 unusual rate', 'The receiving server refuses it by its policy, often because it distrusts the sender or the content.'],
  ['451 4.3.0 Try again later', 'The receiving server has a problem of its own.'],
  ['550 go away', undefined],
  ['connect to 10.2.3.4 failed', undefined],
])('the reply "%s" means: %s', (reply, words) => {
  expect(inPlainWords(reply)).toBe(words)
})

test('a bounce quotes the reply of the receiving server', () => {
  const entry = { what: 'email.bounce', details: { reason: '550 5.1.1 No such user' } }
  expect(tellStep(entry, email)).toEqual({
    title: 'Bounced',
    tone: 'danger',
    words: 'There is no mailbox with this address.',
    reply: '550 5.1.1 No such user',
  })
  expect(tellStep({ ...entry, details: { ...entry.details, bounceType: 'Transient' } }, email).title).toBe('Soft bounce')
})

test('an email that waits says why, how often it was tried and until when', () => {
  const entry = { what: 'deferred', details: { reason: '452 4.2.2 quota exceeded' } }
  expect(tellStep(entry, { ...email, errorCode: 'transient', attempts: 3 }).words).toBe(
    'The mailbox is full. 3 attempts so far. It is tried again at growing intervals, for up to three days.',
  )
  expect(tellStep(entry, { ...email, errorCode: 'throttled' }).words).toMatch(/asks for fewer emails/)
})

test('opens by machines are told apart from those by people', () => {
  expect(tellStep({ what: 'email.open', details: { machine: true } }, email).title).toBe('Opened by a machine')
  expect(tellStep({ what: 'email.open', details: {} }, email)).toEqual({ title: 'Opened', tone: 'plain' })
})

test('an unknown outcome names the rule that will settle it, by the type of the email', () => {
  const entry = { what: 'outcome unknown', details: {} }
  expect(tellStep(entry, email).words).toMatch(/sent once more/)
  expect(tellStep(entry, { ...email, type: 'MARKETING' }).words).toMatch(/counts as failed/)
})

test('a step that this version does not know is shown by its name', () => {
  expect(tellStep({ what: 'email.archived', details: {} }, email)).toEqual({ title: 'email.archived', tone: 'plain' })
})

test('an email without a reply is shown as unknown, one that came in as received', () => {
  const sent = {
    status: 'SENDING',
    outcomeUnknownSince: '2026-01-01T00:00:00Z',
    sourceType: 'TRANSACTIONAL',
    sendAt: null,
    attempts: 1,
  } as const
  expect(shownEmailStatus(sent)).toBe('UNKNOWN')
  expect(shownEmailStatus({ ...sent, outcomeUnknownSince: null })).toBe('SENDING')
  expect(shownEmailStatus({ ...sent, sourceType: 'INBOUND' })).toBe('RECEIVED')
})

test('an email that waits for its time is shown as scheduled until a worker has taken it', () => {
  const later = { status: 'PENDING', outcomeUnknownSince: null, sourceType: 'TRANSACTIONAL', sendAt: '2026-01-01T00:00:00Z' } as const
  expect(shownEmailStatus({ ...later, attempts: 0 })).toBe('SCHEDULED')
  expect(shownEmailStatus({ ...later, attempts: 1 })).toBe('PENDING')
  expect(shownEmailStatus({ ...later, attempts: 0, sendAt: null })).toBe('PENDING')
})

test('only a failed transactional email can be resent', () => {
  expect(canResend({ status: 'FAILED', sourceType: 'TRANSACTIONAL' })).toBe(true)
  expect(canResend({ status: 'BOUNCED', sourceType: 'TRANSACTIONAL' })).toBe(false)
  expect(canResend({ status: 'FAILED', sourceType: 'CAMPAIGN' })).toBe(false)
})

test.each([
  ['2026-01-01T00:00:00.840Z', '0.8 s'],
  ['2026-01-01T00:00:42Z', '42 s'],
  ['2026-01-01T00:40:00Z', '40 min'],
  ['2026-01-01T05:00:00Z', '5 h'],
  ['2026-01-04T00:00:00Z', '3 days'],
])('sent at %s it took %s', (sentAt, took) => {
  expect(timeToSend({ createdAt: '2026-01-01T00:00:00Z', sentAt })).toBe(took)
})
