import { OPERATOR_WORDS } from '../sentence/sentence.ts'
import type { FieldCatalog, FieldChoice, FieldType, FoundField } from './fields.ts'
import type { ConditionLine } from './tree.ts'

/** Operators of each type of field, in the order and the words of the builder. */
const OPERATORS: Record<FieldType, Record<string, string>> = {
  address: wordsOf('equals', 'notEquals', 'contains', 'notContains'),
  string: wordsOf('equals', 'notEquals', 'contains', 'notContains', 'exists', 'notExists'),
  number: wordsOf('equals', 'notEquals', 'greaterThan', 'greaterThanOrEqual', 'lessThan', 'lessThanOrEqual', 'exists', 'notExists'),
  boolean: wordsOf('equals', 'notEquals', 'exists', 'notExists'),
  date: {
    within: 'is in the last',
    olderThan: 'is longer ago than',
    greaterThan: 'is after',
    greaterThanOrEqual: 'is on or after',
    lessThan: 'is before',
    lessThanOrEqual: 'is on or before',
    equals: 'is on',
    notEquals: 'is not on',
    exists: 'has a value',
    notExists: 'has no value',
  },
  event: {
    triggered: 'at least once',
    notTriggered: 'never',
    triggeredWithin: 'in the last',
    notTriggeredWithin: 'not in the last',
    triggeredOlderThan: 'once, but not in the last',
  },
  segment: { memberOfSegment: 'is a member', notMemberOfSegment: 'is not a member' },
}

function wordsOf(...operators: string[]): Record<string, string> {
  return Object.fromEntries(operators.map((operator) => [operator, OPERATOR_WORDS[operator]!]))
}

/** Standard fields always have a value. */
const ALWAYS_SET = new Set(['email', 'subscribed', 'createdAt', 'updatedAt'])

export function operatorsOf({ field, type }: { field: string; type: FieldType }): Record<string, string> {
  const all = OPERATORS[type]
  if (!ALWAYS_SET.has(field)) return all
  const { exists: _, notExists: __, ...others } = all
  return others
}

const WITHOUT_VALUE = new Set(['exists', 'notExists', 'triggered', 'notTriggered', 'memberOfSegment', 'notMemberOfSegment'])
const WITH_PERIOD = new Set(['within', 'olderThan', 'triggeredWithin', 'triggeredOlderThan', 'notTriggeredWithin'])

/** The input of a row. */
export type ValueKind = 'none' | 'period' | 'text' | 'number' | 'boolean' | 'date'

function valueKindOf(operator: string, type: FieldType): ValueKind {
  if (WITHOUT_VALUE.has(operator)) return 'none'
  if (WITH_PERIOD.has(operator)) return 'period'
  return type === 'number' || type === 'boolean' || type === 'date' ? type : 'text'
}

const UNIT_DAYS: Record<string, number> = { days: 1, hours: 1 / 24, minutes: 1 / 1_440 }
const MAX_PERIOD_DAYS = 36_500

/** A line of the builder: a filter with everything that its inputs need. */
export type Row = { field: FoundField; type: FieldType; operator: string; kind: ValueKind }

/**
 * Undefined if the builder cannot show the filter: it stays as it is, and can only be removed. `lastType` is used for a line whose
 * type cannot be inferred, such as one whose number was just erased.
 */
export function readRow(filter: ConditionLine, catalog: FieldCatalog, lastType?: FieldType): Row | undefined {
  const field = catalog.find(filter.field, filter.operator)
  if (!field) return undefined
  const type = typeOf(filter, field, lastType)
  const kind = valueKindOf(filter.operator, type)
  const isKnown = Object.hasOwn(operatorsOf({ field: field.field, type }), filter.operator)
  return isKnown && canShow(filter, kind) ? { field, type, operator: filter.operator, kind } : undefined
}

/** `equals` compares types too, so the value of a filter decides before the type that the field usually has. */
function typeOf({ operator, value }: ConditionLine, { type, field }: FoundField, lastType: FieldType | undefined): FieldType {
  if (type === 'event' || type === 'segment' || type === 'address' || ALWAYS_SET.has(field)) return type!
  if (operator === 'contains' || operator === 'notContains') return 'string'
  if (operator === 'within' || operator === 'olderThan') return 'date'
  if (typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'boolean'
  const usual = lastType ?? type ?? 'string'
  if (typeof value !== 'string') return usual
  if (operator !== 'equals' && operator !== 'notEquals') return operator === 'exists' || operator === 'notExists' ? usual : 'date'
  return usual === 'date' && isDate(value) ? 'date' : 'string'
}

function canShow({ value, unit }: ConditionLine, kind: ValueKind): boolean {
  if (kind === 'none') return true
  if (kind === 'period') return (value === undefined || typeof value === 'number') && (unit === undefined || Object.hasOwn(UNIT_DAYS, unit))
  if (value === undefined) return true
  if (kind === 'number' || kind === 'boolean') return typeof value === kind
  // An input of one line cannot hold a line break.
  return typeof value === 'string' && !/[\r\n]/.test(value)
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})(T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-](0\d|1[0-4]):[0-5]\d))?$/

