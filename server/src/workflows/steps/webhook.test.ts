import { describe, expect, test } from 'vitest'
import { HOUR, MINUTE, SECOND } from '../../lib/text/units.ts'

import { decideWebhook, type WebhookAnswer } from './webhook.ts'

const now = new Date('2026-06-01T12:00:00.000Z')
const step = { id: '', config: { url: 'https://Hook.example:8443/in', method: 'POST', headers: {} } }
const after = (attempts: number, deadlineAt: Date | null = null) => ({ attempts, deadlineAt, step })
const replied = (status: number, retryAfter?: string) => ({ is: 'status' as const, status, retryAfter, ms: 5 })

const waitOf = (attempts: number, result: WebhookAnswer) => {
  const outcome = decideWebhook(after(attempts), result, now)
  if (outcome.is !== 'wait') throw new Error(`does not wait: ${JSON.stringify(outcome)}`)
  return outcome.until!.getTime() - now.getTime()
}

test.each([200, 201, 204, 299])('status %s ends the step', (status) => {
  expect(decideWebhook(after(2), replied(status), now)).toEqual({ is: 'done', output: { status, durationMs: 5, attempts: 3 } })
})

test.each([301, 302, 304, 400, 401, 404, 408, 410, 422])('status %s fails it without another attempt', (status) => {
  expect(decideWebhook(after(0), replied(status), now)).toEqual({
    is: 'failed',
    error: `The host answered with status ${status}.`,
    output: { status, durationMs: 5, attempts: 1 },
  })
})

test('a refused target fails it without another attempt', () => {
  expect(decideWebhook(after(0), { is: 'refused', reason: 'No.', ms: 1 }, now)).toMatchObject({ is: 'failed', error: 'No.' })
})

test('a deleted contact cancels the execution', () => {
  expect(decideWebhook(after(0), { is: 'gone' }, now)).toEqual({ is: 'cancelled', reason: 'contact_deleted' })
})

describe('429, 5xx and missing replies are tried again', () => {
  test.each([replied(429), replied(500), replied(503), replied(599), { is: 'failed' as const, reason: 'No reply in time.', ms: 5 }])(
    '%j: eight attempts in somewhat less than 24 hours',
    (result) => {
      const waits = [0, 1, 2, 3, 4, 5, 6].map((attempts) => waitOf(attempts, result))
      expect(waits).toEqual([10 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 14 * HOUR])
      expect(waits.reduce((sum, wait) => sum + wait)).toBeLessThan(24 * HOUR)
      expect(decideWebhook(after(7), result, now)).toMatchObject({ is: 'failed', output: { attempts: 8 } })
    },
  )

  test('but not after the deadline', () => {
    const soon = new Date(now.getTime() + 9 * SECOND)
    expect(decideWebhook(after(0, soon), replied(503), now)).toMatchObject({ is: 'failed' })
  })

  test('and wait for the same host', () => {
    expect(decideWebhook(after(0), replied(503), now)).toMatchObject({ webhookHost: 'hook.example:8443', attempts: 1 })
  })
})

test.each([
  ['120', 2 * MINUTE],
  ['1', 10 * SECOND],
  ['0', 10 * SECOND],
  ['86400', HOUR],
  ['999999999', HOUR],
  ['Mon, 01 Jun 2026 12:03:00 GMT', 3 * MINUTE],
  ['Mon, 01 Jun 2026 11:00:00 GMT', 10 * SECOND],
  ['-5', 10 * SECOND],
  ['1e9', 10 * SECOND],
  ['soon', 10 * SECOND],
  ['', 10 * SECOND],
])('Retry-After "%s" makes the first wait %s ms: never shorter than usual, and at most an hour', (retryAfter, wait) => {
  expect(waitOf(0, replied(429, retryAfter))).toBe(wait)
  expect(waitOf(0, replied(503, retryAfter))).toBe(wait)
})
