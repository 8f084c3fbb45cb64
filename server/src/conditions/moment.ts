import { DAY } from '../lib/text/units.ts'

/**
 * The texts that are dates: `2026-01-31`, or with a time and `Z` or an offset. The pattern holds the whole calendar, leap years too, because
 * `Date` reads 30 February as 2 March. `moment-sql.ts` has the same rules in SQL.
 */
const YEAR = '(?!0000)[0-9]{4}'
const LEAP_YEAR = '(?!0000)([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)'
const DAY_OF_YEAR = [
  `${YEAR}-(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])`,
  `${YEAR}-(0[469]|11)-(0[1-9]|[12][0-9]|30)`,
  `${YEAR}-02-(0[1-9]|1[0-9]|2[0-8])`,
  `${LEAP_YEAR}-02-29`,
].join('|')
const TIME = '([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\\.[0-9]{1,9})?)?'
const ZONE = '(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])'
const DATE = new RegExp(`^(${DAY_OF_YEAR})(T${TIME}${ZONE})?$`)
const SHORTEST = 'YYYY-MM-DD'.length

/** Bounds of every time that is compared: PostgreSQL and JavaScript write years outside of them in different ways. */
export const EARLIEST = Date.parse('0001-01-01T00:00:00.000Z')
export const LATEST = Date.parse('9999-12-31T23:59:59.999Z')
export const clampTime = (time: number) => Math.min(LATEST, Math.max(EARLIEST, time))

/** Milliseconds of a date or a time; undefined for any other value. A date without a time is its first moment in UTC. */
export function readTime(value: unknown): number | undefined {
  if (typeof value !== 'string' || value.length < SHORTEST || !DATE.test(value)) return undefined
  return Date.parse(value)
}

/** The time that a text covers: a whole day in UTC, or a millisecond. `end` is exclusive. */
export function readSpan(text: string): { start: number; end: number } | undefined {
  const time = readTime(text)
  if (time === undefined) return undefined
  return { start: clampTime(time), end: clampTime(time + (text.length === SHORTEST ? DAY : 1)) }
}
