import { readDay } from '../events/day.ts'
import { lowestId } from '../lib/id.ts'
import { DAY } from '../lib/units.ts'

/** UUIDs begin with a time of 48 bits: one past the year 9999 is still a valid one. */
const HIGHEST = new Date('9999-12-31T23:59:59.999Z')
/** Ids hold no time before this. */
const LOWEST = new Date(0)

/** The ids from a date or time on. 400 if it is neither. */
export const firstIdOf = (field: string, given: string | undefined) => {
  const time = momentOf(field, given)
  return time && lowestId(clamp(time))
}

/** The ids up to a time, or up to the end of a day. */
export const endIdOf = (field: string, given: string | undefined) => {
  const time = momentOf(field, given)
  return time && lowestId(clamp(new Date(time.getTime() + (given!.includes('T') ? 1 : DAY))))
}

function momentOf(field: string, given: string | undefined): Date | undefined {
  const day = readDay(field, given)
  if (day === undefined || given === undefined) return undefined
  if (!given.includes('T')) return new Date(`${day}T00:00:00Z`)
  return new Date(/T[\d:.]+$/.test(given) ? `${given}Z` : given)
}

const clamp = (time: Date) => (time < LOWEST ? LOWEST : time > HIGHEST ? HIGHEST : time)
