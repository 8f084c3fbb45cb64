import { type RawBuilder, sql } from 'kysely'
import { DATE_PATTERN } from './moment.ts'

/**
 * Whether a text is a date at or after `from` and before `to`, in milliseconds. Most dates end in `Z` or have no time: those are compared
 * as text, which is faster than a cast and knows no rounding. The others are cast, after the digits behind the milliseconds are cut off.
 */
export function isTimeBetweenSql(text: RawBuilder<unknown>, { from, to }: { from: number | undefined; to: number | undefined }) {
  const compare = (symbol: RawBuilder<unknown>, time: number | undefined) =>
    time === undefined
      ? []
      : [
          {
            asText: sql`rtrim(${text}, 'Z') collate "C" ${symbol} ${shortestText(time)}`,
            asTime: sql`regexp_replace(${text}, '(\\.[0-9]{3})[0-9]+', '\\1')::timestamptz ${symbol} ${new Date(time).toISOString()}::timestamptz`,
          },
        ]
  const bounds = [...compare(sql`>=`, from), ...compare(sql`<`, to)]
  return sql<boolean>`(case
    when ${text} ~ ${DATE_PATTERN} is not true then false
    when right(${text}, 1) = 'Z' or length(${text}) = 10 then ${sql.join(
      bounds.map(({ asText }) => asText),
      sql` and `,
    )}
    else ${sql.join(
      bounds.map(({ asTime }) => asTime),
      sql` and `,
    )}
  end)`
}

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
