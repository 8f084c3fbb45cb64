import { describe, expect, test } from 'vitest'
import { lastMissedFiring } from './schedule.ts'

const workflow = (schedule: string) => ({
  enabled: true,
  triggerType: 'SCHEDULE' as const,
  triggerConfig: { schedule, timezone: 'UTC', segmentId: '' },
})

describe('the firing to make up for', () => {
  test.each<[string, string, string, string, string | undefined]>([
    ['the one that is due', '0 9 * * *', '2026-01-01T09:00:00Z', '2026-01-01T09:00:01Z', '2026-01-01T09:00:00.000Z'],
    ['the last one of several', '*/20 * * * *', '2026-01-01T05:00:00Z', '2026-01-01T09:50:00Z', '2026-01-01T09:40:00.000Z'],
    ['one that is an hour old', '0 9 * * *', '2026-01-01T09:00:00Z', '2026-01-01T10:00:00Z', '2026-01-01T09:00:00.000Z'],
    ['none that is older', '0 9 * * *', '2026-01-01T09:00:00Z', '2026-01-01T10:00:01Z', undefined],
    [
      'the last one of an hourly schedule after a day',
      '30 * * * *',
      '2026-01-01T09:30:00Z',
      '2026-01-02T09:45:00Z',
      '2026-01-02T09:30:00.000Z',
    ],
  ])('is %s', (_, schedule, due, now, expected) => {
    expect(lastMissedFiring(workflow(schedule), { due: new Date(due), now: new Date(now) })?.toISOString()).toBe(expected)
  })
})
