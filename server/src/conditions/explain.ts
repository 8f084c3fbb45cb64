import { z } from 'zod'
import type { Pause } from '../lib/concurrency/yield-to-loop.ts'
import type { Expression, FilterNode } from './expression.ts'
import { type ContactFacts, type Evaluation, isDeleted, isNegated, matchesExpression, valueAt } from './match.ts'
import type { Predicate } from './predicate.ts'

const ExplainedFilter = z.object({
  field: z.string(),
  operator: z.string(),
  value: z.union([z.string(), z.number(), z.boolean()]).optional(),
  unit: z.string().optional(),
  matches: z.boolean(),
  actual: z
    .unknown()
    .describe(
      'The value of the contact: of the field; the time of the last event; for a segment, whether the contact is a member. Null if there is none. Long values are cut.',
    ),
  fieldDeleted: z.boolean().optional().describe('The field was deleted from all contacts: no filter on it matches.'),
  get segment() {
    return Explanation.optional().describe('The condition of a dynamic segment.')
  },
})
type ExplainedFilter = z.output<typeof ExplainedFilter>

/** The tree with the answer of every part, and the values of the contact. */
export const Explanation = z
  .object({
    logic: z.enum(['AND', 'OR']),
    matches: z.boolean(),
    groups: z.array(
      z.object({
        matches: z.boolean(),
        filters: z.array(ExplainedFilter),
        get conditions() {
          return Explanation.optional()
        },
      }),
    ),
  })
  .meta({ id: 'ConditionExplanation' })
type Explanation = z.output<typeof Explanation>

/** Characters of an actual value, as JSON: a contact may have 256 KB of data, and a tree 500 filters on it. */
const MAX_ACTUAL = 500

type Node = Exclude<Expression, FilterNode>

/** Evaluates every filter of the tree once, also those that the answer does not need, with a pause after each. */
export async function explainExpression(expression: Expression, about: Evaluation, pause: Pause): Promise<Explanation> {
  // The root of a tree and its nested conditions are nodes of groups: see `Expression`.
  const { type, nodes } = expression as Node
  const groups: Explanation['groups'] = []
  for (const group of nodes) groups.push(await explainGroup(group as Node, about, pause))
  const isMatch = ({ matches }: { matches: boolean }) => matches
  return type === 'and' ? { logic: 'AND', matches: groups.every(isMatch), groups } : { logic: 'OR', matches: groups.some(isMatch), groups }
}

async function explainGroup({ nodes }: Node, about: Evaluation, pause: Pause): Promise<Explanation['groups'][number]> {
  const filters: ExplainedFilter[] = []
  for (const node of nodes) if (node.type === 'filter') filters.push(await explainFilter(node, about, pause))
  const nested = nodes.find((node) => node.type !== 'filter')
  const conditions = nested && (await explainExpression(nested, about, pause))
  return {
    matches: filters.every(({ matches }) => matches) && (conditions?.matches ?? true),
    filters,
    ...(conditions && { conditions }),
  }
}

async function explainFilter(node: FilterNode, about: Evaluation, pause: Pause): Promise<ExplainedFilter> {
  const { filter, predicate, inlined } = node
  if (inlined) {
    const segment = await explainExpression(inlined, about, pause)
    return { ...filter, matches: segment.matches !== isNegated(node), actual: segment.matches, segment }
  }
  const isOfDeletedField = predicate.of === 'data' && isDeleted(predicate.path, about.deletedFields)
  const explained = {
    ...filter,
    matches: matchesExpression(node, about),
    actual: shorten(actualOf(predicate, about.facts)),
    ...(isOfDeletedField && { fieldDeleted: true }),
  }
  await pause()
  return explained
}

function actualOf(predicate: Predicate, { contact, lastEvent, isMember }: ContactFacts): unknown {
  switch (predicate.of) {
    case 'email':
    case 'subscribed':
      return contact[predicate.of]
    case 'createdAt':
    case 'updatedAt':
      return contact[predicate.of].toISOString()
    case 'data':
      return valueAt(contact.data, predicate.path) ?? null
    case 'event':
      return lastEvent(predicate.event)?.toISOString() ?? null
    case 'segment':
      return isMember(predicate.id)
  }
}

function shorten(value: unknown): unknown {
  if (typeof value !== 'string' && typeof value !== 'object') return value
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MAX_ACTUAL ? `${text.slice(0, MAX_ACTUAL).toWellFormed()}…` : value
}
