import { fail } from '../lib/errors.ts'

const DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/

/** The UTC day of a date or a time as ISO 8601 writes them. */
export function readDay(field: string, given: string | undefined) {
  if (given === undefined || given === '') return undefined
  const time = DATE.test(given) ? new Date(given.length === 16 || /T[\d:.]+$/.test(given) ? `${given}Z` : given).getTime() : Number.NaN
  const day = Number.isNaN(time) ? '' : new Date(time).toISOString().slice(0, 10)
  // 30 February would silently be 1 March.
  const real = day !== '' && (given.includes('T') || day === given)
  return real ? day : fail('BAD_REQUEST', { message: `"${field}" must be a date such as 2026-01-31 or 2026-01-31T12:00:00Z.` })
}
