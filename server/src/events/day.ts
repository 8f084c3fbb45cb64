import { sql } from 'kysely'
import { fail } from '../lib/errors/errors.ts'

const DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/

/** Returns the UTC day of an ISO 8601 date or time. */
export function readDay(field: string, given: string | undefined) {
  if (given === undefined || given === '') return undefined
  // `Date` would read 30 February as 2 March.
  const real = DATE.test(given) && dayOf(given.slice(0, 10)) === given.slice(0, 10)
  const day = real ? dayOf(/T[\d:.]+$/.test(given) ? `${given}Z` : given) : ''
  // An offset may lead to a year without four digits, and PostgreSQL has no year 0.
  const isSupported = /^\d{4}-/.test(day) && !day.startsWith('0000')
  return isSupported ? day : fail('BAD_REQUEST', { message: `"${field}" must be a date such as 2026-01-31 or 2026-01-31T12:00:00Z.` })
}

export type Dates = { startDate?: string | undefined; endDate?: string | undefined }

/** UTC days of a range, both included. */
export type Days = { from?: string | undefined; to?: string | undefined }

/** Condition on the column `day`. */
export const inDaysSql = ({ from, to }: Days) =>
  sql`${from ? sql`and day >= ${from}::date` : sql``} ${to ? sql`and day <= ${to}::date` : sql``}`

/** 400 for a bad date, or an end before the start. */
export function readDays({ startDate, endDate }: Dates): Days {
  const [from, to] = [readDay('startDate', startDate), readDay('endDate', endDate)]
  if (from && to && from > to) refuseReversed()
  return { from, to }
}

export const refuseReversed = (): never => fail('BAD_REQUEST', { message: '"startDate" must not be after "endDate".' })

function dayOf(text: string) {
  const time = new Date(text).getTime()
  return Number.isNaN(time) ? '' : new Date(time).toISOString().slice(0, 10)
}
