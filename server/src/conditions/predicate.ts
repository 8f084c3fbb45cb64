import type { EventQuery } from '../events/last-events.ts'
import type { FieldCode } from '../lib/errors/errors.ts'
import { readAddress } from '../lib/text/address.ts'
import { DAY, HOUR, MINUTE } from '../lib/text/units.ts'
import { type ConditionField, readField } from './field.ts'
import { readSpan } from './moment.ts'
import { type Comparison, type EventOperator, type Operator, PERIODIC, TAKEN, UNITS, type Unit } from './operators.ts'
import { foldCase } from './text/fold-case.ts'

/** A path into `data`: the key as a whole if the contact has it, else its steps through nested objects. */
export type DataPath = { key: string; steps: string[] }

/** `from` is inclusive, `to` exclusive, both in milliseconds. A window moves with the clock: it begins `ms` before now. */
export type TimeTest =
  | { is: 'between'; from: number | undefined; to: number | undefined; negated: boolean }
  | { is: 'within' | 'olderThan'; ms: number }

export type DataTest =
  | { is: 'present' | 'absent' }
  /** `span`: a text that is a date also equals the dates in that span. */
  | { is: 'equal'; value: string | number | boolean; span: { start: number; end: number } | undefined; negated: boolean }
  | { is: 'containing'; folded: string; negated: boolean }
  | { is: 'number'; comparison: Comparison; value: number }
  | { is: 'time'; test: TimeTest }

/** The claim of a filter about a contact, with its value read. Every reader of a tree works on this form. */
export type Predicate =
  | { of: 'email'; is: 'equal' | 'containing'; text: string; negated: boolean }
  | { of: 'subscribed'; value: boolean }
  | { of: 'createdAt' | 'updatedAt'; test: TimeTest }
  | { of: 'data'; path: DataPath; test: DataTest }
  /** `ms` is 0 for the operators without a period. */
  | { of: 'event'; event: EventQuery; operator: EventOperator; ms: number }
  | { of: 'segment'; id: string; negated: boolean }

type RawFilter = { field: string; operator: Operator; value: unknown; unit: unknown }
type Kept = { value?: string | number | boolean; unit?: Unit }
type Problem = { of: 'field' | 'operator' | 'value' | 'unit'; message: string; code: FieldCode }

class Refused extends Error {
  readonly problem: Problem
  constructor(problem: Problem) {
    super(problem.message)
    this.problem = problem
  }
}

const refuse = (of: Problem['of'], message: string, code: FieldCode): never => {
  throw new Refused({ of, message, code })
}

/** Reads the value of a filter by its field and operator. `kept` is what the operator needs of `value` and `unit`. */
export function readPredicate(filter: RawFilter): { predicate: Predicate; kept: Kept } | { problem: Problem } {
  try {
    const field = readField(filter.field, filter.operator) ?? refuse('field', 'No such field.', 'invalid_enum_value')
    const taken: readonly Operator[] = TAKEN[kindOf(field)]
    if (!taken.includes(filter.operator))
      refuse('operator', `${filter.field.slice(0, 100)} takes: ${taken.join(', ')}.`, 'invalid_enum_value')
    return readBy(field, filter)
  } catch (err) {
    if (err instanceof Refused) return { problem: err.problem }
    throw err
  }
}

const kindOf = ({ of }: ConditionField): keyof typeof TAKEN => (of === 'createdAt' || of === 'updatedAt' ? 'time' : of)

function readBy(field: ConditionField, filter: RawFilter): { predicate: Predicate; kept: Kept } {
  switch (field.of) {
    case 'email':
      return readEmail(filter)
    case 'subscribed': {
      const value = readBoolean(filter.value)
      return { predicate: { of: 'subscribed', value: value === (filter.operator === 'equals') }, kept: { value } }
    }
    case 'createdAt':
    case 'updatedAt': {
      const { test, kept } = readTimeTest(filter)
      return { predicate: { of: field.of, test }, kept }
    }
    case 'data': {
      const { test, kept } = readDataTest(filter)
      return { predicate: { of: 'data', path: field.path, test }, kept }
    }
    case 'event': {
      // `TAKEN` has been checked: the operator is one of events.
      const operator = filter.operator as EventOperator
      const { ms, kept } = PERIODIC.has(operator) ? readPeriod(filter) : { ms: 0, kept: {} }
      return { predicate: { of: 'event', event: field.event, operator, ms }, kept }
    }
    case 'segment':
      return { predicate: { of: 'segment', id: field.id, negated: filter.operator === 'notMemberOfSegment' }, kept: {} }
  }
}

