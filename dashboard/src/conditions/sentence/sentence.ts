import type { Condition, ConditionFilter } from '@sterna/sdk'
import { ownValue } from '../../ui/form/own-value.ts'

/** Names of segments by their ids. */
export type SegmentNames = Record<string, string>

type Filter = { field: string; operator: string; value?: string | number | boolean; unit?: string }

const COMPARISONS: Record<string, string> = {
  equals: 'is',
  notEquals: 'is not',
  contains: 'contains',
  notContains: 'does not contain',
  greaterThan: 'is more than',
  lessThan: 'is less than',
  greaterThanOrEqual: 'is at least',
  lessThanOrEqual: 'is at most',
}
/** Operators as a form offers them. */
export const OPERATOR_WORDS: Record<string, string> = {
  ...COMPARISONS,
  exists: 'has a value',
  notExists: 'has no value',
  within: 'is in the last',
  olderThan: 'is longer ago than',
  triggered: 'has happened',
  notTriggered: 'has never happened',
  triggeredWithin: 'has happened in the last',
  triggeredOlderThan: 'last happened longer ago than',
  notTriggeredWithin: 'has not happened in the last',
  memberOfSegment: 'is a member',
  notMemberOfSegment: 'is not a member',
}
const OF_DATES: Record<string, string> = {
  greaterThan: 'is after',
  lessThan: 'is before',
  greaterThanOrEqual: 'is on or after',
  lessThanOrEqual: 'is on or before',
}
const STANDARD: Record<string, string> = { email: 'the address', createdAt: 'the creation', updatedAt: 'the last change' }
/** Activities in the past tense, and their negations. */
const ACTIVITIES: Record<string, { did: string; not: string }> = {
  sent: { did: 'was sent an email', not: 'was not sent an email' },
  delivered: { did: 'had an email delivered', not: 'had no email delivered' },
  opened: { did: 'opened an email', not: 'opened no email' },
  clicked: { did: 'clicked in an email', not: 'clicked in no email' },
  bounced: { did: 'had an email bounce', not: 'had no email bounce' },
  complained: { did: 'complained about an email', not: 'complained about no email' },
}
const EVENT_OPERATORS = ['triggered', 'notTriggered', 'triggeredWithin', 'triggeredOlderThan', 'notTriggeredWithin']
export const isEventOperator = (operator: string): boolean => EVENT_OPERATORS.includes(operator)
const DATE = /^\d{4}-\d{2}-\d{2}/

/** A field in words: `plan`, `the address`. */
export function describeField(field: string, segments: SegmentNames = {}): string {
  if (field.startsWith('segment.')) return ownValue(segments, field.slice('segment.'.length)) ?? 'a segment that was deleted'
  return ownValue(STANDARD, field) ?? field.replace(/^data\./, '')
}

/** A filter in words: `plan is “pro”`, `opened no email in the last 90 days`. */
export function describeFilter(filter: Filter, segments: SegmentNames = {}): string {
  const { field, operator, value } = filter
  if (field.startsWith('segment.')) {
    const name = ownValue(segments, field.slice('segment.'.length))
    return `is ${operator === 'notMemberOfSegment' ? 'not ' : ''}in ${name ? `the segment “${name}”` : 'a segment that was deleted'}`
  }
  if (isEventOperator(operator)) return describeEvent(filter)
  if (field === 'subscribed') return (value === true) === (operator === 'equals') ? 'is subscribed' : 'is not subscribed'
  const subject = describeField(field, segments)
  if (operator === 'exists') return `${subject} has a value`
  if (operator === 'notExists') return `${subject} has no value`
  if (operator === 'within') return `${subject} is in the last ${periodOf(filter)}`
  if (operator === 'olderThan') return `${subject} is more than ${value === 1 ? '1 ' : ''}${periodOf(filter)} ago`
  const isDate = typeof value === 'string' && DATE.test(value)
  return `${subject} ${(isDate && OF_DATES[operator]) || COMPARISONS[operator] || operator} ${quote(value)}`
}

function describeEvent({ field, operator, value, unit }: Filter): string {
  const name = field.replace(/^event\./, '')
  const known = field.startsWith('email.') ? ownValue(ACTIVITIES, field.slice('email.'.length)) : undefined
  const { did, not } = known ?? { did: `did “${name}”`, not: `did not do “${name}”` }
  const period = periodOf({ field, operator, ...(value !== undefined && { value }), ...(unit && { unit }) })
  if (operator === 'triggered') return did
  if (operator === 'notTriggered') return `never ${did}`
  if (operator === 'triggeredWithin') return `${did} in the last ${period}`
  if (operator === 'triggeredOlderThan') return `${did}, but not in the last ${period}`
  return `${not} in the last ${period}`
}

function periodOf({ value, unit = 'days' }: Filter): string {
  return value === 1 ? unit.replace(/s$/, '') : `${value} ${unit}`
}

const quote = (value: Filter['value']) => (typeof value === 'string' ? (DATE.test(value) ? value : `“${value}”`) : String(value))

/** The whole condition in words. A nested condition with several parts is in parentheses. */
export function describeCondition(condition: Condition, segments: SegmentNames = {}): string {
  return join(condition, segments).text
}

type Part = { text: string; joined?: 'and' | 'or' }

function join({ logic, groups }: Condition, segments: SegmentNames): Part {
  return joinParts(
    // A group that was typed as JSON may have a nested condition only.
    groups.map(({ filters = [], conditions }) => {
      const parts: Part[] = filters.map((filter: ConditionFilter) => ({ text: describeFilter(filter, segments) }))
      return joinParts(conditions ? [...parts, join(conditions, segments)] : parts, 'and')
    }),
    logic === 'AND' ? 'and' : 'or',
  )
}

function joinParts(parts: Part[], word: 'and' | 'or'): Part {
  if (parts.length === 1) return parts[0]!
  const texts = parts.map(({ text, joined }) => (joined && joined !== word ? `(${text})` : text))
  return { text: texts.join(` ${word} `), joined: word }
}
