import { type RawBuilder, sql } from 'kysely'
import { CAUSED_BY_HUMAN, type EventQuery } from '../events/last-events.ts'
import { lowestId } from '../lib/id.ts'
import { likePattern } from '../lib/text/like-pattern.ts'
import type { Expression, FilterNode } from './expression.ts'
import { eventWindowStart, isDeleted, windowStart } from './match.ts'
import { isTimeBetweenSql } from './moment-sql.ts'
import type { Comparison } from './operators.ts'
import type { DataPath, DataTest, Predicate, TimeTest } from './predicate.ts'
import { type SharedTexts, shareTexts } from './shared-texts.ts'
import { foldedSql } from './text/fold-case.ts'

/**
 * `deletedFields`: keys of `data` that were deleted from all contacts. A filter on one of them is false, whatever its operator. `until`:
 * events and memberships after this millisecond do not count.
 */
export type SqlContext = { projectId: string; now: Date; deletedFields: ReadonlySet<string>; until?: Date }

type Condition = RawBuilder<boolean>

/** How a statement finds events and memberships of a contact. `since` is the lowest id that counts; undefined: all do. */
type Lookups = {
  hasEvent: (event: EventQuery, since: string | undefined) => Condition
  isMember: (segmentId: string) => Condition
}
type Source = Lookups & { texts: SharedTexts }

/**
 * A condition on the relation `contacts`, for pages of contacts: looks up events and memberships row by row. It is never null. The
 * statement must select the contacts of the project.
 */
export function expressionSql(expression: Expression, context: SqlContext): Condition {
  const texts = shareTexts(expression)
  const source: Source = { ...probing(context, countLookups(expression)), texts }
  if (texts.isEmpty()) return nodeSql(expression, context, source)
  // Conditions that do not need the texts stay outside: there the planner can use an index for it, and it spares most contacts the folding.
  const parts = conjunctsOf(expression)
  const [searching, others] = [parts.filter(texts.areIn), parts.filter((node) => !texts.areIn(node))]
  const all = (nodes: Expression[]) => nodeSql({ type: 'and', nodes }, context, source)
  const found = sql<boolean>`(select ${all(searching)} from ${texts.toSql(textSql)})`
  return others.length ? sql`(${all(others)} and ${found})` : found
}

/** Parts that must all be true. */
const conjunctsOf = (expression: Expression): Expression[] =>
  expression.type !== 'filter' && (expression.type === 'and' || expression.nodes.length === 1)
    ? expression.nodes.flatMap(conjunctsOf)
    : [expression]

/** Look-ups that the planner may turn into joins, to begin with the rarest. With 100 of them it plans for more than 5 s. */
const MAX_PLANNED_LOOKUPS = 4

function countLookups(expression: Expression): number {
  if (expression.type === 'filter' && !expression.inlined) return LOOKED_UP.has(expression.predicate.of) ? 1 : 0
  const nodes = expression.type === 'filter' ? [expression.inlined!] : expression.nodes
  return nodes.reduce((sum, node) => sum + countLookups(node), 0)
}

const LOOKED_UP: ReadonlySet<string> = new Set(['event', 'segment'])

function nodeSql(expression: Expression, context: SqlContext, source: Source): Condition {
  if (expression.type === 'filter') return filterSql(expression, context, source)
  const nodes = expression.nodes.map((node) => nodeSql(node, context, source))
  return nodes.length === 1 ? nodes[0]! : sql`(${sql.join(nodes, expression.type === 'and' ? sql` and ` : sql` or `)})`
}

function filterSql({ predicate, inlined }: FilterNode, context: SqlContext, source: Source): Condition {
  if (predicate.of !== 'segment' || !inlined) return predicateSql(predicate, context, source)
  return negateIf(predicate.negated, nodeSql(inlined, context, source))
}

/** The operand must not be null. */
const negateIf = (negated: boolean, condition: Condition): Condition => (negated ? sql<boolean>`(not ${condition})` : condition)

