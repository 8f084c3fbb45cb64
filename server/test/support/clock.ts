import { setTimeout as sleep } from 'node:timers/promises'

const HOUR_MS = 3_600_000

/**
 * Waits until the next hour has begun if it is less than `seconds` away, for tests whose rows must be of one hour or of one day. All hours
 * are UTC.
 */
export async function stayWithinHour(seconds = 60) {
  const left = HOUR_MS - (Date.now() % HOUR_MS)
  if (left <= seconds * 1_000) await sleep(left + 10)
}

const DAY_MS = 24 * HOUR_MS

/** Waits until the next day has begun if it is less than `seconds` away. */
export async function stayWithinDay(seconds = 60) {
  if (DAY_MS - (Date.now() % DAY_MS) <= seconds * 1_000) await stayWithinHour(seconds)
}

/** The current day, as `2026-03-01`. */
export const today = () => new Date().toISOString().slice(0, 10)
