import { describe, expect, test } from 'vitest'
import { nextFiring, readCron } from './cron.ts'

const firings = (text: string, timezone: string, after: string, count: number) => {
  const cron = readCron(text)
  if ('problem' in cron) throw new Error(cron.problem)
  const found: string[] = []
  for (let at: Date | undefined = new Date(after); found.length < count; found.push(at.toISOString())) {
    at = nextFiring(cron, timezone, at)
    if (!at) break
  }
  return found
}

describe('the next firing', () => {
  test.each<[string, string, string, string, string[]]>([
    ['every minute', '* * * * *', 'UTC', '2026-01-01T00:00:30Z', ['2026-01-01T00:01:00.000Z', '2026-01-01T00:02:00.000Z']],
    ['every quarter', '*/15 * * * *', 'UTC', '2026-01-01T23:50:00Z', ['2026-01-02T00:00:00.000Z', '2026-01-02T00:15:00.000Z']],
    ['on weekdays', '0 9 * * mon-fri', 'UTC', '2026-01-02T09:00:00Z', ['2026-01-05T09:00:00.000Z']],
    ['on Sundays, as 7', '0 9 * * 7', 'UTC', '2026-01-02T09:00:00Z', ['2026-01-04T09:00:00.000Z']],
    [
      'by day or weekday, if both are given',
      '0 0 13 * 5',
      'UTC',
      '2026-01-10T00:00:00Z',
      ['2026-01-13T00:00:00.000Z', '2026-01-16T00:00:00.000Z'],
    ],
    ['in a zone ahead of UTC', '0 9 * * *', 'Asia/Tokyo', '2026-01-01T00:00:00Z', ['2026-01-02T00:00:00.000Z']],
    [
      'in a zone behind UTC',
      '30 23 * * *',
      'America/New_York',
      '2026-01-01T00:00:00Z',
      ['2026-01-01T04:30:00.000Z', '2026-01-02T04:30:00.000Z'],
    ],
    [
      'after the hour that summer time skips',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00:00Z',
      ['2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z'],
    ],
    [
      'once in the hour that comes twice',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-10-24T12:00:00Z',
      ['2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z'],
    ],
    [
      'once for all minutes that do not exist',
      '*/20 2 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00:00Z',
      ['2026-03-29T01:00:00.000Z', '2026-03-30T00:00:00.000Z'],
    ],
    [
      'once for each local time of the hour that comes twice',
      '*/30 * * * *',
      'Europe/Berlin',
      '2026-10-25T00:00:00Z',
      ['2026-10-25T00:30:00.000Z', '2026-10-25T02:00:00.000Z'],
    ],
    ['from a minute on, in steps', '5/25 * * * *', 'UTC', '2026-01-01T00:00:00Z', ['2026-01-01T00:05:00.000Z', '2026-01-01T00:30:00.000Z']],
    ['on the last day of a month', '0 0 L * *', 'UTC', '2026-02-01T00:00:00Z', ['2026-02-28T00:00:00.000Z']],
    ['on the next leap day', '0 0 29 2 *', 'UTC', '2096-03-01T00:00:00Z', ['2104-02-29T00:00:00.000Z']],
    ['never, for a date that does not exist', '0 0 31 2 *', 'UTC', '2026-01-01T00:00:00Z', []],
  ])('is %s', (_, text, timezone, after, expected) => {
    expect(firings(text, timezone, after, expected.length || 1)).toEqual(expected)
  })
})

test.each([
  '',
  '* * * *',
  '* * * * * *',
  '60 * * * *',
  '* 24 * * *',
  '* * 0 * *',
  '* * * 13 *',
  '* * * * 8',
  '5-1 * * * *',
  '*/0 * * * *',
  'a * * * *',
  '1,,2 * * * *',
  '@daily',
])('"%s" is no schedule', (text) => {
  expect(readCron(text)).toEqual({ problem: expect.any(String) })
})
