import { type FieldCode, invalid } from '../lib/errors/errors.ts'
import { type Predicate, readPredicate } from './predicate.ts'
import type { ConditionFilter, ConditionGroup, ConditionTree } from './schema.ts'

/**
 * A tree that is ready to be evaluated: values read, dynamic segments in-lined. The nodes of a tree are its groups; the nodes of a group are
 * its filters, then its nested conditions. `path` is the place of a filter in the tree, such as `groups.0.filters.1`.
 */
export type Expression = { type: 'and' | 'or'; nodes: Expression[] } | FilterNode

export type FilterNode = {
  type: 'filter'
  path: string
  filter: ConditionFilter
  predicate: Predicate
  /** The condition of a dynamic segment. The paths in it are those of that segment. */
  inlined?: Expression
}

/** A segment as `toExpression` needs it. */
export type ReferencedSegment = { type: 'STATIC' } | { type: 'DYNAMIC'; condition: ConditionTree }
export type SegmentLookup = (segmentId: string) => ReferencedSegment | undefined

/** Filters of a tree with those of the segments in it: bounds the time of every evaluation. */
const MAX_INLINED_FILTERS = 500

/** Segments that refer to segments: bounds the depth of the in-lined tree. */
const MAX_SEGMENT_DEPTH = 10

type Inlining = {
  lookup: SegmentLookup
  /** Shared by all of the tree. */
  read: { filters: number }
  /** Segments that the current tree is in, from the outside in; the first is the one whose condition is read, if it has an id. */
  open: string[]
  refuse: (path: string, message: string, code?: FieldCode) => never
}

/**
 * Prepares a tree. Refuses unknown segments, cycles, and too many filters with the in-lined segments; `path` is the field of the request
 * that holds the tree. `segmentId` is the segment whose condition it is: it must not refer to itself.
 */
export function toExpression(tree: ConditionTree, lookup: SegmentLookup, options: { path?: string; segmentId?: string } = {}): Expression {
  const { path: root = 'condition', segmentId } = options
  const refuse: Inlining['refuse'] = (path, message, code) => invalid(path ? `${root}.${path}` : root, message, code)
  return readTree({ lookup, read: { filters: 0 }, open: [segmentId ?? ''], refuse }, tree, '')
}

/** `at` is the place of the outermost filter that refers to a segment: errors inside a segment are reported there. */
function readTree(inlining: Inlining, { logic, groups }: ConditionTree, prefix: string, at?: string): Expression {
  const nodes = groups.map((group, index) => readGroup(inlining, group, `${prefix}groups.${index}`, at))
  return { type: logic === 'AND' ? 'and' : 'or', nodes }
}

function readGroup(inlining: Inlining, { filters, conditions }: ConditionGroup, prefix: string, at?: string): Expression {
  const nodes: Expression[] = filters.map((filter, index) => readFilter(inlining, filter, `${prefix}.filters.${index}`, at))
  if (conditions) nodes.push(readTree(inlining, conditions, `${prefix}.conditions.`, at))
  return { type: 'and', nodes }
}

function readFilter(inlining: Inlining, filter: ConditionFilter, path: string, at = path): FilterNode {
  if (++inlining.read.filters > MAX_INLINED_FILTERS)
    inlining.refuse('', `At most ${MAX_INLINED_FILTERS} filters, together with those of the segments in it.`, 'too_big')
  const read = readPredicate({ value: undefined, unit: undefined, ...filter })
  // Stored trees have been checked, but by an earlier version of the rules.
  if ('problem' in read) return inlining.refuse(`${at}.${read.problem.of}`, read.problem.message, read.problem.code)
  const node: FilterNode = { type: 'filter', path, filter, predicate: read.predicate }
  if (read.predicate.of !== 'segment') return node
  const inlined = inlineSegment(inlining, read.predicate.id, at)
  return inlined ? { ...node, inlined } : node
}

function inlineSegment(inlining: Inlining, id: string, at: string): Expression | undefined {
  const segment = inlining.lookup(id) ?? inlining.refuse(`${at}.field`, 'No such segment.')
  if (inlining.open.includes(id)) inlining.refuse(`${at}.field`, 'A segment cannot refer to itself, directly or through other segments.')
  if (segment.type === 'STATIC') return undefined
  if (inlining.open.length > MAX_SEGMENT_DEPTH)
    inlining.refuse(`${at}.field`, `Segments refer to segments at most ${MAX_SEGMENT_DEPTH} levels deep.`, 'too_big')
  return readTree({ ...inlining, open: [...inlining.open, id] }, segment.condition, '', at)
}
