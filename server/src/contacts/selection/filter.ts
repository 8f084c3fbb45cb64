import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import type { Db } from '../../db/index.ts'
import { lowestId } from '../../lib/id.ts'
import { readAddress } from '../../lib/text/address.ts'
import { addressPattern } from '../../lib/text/like-pattern.ts'
import { DAY } from '../../lib/text/units.ts'
import { readFieldName } from '../fields/fields.ts'
import { matchesNameSql, readNameFields } from '../fields/name-fields.ts'
import { GivenCondition } from './segment-access.ts'

export const FilterSearch = z.string().max(255).describe('Part of the address, case-insensitive.')
export const FilterQ = z
  .string()
  .max(255)
  .describe('Part of the address or of the name, case-insensitive. `nameFields` of the project hold the name.')
export const FilterField = z.string().min(1).max(260).describe('Name of a field, such as `plan` or `data.plan`; requires `value`.')

const DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/
const [EARLIEST, LATEST] = [0, Date.UTC(9999, 11, 31)]

export const FilterTime = z
  .string()
  .max(40)
  .check(({ value, issues }) => {
    const message = 'Must be a date such as 2026-01-31 or 2026-01-31T12:00:00Z.'
    if (value !== '' && !readMoment(value)) issues.push({ code: 'custom', message, params: { code: 'invalid_string' }, input: value })
  })
  .describe('A time, or a date, which means the whole day in UTC.')

type FieldAndValue = { field?: string | undefined; value?: unknown }

export const requireFieldWithValue = ({ value: filter, issues }: z.core.ParsePayload<FieldAndValue>) => {
  if ((filter.field === undefined) === (filter.value === undefined)) return
  const path = [filter.field === undefined ? 'field' : 'value']
  issues.push({ code: 'custom', path, message: '"field" and "value" must be given together.', params: { code: 'required' }, input: filter })
}

/** Filter of a bulk job or export. Strict: a misspelt key must not select every contact. */
export const JobFilter = z
  .strictObject({
    search: FilterSearch.optional(),
    q: FilterQ.optional(),
    subscribed: z.boolean().optional(),
    segmentId: z.uuid().optional(),
    condition: GivenCondition.optional().describe('A condition that the contacts match, as that of a segment.'),
    field: FilterField.optional(),
    value: z.union([z.string().max(1_024), z.number(), z.boolean()]).optional(),
    createdFrom: FilterTime.optional(),
    createdTo: FilterTime.optional(),
  })
  .check(requireFieldWithValue)
  .meta({ dependentRequired: { field: ['value'], value: ['field'] } })

/** Selects the contacts of a list or a job by their rows alone. `nameFields` are those of the project, with `q`. */
export type ContactFilter = Omit<z.output<typeof JobFilter>, 'segmentId' | 'condition'> & { nameFields?: string[] }

/** With the fields that hold names, if the filter asks for names. */
export const withNameFields = async <Filter extends ContactFilter>(db: Db, projectId: string, filter: Filter): Promise<Filter> =>
  filter.q?.trim() ? { ...filter, nameFields: await readNameFields(db, projectId) } : filter

export const isEmptyFilter = ({ search = '', q = '', subscribed, field, createdFrom, createdTo }: ContactFilter) =>
  search.trim() === '' && q.trim() === '' && subscribed === undefined && field === undefined && !createdFrom && !createdTo

export const matchesFilterSql = (projectId: string, filter: ContactFilter) =>
  sql`${inIdRangeSql(projectId, filter)} and ${rowMatchesSql(filter)}`

/**
 * Project and time range as a range of the primary key. An id has the time of the node that made it, `created_at` the time of the
 * database: the range is a day wider on both sides to cover the difference.
 */
export function inIdRangeSql(projectId: string, { createdFrom, createdTo }: ContactFilter): RawBuilder<unknown> {
  const [from, to] = [readMoment(createdFrom), readMoment(createdTo)]
  const first = from ? sql`and id >= ${lowestId(new Date(Math.max(EARLIEST, from.start - DAY)))}` : sql``
  const last = to ? sql`and id < ${lowestId(new Date(to.end + DAY))}` : sql``
  return sql`project_id = ${projectId} ${first} ${last}`
}

/** The exact conditions on one row, without the project. */
export function rowMatchesSql(filter: ContactFilter): RawBuilder<unknown> {
  const { search, q = '', nameFields = [], subscribed, field, value, createdFrom, createdTo } = filter
  const [from, to] = [readMoment(createdFrom), readMoment(createdTo)]
  const conditions = [
    subscribed === undefined ? undefined : sql`subscribed = ${subscribed}`,
    search ? sql`email like ${addressPattern(search)}` : undefined,
    q.trim() ? matchesNameSql({ q, nameFields }) : undefined,
    field === undefined || value === undefined ? undefined : equals(field, value),
    from && sql`created_at >= ${new Date(from.start)}`,
    to && sql`created_at < ${new Date(to.end)}`,
  ].filter((condition) => condition !== undefined)
  return conditions.length ? sql`(${sql.join(conditions, sql` and `)})` : sql`true`
}

function equals(field: string, value: string | number | boolean): RawBuilder<unknown> {
  const name = readFieldName(field)
  if ('custom' in name) return sql`${storedValue(name.custom)} in (${sql.join(asJson(value))})`
  if (name.standard === 'email') return sql`email = ${readAddress(String(value)) ?? String(value)}`
  if (name.standard === 'subscribed') return sql`subscribed::text = ${String(value)}`
  const column = sql.ref(name.standard === 'createdAt' ? 'created_at' : 'updated_at')
  const moment = readMoment(String(value))
  return moment ? sql`(${column} >= ${new Date(moment.start)} and ${column} < ${new Date(moment.end)})` : sql`false`
}

/** Value of the key, or of the path into nested objects if there is no such key. */
const storedValue = (key: string) =>
  key.includes('.')
    ? sql`case when data ? ${key} then data -> ${key}::text else data #> ${key.split('.')}::text[] end`
    : sql`(data -> ${key}::text)`

/** A query parameter is text, so `42` matches both the number and the text. */
function asJson(value: string | number | boolean) {
  const literal = typeof value !== 'string' || LITERAL.test(value) ? [String(value)] : []
  return [JSON.stringify(String(value)), ...literal].map((json) => sql`${json}::jsonb`)
}
const LITERAL = /^(true|false|-?(0|[1-9]\d{0,14})(\.\d{1,15})?)$/

/** In milliseconds; `end` is exclusive. */
export function readMoment(text: string | undefined): { start: number; end: number } | undefined {
  if (!text || !DATE.test(text)) return undefined
  const [day, time] = [new Date(text.slice(0, 10)).getTime(), new Date(text).getTime()]
  // `Date` would read 30 February as 2 March.
  if (Number.isNaN(time) || Number.isNaN(day) || new Date(day).toISOString().slice(0, 10) !== text.slice(0, 10)) return undefined
  const within = (at: number) => Math.min(LATEST, Math.max(EARLIEST, at))
  return { start: within(time), end: within(time + (text.length === 10 ? DAY : 1)) }
}
