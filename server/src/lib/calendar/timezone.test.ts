import { describe, expect, test } from 'vitest'
import { HOUR } from '../text/units.ts'
import { createLocalClock, isTimezone } from './timezone.ts'

describe('a time zone', () => {
  test.each([
    ['UTC', true],
    ['Europe/Berlin', true],
    ['America/Argentina/Buenos_Aires', true],
    ['Asia/Kolkata', true],
    ['', false],
    ['+02:00', false],
    ['Europe/Atlantis', false],
    [`Europe/${'B'.repeat(100)}`, false],
    ["UTC'; select 1", false],
  ])('%j is known: %s', (name, known) => {
    expect(isTimezone(name)).toBe(known)
  })

  test('turns UTC hours into local ones, also on the days on which the clock changes', () => {
    const local = createLocalClock('Europe/Berlin')
    expect(local(new Date('2026-01-31T23:00:00Z'))).toEqual({ day: '2026-02-01', hour: 0, weekday: 7 })
    const march = Array.from({ length: 4 }, (_, n) => local(new Date(Date.parse('2026-03-28T23:00:00Z') + n * HOUR)))
    expect(march.map(({ day, hour }) => `${day} ${hour}`)).toEqual(['2026-03-29 0', '2026-03-29 1', '2026-03-29 3', '2026-03-29 4'])
    expect(local(new Date('2026-06-30T22:00:00Z'))).toEqual({ day: '2026-07-01', hour: 0, weekday: 3 })
    expect(createLocalClock('America/New_York')(new Date('2026-07-01T03:00:00Z')).day).toBe('2026-06-30')
  })
})
