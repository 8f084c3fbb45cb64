import { type Expression, type SegmentLookup, toExpression } from '../../conditions/expression.ts'
import { type ContactFacts, type Evaluation, evaluationOf, type MatchContext, matchesInTurns } from '../../conditions/match.ts'
import { OPERATORS } from '../../conditions/operators.ts'
import { referencesOf } from '../../conditions/references.ts'
import { type ConditionFilter, type ConditionTree, readCondition } from '../../conditions/schema.ts'
import type { Pause } from '../../lib/concurrency/yield-to-loop.ts'
import { AppError, type FieldIssue, fail, invalid } from '../../lib/errors/errors.ts'

/** The condition of a CONDITION step: a tree with two branches, or one field with several. */
export type StepCondition = ConditionTree | SingleCondition | MultiCondition
type SingleCondition = ConditionFilter
type MultiCondition = { mode: 'multi'; field: string; branches: (Omit<ConditionFilter, 'field'> & { id: string; name: string })[] }

const MAX_BRANCHES = 20
const MAX_BRANCH_TEXT = 100
/** Names of outcomes that the engine gives itself. */
const RESERVED_BRANCHES = new Set(['default', 'timeout'])

const EVENT_OPERATORS = new Set<unknown>(OPERATORS.filter((operator) => /triggered/i.test(operator)))
/** Data that a filter reads: of the contact, of the event that started the execution, or of its context. */
type Source = 'event' | 'context'

/** `event.<path>` is the history of the contact for operators of events, else the data of the event that started the execution. */
function sourceOf(field: unknown, operator: unknown): { source: Source; path: string } | undefined {
  if (typeof field !== 'string') return undefined
  const [, prefix, path = ''] = /^(event|context|workflow)\.(.+)$/s.exec(field) ?? []
  if (prefix === undefined || (prefix === 'event' && EVENT_OPERATORS.has(operator))) return undefined
  return { source: prefix === 'event' ? 'event' : 'context', path }
}

type Raw = Record<string, unknown>
const isObject = (value: unknown): value is Raw => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Deeper trees are refused anyway. */
const MAX_REWRITTEN_DEPTH = 12

/**
 * The tree with filters on the execution as filters on `data`, which have the same operators. The place of each filter stays the same, and
 * so do the paths of errors.
 */
function asDataFilters(tree: unknown, depth = 0): unknown {
  if (!isObject(tree) || !Array.isArray(tree.groups) || depth > MAX_REWRITTEN_DEPTH) return tree
  return {
    ...tree,
    groups: tree.groups.map((group) => {
      if (!isObject(group)) return group
      const filters = Array.isArray(group.filters) ? group.filters.map(asDataFilter) : group.filters
      return { ...group, filters, ...(group.conditions ? { conditions: asDataFilters(group.conditions, depth + 1) } : {}) }
    }),
  }
}

function asDataFilter(filter: unknown): unknown {
  const own = isObject(filter) ? sourceOf(filter.field, filter.operator) : undefined
  return own ? { ...(filter as Raw), field: `data.${own.path}` } : filter
}

/** Puts the fields of the caller back into a tree that was read. Both have the same shape. */
function withFieldsOf(read: ConditionTree, given: Raw): ConditionTree {
  const groups = given.groups as { filters?: ConditionFilter[]; conditions?: Raw }[]
  return {
    logic: read.logic,
    groups: read.groups.map(({ filters, conditions }, index) => ({
      filters: filters.map((filter, position) => ({ ...filter, field: groups[index]!.filters![position]!.field })),
      ...(conditions ? { conditions: withFieldsOf(conditions, groups[index]!.conditions!) } : {}),
    })),
  }
}

/** Reads the config of a CONDITION step. `path` is its place in the request. */
export function readStepCondition(config: Raw, path: string): StepCondition {
  if (config.mode === 'multi') return readMulti(config, path)
  if (config.field !== undefined || config.operator !== undefined) return readSingle(config, path)
  const inner = isObject(config.condition) ? config.condition : config
  const at = inner === config ? path : `${path}.condition`
  return withFieldsOf(readCondition(asDataFilters(inner), at), inner)
}

const treeOf = (filter: unknown) => ({ logic: 'AND', groups: [{ filters: [filter] }] })

/** Errors name the field of the config, not its place in the tree around it. */
function readSingle(config: Raw, path: string): SingleCondition {
  try {
    const tree = treeOf(config)
    return withFieldsOf(readCondition(asDataFilters(tree), path), tree).groups[0]!.filters[0]!
  } catch (err) {
    if (!(err instanceof AppError) || !err.extra.errors) throw err
    const moved = (field: string) => field.replace(`${path}.groups.0.filters.0`, path)
    return fail('VALIDATION_ERROR', { errors: err.extra.errors.map((issue): FieldIssue => ({ ...issue, field: moved(issue.field) })) })
  }
}