function predicateSql(predicate: Predicate, context: SqlContext, source: Source): Condition {
  switch (predicate.of) {
    case 'email': {
      const { is, text, negated } = predicate
      const matches = is === 'equal' ? sql<boolean>`contacts.email = ${text}` : sql<boolean>`contacts.email like ${likePattern(text)}`
      return negateIf(negated, sql`(${matches})`)
    }
    case 'subscribed':
      return sql`(contacts.subscribed = ${predicate.value})`
    case 'createdAt':
      return columnTimeSql(sql`contacts.created_at`, predicate.test, context)
    case 'updatedAt':
      return columnTimeSql(sql`contacts.updated_at`, predicate.test, context)
    case 'data':
      return isDeleted(predicate.path, context.deletedFields) ? FALSE : dataSql(predicate.path, predicate.test, context, source)
    case 'event':
      return eventSql(predicate, context, source)
    case 'segment':
      return negateIf(predicate.negated, source.isMember(predicate.id))
  }
}

const FALSE = sql<boolean>`false`

type Range = { from: number | undefined; to: number | undefined }

function rangeOf(test: TimeTest, { now }: SqlContext): Range & { negated: boolean } {
  if (test.is === 'between') return test
  const start = windowStart(test.ms, now.getTime())
  return test.is === 'within' ? { from: start, to: undefined, negated: false } : { from: undefined, to: start, negated: false }
}

/** Columns have microseconds, bounds whole milliseconds: comparisons by `>=` and `<` agree with those of truncated times. */
function columnTimeSql(column: RawBuilder<unknown>, test: TimeTest, context: SqlContext): Condition {
  const { from, to, negated } = rangeOf(test, context)
  const bounds = [
    ...(from === undefined ? [] : [sql<boolean>`${column} >= ${new Date(from).toISOString()}::timestamptz`]),
    ...(to === undefined ? [] : [sql<boolean>`${column} < ${new Date(to).toISOString()}::timestamptz`]),
  ]
  return negateIf(negated, sql`(${sql.join(bounds, sql` and `)})`)
}

/** The value at a path, as JSON (`->`) or as text (`->>`). Both are null for anything but an object, so the steps lead through objects only. */
function valueSql({ key, steps }: DataPath, arrow: RawBuilder<unknown>): RawBuilder<unknown> {
  const last = sql`${arrow} ${steps.at(-1)}::text`
  if (steps.length === 1) return sql`(contacts.data ${last})`
  const inner = steps.slice(0, -1).map((step) => sql`-> ${step}::text`)
  const nested = sql`contacts.data ${sql.join(inner, sql` `)} ${last}`
  return sql`(case when contacts.data ? ${key}::text then contacts.data ${arrow} ${key}::text else ${nested} end)`
}

const AS_JSON = sql`->`
const AS_TEXT = sql`->>`

/** The text at a path; null if the value is no text. */
const textSql = (path: DataPath) => sql`(case jsonb_typeof(${valueSql(path, AS_JSON)}) when 'string' then ${valueSql(path, AS_TEXT)} end)`

