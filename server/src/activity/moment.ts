import { type Dates, readDay, refuseReversed } from '../events/day.ts'
import { lowestId } from '../lib/id.ts'
import { DAY } from '../lib/text/units.ts'

/** UUIDs begin with a time of 48 bits: one past the year 9999 is still a valid one. */
const HIGHEST = new Date('9999-12-31T23:59:59.999Z')
/** Ids hold no time before this. */
const LOWEST = new Date(0)

/** The first id of a range of dates or times, and the first one after it: up to a time, or up to the end of a day. 400 for a bad range. */
export function readIdRange({ startDate, endDate }: Dates) {
  const [start, last] = [momentOf('startDate', startDate), momentOf('endDate', endDate)]
  const end = last && new Date(last.getTime() + (endDate!.includes('T') ? 1 : DAY))
  if (start && end && start >= end) refuseReversed()
  return { from: start && lowestId(clamp(start)), to: end && lowestId(clamp(end)) }
}

function momentOf(field: string, given: string | undefined): Date | undefined {
  const day = readDay(field, given)
  if (day === undefined || given === undefined) return undefined
  if (!given.includes('T')) return new Date(`${day}T00:00:00Z`)
  return new Date(/T[\d:.]+$/.test(given) ? `${given}Z` : given)
}

const clamp = (time: Date) => (time < LOWEST ? LOWEST : time > HIGHEST ? HIGHEST : time)
