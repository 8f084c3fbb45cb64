import { type RawBuilder, sql } from 'kysely'
import { DAY, HOUR } from '../lib/text/units.ts'
import { clampTime, EARLIEST, LATEST } from './moment.ts'

type Range = { from: number | undefined; to: number | undefined }

/**
 * Whether a text is a date (`readTime`) at or after `from` and before `to`, in milliseconds. A regular expression for it takes 20 µs per
 * row, so the text is compared first, and only if that leaves a doubt its form is checked, in a subquery that reads the value once.
 */
export function isTimeBetweenSql(text: RawBuilder<unknown>, range: Range): RawBuilder<boolean> {
  return sql<boolean>`(case when ${isTextNearSql(text, range)} then (
      select ${isExactSql(range)} from (select ${text} as t offset 0) as value
    ) else false end)`
}

/** Local time differs from UTC by less. */
const MAX_OFFSET_MS = 15 * HOUR

/** Dates as text have the order of time, but for their offsets from UTC. Null, and thereby false, without a text. */
function isTextNearSql(text: RawBuilder<unknown>, { from, to }: Range): RawBuilder<unknown> {
  const first = from === undefined ? EARLIEST : clampTime(from - MAX_OFFSET_MS)
  const end = to === undefined ? LATEST : to + MAX_OFFSET_MS
  const isFrom = sql`${text} collate "C" >= ${shortestText(first)}`
  return end >= LATEST ? isFrom : sql`${isFrom} and ${text} collate "C" < ${shortestText(end)}`
}

/**
 * Dates that end in `Z` or have no time are compared as text, which is faster than a cast and knows no rounding. The others are cast, after
 * the digits behind the milliseconds are cut off. The branches are tried in order, so nothing but a date is cast.
 */
function isExactSql({ from, to }: Range): RawBuilder<unknown> {
  const bounds = [
    ...(from === undefined ? [] : [{ symbol: sql`>=`, time: from }]),
    ...(to === undefined ? [] : [{ symbol: sql`<`, time: to }]),
  ]
  const asText = bounds.map(({ symbol, time }) => sql`rtrim(t, 'Z') collate "C" ${symbol} ${shortestText(time)}`)
  const asTime = bounds.map(
    ({ symbol, time }) =>
      sql`regexp_replace(t, '(\\.[0-9]{3})[0-9]+', '\\1')::timestamptz ${symbol} ${new Date(time).toISOString()}::timestamptz`,
  )
  return sql`case
        when octet_length(t) > ${LONGEST} or translate(t, '0123456789', '0000000000') <> all(${SHAPES}::text[]) then false
        when not ${IN_CALENDAR} then false
        when right(t, 1) = 'Z' or octet_length(t) = ${PLAIN_DATE.length} then ${sql.join(asText, sql` and `)}
        when right(t, 5) collate "C" >= '15' or right(t, 2) collate "C" >= '6' then false
        else ${sql.join(asTime, sql` and `)}
      end`
}

const PLAIN_DATE = '0000-00-00'
const TIMES = ['T00:00', 'T00:00:00', ...Array.from({ length: 9 }, (_, digits) => `T00:00:00.${'0'.repeat(digits + 1)}`)]
/** Dates with every digit replaced by 0. */
const SHAPES = [PLAIN_DATE, ...TIMES.flatMap((time) => ['Z', '+00:00', '-00:00'].map((zone) => PLAIN_DATE + time + zone))]
const LONGEST = Math.max(...SHAPES.map((shape) => shape.length))

/** `01-01` to `12-31`, without the 29th of February. */
const DAYS_OF_YEAR = Array.from({ length: 365 }, (_, day) => new Date(Date.UTC(2023, 0) + day * DAY).toISOString().slice(5, 10))

/** For texts of one of the shapes, from the year 1. Digits that are not there are '', which is lower than any. */
const IN_CALENDAR = sql`(
          (substr(t, 6, 5) = any(${DAYS_OF_YEAR}::text[])
            or substr(t, 6, 5) = '02-29' and left(t, 4)::int % 4 = 0 and (left(t, 4)::int % 100 <> 0 or left(t, 4)::int % 400 = 0))
          and substr(t, 12, 2) collate "C" <= '23' and substr(t, 15, 1) collate "C" <= '5' and substr(t, 18, 1) collate "C" <= '5')`

/**
 * The shortest text of a time, without `Z`: as text it is at most equal to every longer one of the same time (`2026-01-31` is before
 * `2026-01-31T00:00:00`), and greater than those of earlier times.
 */
function shortestText(time: number) {
  const iso = new Date(time).toISOString()
  const [day, minutes, seconds, fraction] = [iso.slice(0, 10), iso.slice(10, 16), iso.slice(16, 19), iso.slice(19, 23)]
  if (fraction !== '.000') return `${day}${minutes}${seconds}${fraction.replace(/0+$/, '')}`
  if (seconds !== ':00') return `${day}${minutes}${seconds}`
  return minutes === 'T00:00' ? day : `${day}${minutes}`
}
