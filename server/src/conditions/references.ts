import type { EventQuery } from '../events/last-events.ts'
import type { Topic } from '../events/listen.ts'
import type { Expression, FilterNode } from './expression.ts'
import { readField } from './field.ts'
import { PERIODIC } from './operators.ts'
import type { Predicate } from './predicate.ts'
import type { ConditionFilter, ConditionTree } from './schema.ts'

/** References of a tree besides events, each once. `fields`: paths into `data`, without the prefix. */
type References = { fields: string[]; standard: string[]; segments: string[] }

const unique = <Value>(values: Value[]) => [...new Set(values)]

/** References of the tree itself; referenced segments are not expanded. */
export function referencesOf(tree: ConditionTree): References {
  const found: References = { fields: [], standard: [], segments: [] }
  for (const { field: text, operator } of filtersOf(tree)) {
    const field = readField(text, operator)
    if (!field) continue
    if (field.of === 'data') found.fields.push(field.path.key)
    else if (field.of === 'segment') found.segments.push(field.id)
    else if (field.of !== 'event') found.standard.push(field.of)
  }
  return { fields: unique(found.fields), standard: unique(found.standard), segments: unique(found.segments) }
}

const filtersOf = ({ groups }: ConditionTree): ConditionFilter[] =>
  groups.flatMap(({ filters, conditions }) => (conditions ? [...filters, ...filtersOf(conditions)] : filters))

/** All filters of a tree and of the segments in it, but for the references to dynamic segments, which are replaced by their filters. */
function leavesOf(expression: Expression): FilterNode[] {
  if (expression.type !== 'filter') return expression.nodes.flatMap(leavesOf)
  return expression.inlined ? leavesOf(expression.inlined) : [expression]
}

const predicates = new WeakMap<Expression, Predicate[]>()

function predicatesOf(expression: Expression): Predicate[] {
  const known = predicates.get(expression) ?? leavesOf(expression).map(({ predicate }) => predicate)
  predicates.set(expression, known)
  return known
}

/** Everything whose change can change the answer, but for the clock. A new contact may match whatever the condition is. */
export const topicsOf = (expression: Expression): Topic[] =>
  unique(['contact:created', ...predicatesOf(expression).flatMap(topicsOfPredicate)])

function topicsOfPredicate(predicate: Predicate): Topic[] {
  switch (predicate.of) {
    case 'email':
      return ['contact:email']
    case 'subscribed':
      return ['contact:subscribed']
    case 'createdAt':
      return []
    case 'updatedAt':
      return ['contact']
    case 'data': {
      const { key, steps } = predicate.path
      return [...new Set([key, steps[0]!])].flatMap((name): Topic[] => [`contact:data.${name}`, `field:${name}`])
    }
    case 'event':
      return [`event:${predicate.event.name}`, `events-deleted:${predicate.event.name}`]
    case 'segment':
      return [`segment:${predicate.id}`]
  }
}

/** Top-level keys of `data` that a condition reads: those whose deletion makes filters false. */
export const dataKeysOf = (expression: Expression): string[] =>
  unique(predicatesOf(expression).flatMap((each) => (each.of === 'data' ? [each.path.key, each.path.steps[0]!] : [])))

/** The events that conditions ask for, each once. */
export function eventsOf(expressions: Expression[]): EventQuery[] {
  const found = new Map<string, EventQuery>()
  for (const predicate of expressions.flatMap(predicatesOf))
    if (predicate.of === 'event') found.set(`${predicate.event.humanOnly} ${predicate.event.name}`, predicate.event)
  return [...found.values()]
}

/** The static segments that conditions ask for, each once. */
export const staticSegmentsOf = (expressions: Expression[]): string[] =>
  unique(expressions.flatMap(predicatesOf).flatMap((predicate) => (predicate.of === 'segment' ? [predicate.id] : [])))

/** Periods on events, after which a contact may leave or enter by time alone. */
export const eventWindowsOf = (expression: Expression): { event: EventQuery; ms: number }[] =>
  predicatesOf(expression).flatMap((predicate) =>
    predicate.of === 'event' && PERIODIC.has(predicate.operator) ? [{ event: predicate.event, ms: predicate.ms }] : [],
  )

/** Periods on `createdAt`. */
export const createdWindowsOf = (expression: Expression): number[] =>
  unique(predicatesOf(expression).flatMap((each) => (each.of === 'createdAt' && each.test.is !== 'between' ? [each.test.ms] : [])))

/** Whether there are periods on `data` or `updatedAt`: their ends differ by contact and are kept in a table. */
export const hasDueWindows = (expression: Expression): boolean =>
  predicatesOf(expression).some(
    (predicate) =>
      (predicate.of === 'updatedAt' && predicate.test.is !== 'between') ||
      (predicate.of === 'data' && predicate.test.is === 'time' && predicate.test.test.is !== 'between'),
  )
