import { GivenTime } from '../../http/core/validate.ts'
import { invalid } from '../../lib/errors/errors.ts'
import { DAY, SECOND } from '../../lib/text/units.ts'

/** Clocks differ, and requests take time: up to this much in the past is now. */
const MAX_PAST_MS = 60 * SECOND
const MAX_DAYS_AHEAD = 30

export const SendAt = GivenTime.describe(`When to send it, at most ${MAX_DAYS_AHEAD} days ahead. Up to 60 seconds in the past is now.`)

/** Null: now. Whether another time has come is for the database to say: the clock of this node may be wrong. */
export function readSendAt(given: string | null | undefined): Date | null {
  if (given === null || given === undefined) return null
  const [at, now] = [new Date(given), Date.now()]
  if (at.getTime() < now - MAX_PAST_MS) invalid('sendAt', 'Must not be in the past.', 'too_small')
  if (at.getTime() > now + MAX_DAYS_AHEAD * DAY) invalid('sendAt', `Must be at most ${MAX_DAYS_AHEAD} days ahead.`, 'too_big')
  return at
}