/** A date as the server reads it: a day that exists, alone or with a time and its zone. */
function isDate(text: string): boolean {
  const [, year, month, day] = DATE.exec(text) ?? []
  if (!year || year === '0000') return false
  const read = new Date(`${year}-${month}-${day}T00:00:00Z`)
  return !Number.isNaN(read.getTime()) && read.toISOString().slice(0, 10) === `${year}-${month}-${day}`
}

/** The value of a filter as the text of its input. */
export const inputTextOf = ({ value }: ConditionLine): string => (value === undefined || value === null ? '' : String(value))

/** Typed text as the value of a filter; undefined while there is none. */
function valueOfInput(text: string, kind: ValueKind): string | number | boolean | undefined {
  if (text === '') return undefined
  if (kind === 'boolean') return text === 'true'
  if (kind === 'number' || kind === 'period') return Number.isFinite(Number(text)) && text.trim() !== '' ? Number(text) : undefined
  return text
}

/** The same filter with another value. Equal values leave it as it is, with its keys in their order. */
function withValue(filter: ConditionLine, value: ConditionLine['value']): ConditionLine {
  if (filter.value === value) return filter
  const { value: _, ...without } = filter
  if (value === undefined) return without
  return 'value' in filter ? { ...filter, value } : { ...without, value, ...('unit' in filter && { unit: filter.unit! }) }
}

/** The filter after its input was changed to this text. */
export const withInput = (filter: ConditionLine, text: string, kind: ValueKind): ConditionLine =>
  text === inputTextOf(filter) ? filter : withValue(filter, valueOfInput(text, kind))

export const withUnit = (filter: ConditionLine, unit: string): ConditionLine => (filter.unit === unit ? filter : { ...filter, unit })

const DEFAULT_PERIOD = { value: 30, unit: 'days' }

/** Another operator. The value stays if the new operator takes it. */
export function withOperator(filter: ConditionLine, operator: string, type: FieldType): ConditionLine {
  if (operator === filter.operator) return filter
  const kind = valueKindOf(operator, type)
  if (kind === valueKindOf(filter.operator, type) && kind !== 'none') return { ...filter, operator }
  return { field: filter.field, operator, ...firstValue(kind) }
}

const firstValue = (kind: ValueKind): Pick<ConditionLine, 'value' | 'unit'> =>
  kind === 'period' ? DEFAULT_PERIOD : kind === 'boolean' ? { value: true } : {}

/** Another type of custom data that no contact has yet. */
export const withType = (filter: ConditionLine, type: FieldType): ConditionLine => newFilter({ field: filter.field, type })

const FIRST_OPERATORS: Record<FieldType, string> = {
  address: 'contains',
  string: 'equals',
  number: 'equals',
  boolean: 'equals',
  date: 'within',
  event: 'triggered',
  segment: 'memberOfSegment',
}

/** The filter of a line whose field was just chosen. */
export function newFilter({ field, type = 'string' }: Pick<FieldChoice, 'field' | 'type'>): ConditionLine {
  const operator = FIRST_OPERATORS[type]
  return { field, operator, ...firstValue(valueKindOf(operator, type)) }
}

/** Another field. Operator and value stay if the new field takes them. */
export function withField(filter: ConditionLine, choice: FieldChoice, row: Row | undefined): ConditionLine {
  if (filter.field === choice.field && row) return filter
  const type = choice.type ?? 'string'
  const fits = row?.type === type && Object.hasOwn(operatorsOf({ field: choice.field, type }), filter.operator)
  return fits ? { ...filter, field: choice.field } : newFilter(choice)
}

const MAX_TEXT_BYTES = 1_024
const bytesOf = (text: string) => new TextEncoder().encode(text).length

/** Why the server would refuse a line; undefined if it takes it. Segments that were deleted are left to the server. */
export function problemOfFilter({ field, operator, value, unit }: ConditionLine): string | undefined {
  if (field === '') return 'Choose a field.'
  if (bytesOf(field) > MAX_TEXT_BYTES || !field.isWellFormed() || field.includes('\0')) return 'This name is too long, or not a text.'
  if (WITHOUT_VALUE.has(operator)) return undefined
  if (value === undefined || value === null || value === '') {
    // A custom field can hold an empty text, and be asked for it.
    return value === '' && (operator === 'equals' || operator === 'notEquals') && !ALWAYS_SET.has(field) ? undefined : 'Enter a value.'
  }
  if (WITH_PERIOD.has(operator)) return problemOfPeriod(value, unit)
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) return 'This number is too large.'
  if (typeof value !== 'string') return undefined
  if (bytesOf(value) > MAX_TEXT_BYTES) return 'At most 1 KB.'
  if (!value.isWellFormed() || value.includes('\0')) return 'This has a character that cannot be stored.'
  if (field === 'email' && value.trim() === '') return 'Enter a value.'
  const needsDate = field === 'createdAt' || field === 'updatedAt' || /Than/.test(operator)
  return needsDate && !isDate(value) ? 'Enter a date, such as 2026-01-31.' : undefined
}

function problemOfPeriod(value: unknown, unit: string | undefined): string | undefined {
  if (typeof value !== 'number') return 'Enter a number.'
  if (unit === undefined || !Object.hasOwn(UNIT_DAYS, unit)) return 'Choose a unit.'
  if (value < 0) return 'Enter 0 or more.'
  return value * UNIT_DAYS[unit]! > MAX_PERIOD_DAYS ? 'At most 100 years.' : undefined
}
