import type { EventQuery } from '../events/last-events.ts'
import type { Pause } from '../lib/concurrency/yield-to-loop.ts'
import type { Expression, FilterNode } from './expression.ts'
import { clampTime, readTime } from './moment.ts'
import type { Comparison } from './operators.ts'
import type { DataPath, DataTest, Predicate, TimeTest } from './predicate.ts'
import { containsText } from './text/contains-text.ts'
import { foldCase } from './text/fold-case.ts'

/** Everything that a condition can ask about a contact. */
export type ContactFacts = {
  contact: { id: string; email: string; subscribed: boolean; data: Record<string, unknown>; createdAt: Date; updatedAt: Date }
  /** When the contact last had such an event. */
  lastEvent(event: EventQuery): Date | undefined
  /** Whether the contact is a member of a static segment. */
  isMember(segmentId: string): boolean
}

/** `deletedFields`: keys of `data` that were deleted from all contacts. A filter on one of them is false, whatever its operator. */
export type MatchContext = { now: Date; deletedFields: ReadonlySet<string> }

/** A contact at one moment. `fold` folds each text once, whatever the number of filters that search it: 3 ms for 65,000 characters. */
export type Evaluation = { facts: ContactFacts; now: number; deletedFields: ReadonlySet<string>; fold: (text: string) => string }
type Matcher = (about: Evaluation) => boolean

/** For all expressions that are evaluated for a contact together. */
export function evaluationOf(facts: ContactFacts, { now, deletedFields }: MatchContext): Evaluation {
  const folded = new Map<string, string>()
  const fold = (text: string) => {
    const known = folded.get(text) ?? foldCase(text)
    folded.set(text, known)
    return known
  }
  return { facts, now: now.getTime(), deletedFields, fold }
}

/** Whether the contact matches. Gives the same answer as `expressionSql` and `scanSql`. */
export const matchesExpression = (expression: Expression, about: Evaluation): boolean => matcherOf(expression)(about)

/** Whether an expression searches no text: then evaluating it takes microseconds, and needs no turns. */
export const isQuick = (expression: Expression) => countSearches(expression) === 0

/**
 * Like `matchesExpression`, with a pause after each filter that searches a text: hundreds of searches through a long text take long enough
 * to delay other requests.
 */
export async function matchesInTurns(expression: Expression, about: Evaluation, pause: Pause): Promise<boolean> {
  if (countSearches(expression) < 2) {
    const matches = matchesExpression(expression, about)
    await pause()
    return matches
  }
  // A filter with several searches is one on a dynamic segment.
  if (expression.type === 'filter') return (await matchesInTurns(expression.inlined!, about, pause)) !== isNegated(expression)
  const decisive = expression.type === 'or'
  for (const node of expression.nodes) if ((await matchesInTurns(node, about, pause)) === decisive) return decisive
  return !decisive
}

/** Whether a filter on a segment is true for contacts that are not members. */
export const isNegated = ({ predicate }: FilterNode) => predicate.of === 'segment' && predicate.negated

const searches = new WeakMap<Expression, number>()

/** Filters of an expression that search a text of any length. */
function countSearches(expression: Expression): number {
  const known = searches.get(expression)
  if (known !== undefined) return known
  const inner = expression.type === 'filter' ? (expression.inlined ? [expression.inlined] : []) : expression.nodes
  const count = inner.reduce((sum, node) => sum + countSearches(node), isSearch(expression) ? 1 : 0)
  searches.set(expression, count)
  return count
}

const isSearch = (expression: Expression) =>
  expression.type === 'filter' && expression.predicate.of === 'data' && expression.predicate.test.is === 'containing'

/** One contact against one segment takes microseconds when the expression is compiled once. */
const matchers = new WeakMap<Expression, Matcher>()

function matcherOf(expression: Expression): Matcher {
  const known = matchers.get(expression)
  if (known) return known
  const compiled = compile(expression)
  matchers.set(expression, compiled)
  return compiled
}

function compile(expression: Expression): Matcher {
  if (expression.type === 'filter') return compileFilter(expression)
  const nodes = expression.nodes.map(matcherOf)
  return expression.type === 'and'
    ? (about) => nodes.every((matches) => matches(about))
    : (about) => nodes.some((matches) => matches(about))
}

function compileFilter({ predicate, inlined }: FilterNode): Matcher {
  if (predicate.of !== 'segment' || !inlined) return compilePredicate(predicate)
  const isMember = matcherOf(inlined)
  return predicate.negated ? (about) => !isMember(about) : isMember
}

function compilePredicate(predicate: Predicate): Matcher {
  switch (predicate.of) {
    case 'email': {
      const { is, text, negated } = predicate
      return ({ facts: { contact } }) => (is === 'equal' ? contact.email === text : contact.email.includes(text)) !== negated
    }
    case 'subscribed':
      return ({ facts: { contact } }) => contact.subscribed === predicate.value
    case 'createdAt':
    case 'updatedAt':
      return ({ facts: { contact }, now }) => isTimeIn(predicate.test, contact[predicate.of].getTime(), now)
    case 'data':
      return compileData(predicate)
    case 'event':
      return compileEvent(predicate)
    case 'segment':
      return ({ facts }) => facts.isMember(predicate.id) !== predicate.negated
  }
}

