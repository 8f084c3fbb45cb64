import { z } from 'zod'
import type { Expression, FilterNode } from './expression.ts'
import { type ContactFacts, isDeleted, type MatchContext, matchesExpression, valueAt } from './match.ts'
import type { Predicate } from './predicate.ts'

type ExplainedFilter = {
  field: string
  operator: string
  value?: string | number | boolean | undefined
  unit?: string | undefined
  matches: boolean
  actual: unknown
  fieldDeleted?: boolean | undefined
  segment?: Explanation | undefined
}
export type Explanation = {
  logic: 'AND' | 'OR'
  matches: boolean
  groups: { matches: boolean; filters: ExplainedFilter[]; conditions?: Explanation | undefined }[]
}

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
  segment: z
    .lazy(() => Explanation)
    .optional()
    .describe('The condition of a dynamic segment.'),
})

/** The tree with the answer of every part, and the values of the contact. */
export const Explanation: z.ZodType<Explanation> = z
  .object({
    logic: z.enum(['AND', 'OR']),
    matches: z.boolean(),
    groups: z.array(
      z.object({
        matches: z.boolean(),
        filters: z.array(ExplainedFilter),
        conditions: z.lazy(() => Explanation).optional(),
      }),
    ),
  })
  .meta({ id: 'ConditionExplanation' })

/** Characters of an actual value, as JSON: a contact may have 256 KB of data, and a tree 500 filters on it. */
const MAX_ACTUAL = 500

type Node = Exclude<Expression, FilterNode>

/** Evaluates every part of the tree, also those that the answer does not need. */
export function explainExpression(expression: Expression, facts: ContactFacts, context: MatchContext): Explanation {
  // The root of a tree and its nested conditions are nodes of groups: see `Expression`.
  const { type, nodes } = expression as Node
  return {
    logic: type === 'and' ? 'AND' : 'OR',
    matches: matchesExpression(expression, facts, context),
    groups: nodes.map((group) => explainGroup(group as Node, facts, context)),
  }
}

function explainGroup(group: Node, facts: ContactFacts, context: MatchContext): Explanation['groups'][number] {
  const filters = group.nodes.flatMap((node) => (node.type === 'filter' ? [explainFilter(node, facts, context)] : []))
  const nested = group.nodes.find((node) => node.type !== 'filter')
  return {
    matches: matchesExpression(group, facts, context),
    filters,
    ...(nested && { conditions: explainExpression(nested, facts, context) }),
  }
}

function explainFilter(node: FilterNode, facts: ContactFacts, context: MatchContext): ExplainedFilter {
  const { filter, predicate, inlined } = node
  const segment = inlined && explainExpression(inlined, facts, context)
  const isOfDeletedField = predicate.of === 'data' && isDeleted(predicate.path, context.deletedFields)
  return {
    ...filter,
    matches: matchesExpression(node, facts, context),
    actual: segment ? segment.matches : shorten(actualOf(predicate, facts)),
    ...(isOfDeletedField && { fieldDeleted: true }),
    ...(segment && { segment }),
  }
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