function readMulti({ field, branches }: Raw, path: string): MultiCondition {
  if (typeof field !== 'string' || field === '') return invalid(`${path}.field`, 'Required.', 'required')
  if (!Array.isArray(branches) || !branches.length) return invalid(`${path}.branches`, 'Must have 1 to 20 branches.', 'too_small')
  if (branches.length > MAX_BRANCHES) invalid(`${path}.branches`, `Must be at most ${MAX_BRANCHES} items.`, 'too_big')
  const ids = new Set<string>()
  const read = branches.map((branch, index) => {
    const at = `${path}.branches.${index}`
    if (!isObject(branch)) return invalid(at, 'Expected object.', 'invalid_type')
    const id = readBranchText(branch.id, `${at}.id`)
    if (ids.has(id) || RESERVED_BRANCHES.has(id)) invalid(`${at}.id`, 'This id is taken.')
    ids.add(id)
    const { field: _field, ...filter } = readSingle({ ...branch, field }, at)
    return { id, name: branch.name === undefined ? id : readBranchText(branch.name, `${at}.name`), ...filter }
  })
  return { mode: 'multi', field, branches: read }
}

function readBranchText(value: unknown, path: string): string {
  if (value === undefined || value === null) return invalid(path, 'Required.', 'required')
  if (typeof value !== 'string') return invalid(path, 'Expected string.', 'invalid_type')
  if (value === '' || value.length > MAX_BRANCH_TEXT) return invalid(path, `Must have 1 to ${MAX_BRANCH_TEXT} characters.`, 'too_big')
  return value
}

const isTree = (condition: StepCondition): condition is ConditionTree => 'groups' in condition
const isMulti = (condition: StepCondition): condition is MultiCondition => 'branches' in condition

/** The trees of a condition with the branch that each leads to, in order. */
const casesOf = (condition: StepCondition): { branch: string; tree: ConditionTree }[] =>
  isMulti(condition)
    ? condition.branches.map(({ id, name: _name, ...filter }) => ({
        branch: id,
        tree: treeOf({ field: condition.field, ...filter }) as ConditionTree,
      }))
    : [{ branch: 'yes', tree: isTree(condition) ? condition : (treeOf(condition) as ConditionTree) }]

export const branchesOfCondition = (condition: StepCondition): string[] =>
  isMulti(condition) ? [...condition.branches.map(({ id }) => id), 'default'] : ['yes', 'no']

/** References of the filters on the contact. */
export function referencesOfCondition(condition: StepCondition) {
  const found = casesOf(condition).map(({ tree }) => referencesOf(onlyContact(tree)))
  const merged = (of: 'fields' | 'standard' | 'segments') => [...new Set(found.flatMap((each) => each[of]))]
  return { fields: merged('fields'), standard: merged('standard'), segments: merged('segments') }
}

/** Without filters on the execution. Only for references: a group may be left without filters. */
const onlyContact = ({ logic, groups }: ConditionTree): ConditionTree => ({
  logic,
  groups: groups.map(({ filters, conditions }) => ({
    filters: filters.filter(({ field, operator }) => !sourceOf(field, operator)),
    ...(conditions ? { conditions: onlyContact(conditions) } : {}),
  })),
})

/** A condition that is ready to be evaluated. */
export type CompiledCondition = { cases: { branch: string; expression: Expression; sources: Map<string, Source> }[]; otherwise: string }

/** Refuses unknown segments; `path` is the place of the config in the request. */
export function compileCondition(condition: StepCondition, lookup: SegmentLookup, path = 'config'): CompiledCondition {
  return {
    cases: casesOf(condition).map(({ branch, tree }) => ({
      branch,
      expression: toExpression(asDataFilters(tree) as ConditionTree, lookup, { path }),
      sources: sourcesOf(tree, ''),
    })),
    otherwise: isMulti(condition) ? 'default' : 'no',
  }
}

/** The filters on the execution, by their place in the tree. */
function sourcesOf({ groups }: ConditionTree, prefix: string): Map<string, Source> {
  const found = new Map<string, Source>()
  for (const [index, { filters, conditions }] of groups.entries()) {
    for (const [position, { field, operator }] of filters.entries()) {
      const own = sourceOf(field, operator)
      if (own) found.set(`${prefix}groups.${index}.filters.${position}`, own.source)
    }
    if (conditions) for (const [at, source] of sourcesOf(conditions, `${prefix}groups.${index}.conditions.`)) found.set(at, source)
  }
  return found
}

/** Data of an execution that conditions read. */
type ExecutionData = { event: Raw; context: Raw }

/** The branch that an execution takes. Pauses after each filter, as one may search a long text. */
export async function chooseBranch(
  { cases, otherwise }: CompiledCondition,
  { facts, data, context }: { facts: ContactFacts; data: ExecutionData; context: MatchContext },
  pause: Pause,
): Promise<string> {
  // Deleted fields are those of contacts.
  const of = (source: Source) =>
    evaluationOf({ ...facts, contact: { ...facts.contact, data: data[source] } }, { ...context, deletedFields: NO_FIELDS })
  const about = { contact: evaluationOf(facts, context), event: of('event'), context: of('context') }
  for (const { branch, expression, sources } of cases) if (await matches(expression, { sources, about, pause })) return branch
  return otherwise
}

const NO_FIELDS: ReadonlySet<string> = new Set()

type Reading = { sources: Map<string, Source>; about: Record<Source | 'contact', Evaluation>; pause: Pause }

async function matches(node: Expression, reading: Reading): Promise<boolean> {
  const { sources, about, pause } = reading
  if (node.type === 'filter') return matchesInTurns(node, about[sources.get(node.path) ?? 'contact'], pause)
  const decisive = node.type === 'or'
  for (const inner of node.nodes) if ((await matches(inner, reading)) === decisive) return decisive
  return !decisive
}