/** Null stands for a missing value up to here, and makes the filter false. No value can make the statement fail. */
function dataSql(path: DataPath, test: DataTest, context: SqlContext, { texts }: Source): Condition {
  const [value, text] = [valueSql(path, AS_JSON), valueSql(path, AS_TEXT)]
  const isPresent = sql<boolean>`coalesce(jsonb_typeof(${value}) <> 'null', false)`
  const negateIfPresent = (negated: boolean, matches: Condition) => (negated ? sql<boolean>`(${isPresent} and not ${matches})` : matches)
  switch (test.is) {
    case 'present':
      return isPresent
    case 'absent':
      return negateIf(true, isPresent)
    case 'equal': {
      const isEqual =
        typeof test.value === 'string'
          ? // Faster than comparing JSON. `->>` shows a number like a string of its digits, so the type is compared too.
            sql<boolean>`coalesce(${text} = ${test.value} and jsonb_typeof(${value}) = 'string', false)`
          : sql<boolean>`coalesce(${value} = ${JSON.stringify(test.value)}::jsonb, false)`
      const { span } = test
      const matches = span ? sql<boolean>`(${isEqual} or ${isTimeBetweenSql(text, { from: span.start, to: span.end })})` : isEqual
      return negateIfPresent(test.negated, matches)
    }
    case 'containing': {
      const found = () => sql`strpos(${foldedSql(text, [test.folded])}, ${test.folded}) > 0`
      const matches =
        texts.contains(path, test.folded) ?? sql<boolean>`case jsonb_typeof(${value}) when 'string' then ${found()} else false end`
      return negateIfPresent(test.negated, sql`(${matches})`)
    }
    case 'number': {
      // Compared as JSON, which needs no cast and has an order over all types: a second look excludes the others.
      const isBeyond = sql<boolean>`${value} ${SYMBOL[test.comparison]} ${JSON.stringify(test.value)}::jsonb`
      return sql`coalesce(${isBeyond} and jsonb_typeof(${value}) = 'number', false)`
    }
    case 'time': {
      const { from, to, negated } = rangeOf(test.test, context)
      return negateIfPresent(negated, isTimeBetweenSql(text, { from, to }))
    }
  }
}

const SYMBOL: Record<Comparison, RawBuilder<unknown>> = {
  greaterThan: sql`>`,
  lessThan: sql`<`,
  greaterThanOrEqual: sql`>=`,
  lessThanOrEqual: sql`<=`,
}

function eventSql({ event, operator, ms }: Extract<Predicate, { of: 'event' }>, { now }: SqlContext, source: Source): Condition {
  const isWithin = () => source.hasEvent(event, lowestId(new Date(eventWindowStart(ms, now.getTime()))))
  const ever = () => source.hasEvent(event, undefined)
  switch (operator) {
    case 'triggered':
      return ever()
    case 'notTriggered':
      return negateIf(true, ever())
    case 'triggeredWithin':
      return isWithin()
    case 'triggeredOlderThan':
      return sql`(${ever()} and not ${isWithin()})`
    case 'notTriggeredWithin':
      return negateIf(true, isWithin())
  }
}

type Scope = Pick<SqlContext, 'projectId' | 'until'>

const afterMs = (moment: Date) => new Date(moment.getTime() + 1)

/** The events of a name, of all contacts. */
const eventsSql = ({ projectId, until }: Scope, { name, humanOnly }: EventQuery, since: string | undefined) => sql`
  from events
  where events.project_id = ${projectId} and events.name = ${name}
    ${humanOnly ? sql`and ${CAUSED_BY_HUMAN}` : sql``}
    ${since === undefined ? sql`` : sql`and events.id >= ${since}`}
    ${until ? sql`and events.id < ${lowestId(afterMs(until))}` : sql``}`

/** Condition on the time of a membership. */
const addedSql = (addedAt: RawBuilder<unknown>, { until }: Scope) =>
  until ? sql`and ${addedAt} < ${afterMs(until).toISOString()}::timestamptz` : sql``

/** Looks up each contact by an index. An offset keeps the planner from making it a join. */
function probing(context: SqlContext, lookups: number): Lookups {
  const asWritten = lookups > MAX_PLANNED_LOOKUPS ? sql`offset 0` : sql``
  return {
    hasEvent: (event, since) => sql`exists (select ${eventsSql(context, event, since)} and events.contact_id = contacts.id ${asWritten})`,
    isMember: (segmentId) => sql`exists (
    select from segment_members m
    where m.project_id = ${context.projectId} and m.segment_id = ${segmentId} and m.contact_id = contacts.id
      ${addedSql(sql`m.added_at`, context)} ${asWritten})`,
  }
}

export type ScanSql = {
  /** Follows `from contacts`. */
  joins: RawBuilder<unknown>
  matches: Condition
  /** For each filter of the tree itself, by its path: whether the contact matches this filter alone. */
  each: ReadonlyMap<string, Condition>
}

