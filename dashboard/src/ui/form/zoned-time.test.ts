import { expect, test } from 'vitest'
import { momentOf, presetsOf, shortTime, textIn, utcText } from './zoned-time.ts'

test.each([
  ['2026-05-09T09:00', 'UTC', '2026-05-09T09:00:00.000Z'],
  ['2026-05-09T09:00', 'Europe/Zurich', '2026-05-09T07:00:00.000Z'],
  ['2026-01-09T09:00', 'Europe/Zurich', '2026-01-09T08:00:00.000Z'],
  ['2026-05-09T09:00', 'America/New_York', '2026-05-09T13:00:00.000Z'],
  ['2026-05-09T00:30', 'Asia/Kolkata', '2026-05-08T19:00:00.000Z'],
  // An hour after the clocks went back, and the hour that they skip in spring.
  ['2026-10-25T04:00', 'Europe/Zurich', '2026-10-25T03:00:00.000Z'],
  ['2026-03-29T02:30', 'Europe/Zurich', '2026-03-29T01:30:00.000Z'],
])('%s in %s is %s', (text, zone, moment) => {
  expect(momentOf({ text, zone })?.toISOString()).toBe(moment)
})

test('a text that is no time has no moment', () => {
  expect(momentOf({ text: '', zone: 'UTC' })).toBeUndefined()
  expect(momentOf({ text: '2026-05-09', zone: 'UTC' })).toBeUndefined()
})

test('a moment is shown as the clocks of the zone show it', () => {
  const at = new Date('2026-05-09T22:30:00Z')
  expect(textIn('Asia/Tokyo', at)).toBe('2026-05-10T07:30')
  expect(utcText(at)).toBe('2026-05-09 22:30 UTC')
  expect(shortTime(at, 'Asia/Tokyo', 'en-GB')).toBe('10 May, 07:30')
})

test('the presets are in the future, and Monday is never today', () => {
  const monday = new Date('2026-05-11T10:00:00Z')
  expect(presetsOf('UTC', monday)).toEqual([
    { label: 'In an hour', text: '2026-05-11T11:00' },
    { label: 'Tomorrow, 09:00', text: '2026-05-12T09:00' },
    { label: 'Monday, 09:00', text: '2026-05-18T09:00' },
  ])
})