function compileData({ path, test }: Extract<Predicate, { of: 'data' }>): Matcher {
  const matches = compileDataTest(test)
  return (about) => !isDeleted(path, about.deletedFields) && matches(valueAt(about.facts.contact.data, path), about)
}

export const isDeleted = ({ key, steps }: DataPath, deletedFields: ReadonlySet<string>) =>
  deletedFields.size > 0 && (deletedFields.has(key) || deletedFields.has(steps[0]!))

/** The value of the whole key if the contact has it, else of the path through nested objects. Null and undefined are the same: no value. */
export function valueAt(data: Record<string, unknown>, { key, steps }: DataPath): unknown {
  if (Object.hasOwn(data, key)) return data[key] ?? undefined
  if (steps.length === 1) return undefined
  let value: unknown = data
  for (const step of steps) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string, unknown>)[step]
  }
  return value ?? undefined
}

function compileDataTest(test: DataTest): (value: unknown, about: Evaluation) => boolean {
  switch (test.is) {
    case 'present':
      return (value) => value !== undefined
    case 'absent':
      return (value) => value === undefined
    case 'equal':
      return (value) => value !== undefined && isEqual(test, value) !== test.negated
    case 'containing':
      return (value, { fold }) =>
        value !== undefined && (typeof value === 'string' && containsText(fold(value), test.folded)) !== test.negated
    case 'number':
      return (value) => typeof value === 'number' && COMPARE[test.comparison](value, test.value)
    case 'time':
      return (value, { now }) => matchesTime(test.test, value, now)
  }
}

function isEqual({ value: expected, span }: Extract<DataTest, { is: 'equal' }>, value: unknown) {
  if (value === expected) return true
  const time = span && readTime(value)
  return time !== undefined && time >= span!.start && time < span!.end
}

/** A value that is no date is in no range, and before no date. */
function matchesTime(test: TimeTest, value: unknown, now: number) {
  const time = readTime(value)
  return time !== undefined && isTimeIn(test, time, now)
}

const COMPARE: Record<Comparison, (value: number, bound: number) => boolean> = {
  greaterThan: (value, bound) => value > bound,
  lessThan: (value, bound) => value < bound,
  greaterThanOrEqual: (value, bound) => value >= bound,
  lessThanOrEqual: (value, bound) => value <= bound,
}

function isTimeIn(test: TimeTest, time: number, now: number) {
  if (test.is === 'between') return ((test.from ?? -Infinity) <= time && time < (test.to ?? Infinity)) !== test.negated
  return time >= windowStart(test.ms, now) === (test.is === 'within')
}

/** A period ends now: times at or after its start are within it. */
export const windowStart = (ms: number, now: number) => clampTime(now - ms)

function compileEvent({ event, operator, ms }: Extract<Predicate, { of: 'event' }>): Matcher {
  const last = ({ facts }: Evaluation) => facts.lastEvent(event)?.getTime()
  const isWithin = (time: number | undefined, now: number) => time !== undefined && time >= eventWindowStart(ms, now)
  switch (operator) {
    case 'triggered':
      return (about) => last(about) !== undefined
    case 'notTriggered':
      return (about) => last(about) === undefined
    case 'triggeredWithin':
      return (about) => isWithin(last(about), about.now)
    case 'triggeredOlderThan':
      return (about) => last(about) !== undefined && !isWithin(last(about), about.now)
    case 'notTriggeredWithin':
      return (about) => !isWithin(last(about), about.now)
  }
}

/** The time of an event is that of its id, which has no time before 1970. */
export const eventWindowStart = (ms: number, now: number) => Math.max(0, now - ms)

/**
 * The next moment at which time alone may change the answer: the first flip after now of any window on `data`, `createdAt` or `updatedAt`.
 * Windows on events are not looked at.
 */
export function nextChangeAt(expression: Expression, about: Evaluation): Date | undefined {
  const flips = flipsOf(expression, about)
  return flips.length ? new Date(Math.min(...flips)) : undefined
}

function flipsOf(expression: Expression, about: Evaluation): number[] {
  if (expression.type !== 'filter') return expression.nodes.flatMap((node) => flipsOf(node, about))
  if (expression.inlined) return flipsOf(expression.inlined, about)
  const window = windowOf(expression.predicate, about)
  if (!window || window.time === undefined) return []
  // The window still holds at this time plus the period, and no longer a millisecond later.
  const flip = window.time + window.ms + 1
  return flip > about.now ? [flip] : []
}

/** The period of a window, and the time of the contact that it is compared with. */
function windowOf(predicate: Predicate, { facts, deletedFields }: Evaluation): { ms: number; time: number | undefined } | undefined {
  if (predicate.of === 'createdAt' || predicate.of === 'updatedAt') {
    const { test } = predicate
    return test.is === 'between' ? undefined : { ms: test.ms, time: facts.contact[predicate.of].getTime() }
  }
  if (predicate.of !== 'data' || predicate.test.is !== 'time' || isDeleted(predicate.path, deletedFields)) return undefined
  const { test } = predicate.test
  return test.is === 'between' ? undefined : { ms: test.ms, time: readTime(valueAt(facts.contact.data, predicate.path)) }
}
