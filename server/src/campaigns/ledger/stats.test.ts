import { expect, test } from 'vitest'
import { statsOf } from './stats.ts'

const counters = {
  totalRecipients: 1_003,
  sentCount: 1_000,
  deliveredCount: 900,
  openedCount: 333,
  clickedCount: 1,
  machineOpenedCount: 5,
  machineClickedCount: 5,
  bouncedCount: 3,
  complainedCount: 0,
  unsubscribedCount: 0,
  failedCount: 2,
  skippedCount: 1,
}

test('rates are percent of sent with one decimal', () => {
  const { openRate, clickRate, deliveryRate } = statsOf(counters, { refusedCount: 0, deliveryReported: true })
  expect([openRate, clickRate, deliveryRate]).toEqual([33.3, 0.1, 90])
})

test('the bounce rate also counts emails that were refused during transmission', () => {
  const few = { ...counters, sentCount: 98, bouncedCount: 3 }
  expect(statsOf(few, { refusedCount: 2, deliveryReported: true }).bounceRate).toBe(3)
})

test('rates of a campaign that has sent nothing are 0', () => {
  const none = Object.fromEntries(Object.keys(counters).map((name) => [name, 0])) as typeof counters
  const { openRate, bounceRate } = statsOf({ ...none, openedCount: 1 }, { refusedCount: 0, deliveryReported: false })
  expect([openRate, bounceRate]).toEqual([0, 0])
})