/** Stored addresses are normalised in the same way. */
function readEmail({ operator, value: given }: RawFilter): { predicate: Predicate; kept: Kept } {
  const value = readText(given)
  const negated = operator.startsWith('not')
  const lower = value.trim().normalize('NFC').toLowerCase()
  if (lower === '') refuse('value', 'Must not be empty.', 'too_small')
  const isEqual = operator === 'equals' || operator === 'notEquals'
  const text = isEqual ? (readAddress(value) ?? lower) : lower
  return { predicate: { of: 'email', is: isEqual ? 'equal' : 'containing', text, negated }, kept: { value } }
}

function readTimeTest(filter: RawFilter): { test: TimeTest; kept: Kept } {
  const { operator } = filter
  if (operator === 'within' || operator === 'olderThan') {
    const { ms, kept } = readPeriod(filter)
    return { test: { is: operator, ms }, kept }
  }
  const value = readText(filter.value)
  const span = readSpan(value) ?? refuse('value', 'Must be a date such as 2026-01-31 or 2026-01-31T12:00:00Z.', 'invalid_string')
  return { test: compareTime(operator, span), kept: { value } }
}

function compareTime(operator: Operator, { start, end }: { start: number; end: number }): TimeTest {
  const between = (from?: number, to?: number, negated = false): TimeTest => ({ is: 'between', from, to, negated })
  switch (operator) {
    case 'greaterThan':
      return between(end)
    case 'greaterThanOrEqual':
      return between(start)
    case 'lessThan':
      return between(undefined, start)
    case 'lessThanOrEqual':
      return between(undefined, end)
    default:
      return between(start, end, operator === 'notEquals')
  }
}

function readDataTest(filter: RawFilter): { test: DataTest; kept: Kept } {
  const { operator } = filter
  switch (operator) {
    case 'exists':
      return { test: { is: 'present' }, kept: {} }
    case 'notExists':
      return { test: { is: 'absent' }, kept: {} }
    case 'contains':
    case 'notContains': {
      const value = readText(filter.value)
      if (value === '') refuse('value', 'Must not be empty.', 'too_small')
      return { test: { is: 'containing', folded: foldCase(value), negated: operator === 'notContains' }, kept: { value } }
    }
    case 'equals':
    case 'notEquals': {
      const value = readScalar(filter.value)
      const span = typeof value === 'string' ? readSpan(value) : undefined
      return { test: { is: 'equal', value, span, negated: operator === 'notEquals' }, kept: { value } }
    }
    case 'greaterThan':
    case 'lessThan':
    case 'greaterThanOrEqual':
    case 'lessThanOrEqual': {
      if (typeof filter.value === 'number') {
        const value = readNumber(filter.value)
        return { test: { is: 'number', comparison: operator, value }, kept: { value } }
      }
      if (typeof filter.value === 'boolean') refuse('value', 'Must be a number or a date.', 'invalid_type')
    }
  }
  const { test, kept } = readTimeTest(filter)
  return { test: { is: 'time', test }, kept }
}

const UNIT_MS: Record<Unit, number> = { days: DAY, hours: HOUR, minutes: MINUTE }
/** A hundred years: longer periods have no use, and dates that far back are still dates everywhere. */
const MAX_PERIOD_MS = 36_500 * DAY

function readPeriod({ value: given, unit: givenUnit }: RawFilter): { ms: number; kept: Kept } {
  if (typeof given === 'string' || typeof given === 'boolean') refuse('value', 'Expected number.', 'invalid_type')
  const value = readNumber(given)
  const unit = UNITS.find((known) => known === givenUnit)
  if (givenUnit === undefined) refuse('unit', 'Required.', 'required')
  if (!unit) return refuse('unit', `Must be one of: ${UNITS.join(', ')}.`, 'invalid_enum_value')
  const ms = Math.round(value * UNIT_MS[unit])
  if (value < 0) refuse('value', 'Must be at least 0.', 'too_small')
  if (ms > MAX_PERIOD_MS) refuse('value', `Must be at most ${MAX_PERIOD_MS / UNIT_MS[unit]}.`, 'too_big')
  return { ms, kept: { value, unit } }
}

function readScalar(value: unknown): string | number | boolean {
  if (typeof value === 'number') return readNumber(value)
  if (typeof value === 'string' || typeof value === 'boolean') return value
  return refuseKind(value, 'a text, a number or a boolean')
}

const readText = (value: unknown) => (typeof value === 'string' ? value : refuseKind(value, 'a text'))
const readBoolean = (value: unknown) => (typeof value === 'boolean' ? value : refuseKind(value, 'a boolean'))

/** The same bound as for numbers in `data`: beyond it they lose digits. */
function readNumber(value: unknown) {
  if (typeof value !== 'number' || Number.isNaN(value)) return refuseKind(value, 'a number')
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) refuse('value', 'Numbers beyond 2^53 lose digits.', 'too_big')
  return value
}

const refuseKind = (value: unknown, expected: string): never =>
  value === undefined || value === null ? refuse('value', 'Required.', 'required') : refuse('value', `Must be ${expected}.`, 'invalid_type')