/**
 * The same for whole projects: joins the contacts that have an event, each event once, so that memory stays bounded whatever their number.
 * Usage: `select … from contacts ${joins} where contacts.project_id = … and ${matches}`.
 */
export function scanSql(expression: Expression, context: SqlContext): ScanSql {
  const joined = collectJoins(context)
  const compiled = compileEach(expression, context, joined)
  return { ...compiled, joins: sql`${joined.toSql()} ${compiled.joins}` }
}

/** The same for a few contacts, with look-ups row by row. */
export const probeSql = (expression: Expression, context: SqlContext): ScanSql =>
  compileEach(expression, context, probing(context, countLookups(expression)))

function compileEach(expression: Expression, context: SqlContext, lookups: Lookups): ScanSql {
  const texts = shareTexts(expression)
  const source: Source = { ...lookups, texts }
  return {
    joins: texts.isEmpty() ? sql`` : sql`cross join lateral ${texts.toSql(textSql)}`,
    matches: nodeSql(expression, context, source),
    each: new Map(ownFiltersOf(expression).map((node) => [node.path, filterSql(node, context, source)])),
  }
}

const ownFiltersOf = (expression: Expression): FilterNode[] =>
  expression.type === 'filter' ? [expression] : expression.nodes.flatMap(ownFiltersOf)

type EventJoin = { alias: string; event: EventQuery; isForAll: boolean; since: string[] }

/** Collects what the conditions of a statement ask for, each once. `toSql`: the joins for all of it. */
function collectJoins(scope: Scope): Lookups & { toSql: () => RawBuilder<unknown> } {
  const events = new Map<string, EventJoin>()
  const segments = new Map<string, string>()
  return {
    hasEvent(event, since) {
      const key = `${event.humanOnly} ${event.name}`
      const join = events.get(key) ?? { alias: `had_${events.size}`, event, isForAll: false, since: [] }
      events.set(key, join)
      if (since === undefined) {
        join.isForAll = true
        return sql`(${sql.ref(`${join.alias}.contact_id`)} is not null)`
      }
      if (!join.since.includes(since)) join.since.push(since)
      // Unlike `coalesce`, this lets the planner begin with the contacts that have the event, where they are the only ones that can match.
      return sql`(${sql.ref(`${join.alias}.since_${join.since.indexOf(since)}`)} is true)`
    },
    isMember(segmentId) {
      const alias = segments.get(segmentId) ?? `member_${segments.size}`
      segments.set(segmentId, alias)
      return sql`(${sql.ref(`${alias}.contact_id`)} is not null)`
    },
    toSql() {
      const eventJoins = [...events.values()].map((join) => eventJoinSql(scope, join))
      return sql.join([...eventJoins, ...[...segments].map(([segmentId, alias]) => memberJoinSql(scope, segmentId, alias))], sql``)
    },
  }
}

function eventJoinSql(scope: Scope, { alias, event, isForAll, since }: EventJoin) {
  const first = isForAll ? undefined : since.toSorted()[0]
  const flags = since.map((id, index) => sql`, bool_or(events.id >= ${id}) as ${sql.ref(`since_${index}`)}`)
  return sql`
      left join (
        select events.contact_id${sql.join(flags, sql``)} ${eventsSql(scope, event, first)}
        group by events.contact_id
      ) as ${sql.table(alias)} on ${sql.ref(`${alias}.contact_id`)} = contacts.id`
}

const memberJoinSql = (scope: Scope, segmentId: string, alias: string) => sql`
      left join segment_members as ${sql.table(alias)}
        on ${sql.ref(`${alias}.project_id`)} = ${scope.projectId} and ${sql.ref(`${alias}.segment_id`)} = ${segmentId}
        and ${sql.ref(`${alias}.contact_id`)} = contacts.id ${addedSql(sql.ref(`${alias}.added_at`), scope)}`
