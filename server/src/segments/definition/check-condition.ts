import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { type SegmentLookup, toExpression } from '../../conditions/expression.ts'
import { eventsOf, referencesOf } from '../../conditions/references.ts'
import { type ConditionTree, readCondition } from '../../conditions/schema.ts'
import { dependentSegmentsCte } from '../../db/in-use.ts'
import { many, type Tx } from '../../db/index.ts'
import { AppError, failPlainly, invalid } from '../../lib/errors/errors.ts'
import { loadLookup } from './expressions.ts'

const FIELD = 'condition'

/** The tree of a request about a dynamic segment. */
export function readOwnCondition(given: unknown): ConditionTree {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    failPlainly('BAD_REQUEST', 'The field "condition" must be an object: a dynamic segment needs it.')
  return readCondition(given, FIELD)
}

/** References stored beside a tree, so that a query finds usage. An activity counts as the event it reads. */
export function usesOf(tree: ConditionTree) {
  const { fields, standard, segments } = referencesOf(tree)
  const events = eventsOf([toExpression(tree, () => ({ type: 'STATIC' }))])
  return { fields, standard, segments, events: [...new Set(events.map(({ name }) => name))] }
}

/**
 * Refuses a condition that refers to an unknown segment or to itself, or has too many filters once its references are in-lined. Editing a
 * segment may also make one that refers to it too large. Call it under the lock of the project's segments.
 */
export async function checkReferences(tx: Tx, { projectId, tree, id }: { projectId: string; tree: ConditionTree; id?: string }) {
  const dependants = id ? await listDependants(tx, projectId, id) : []
  const lookup = await loadLookup(tx, projectId, [...usesOf(tree).segments, ...dependants.map((dependant) => dependant.id)])
  const edited: SegmentLookup = (segmentId) => (segmentId === id ? { type: 'DYNAMIC', condition: tree } : lookup(segmentId))
  toExpression(tree, edited, { path: FIELD, ...(id ? { segmentId: id } : {}) })
  for (const dependant of dependants) {
    checkDependant(dependant, edited)
    await yieldToOthers()
  }
}

type Dependant = { id: string; name: string }

/** Segments that refer to this one, directly or not. */
const listDependants = (tx: Tx, projectId: string, id: string) =>
  many<Dependant>(tx)`
    with recursive ${dependentSegmentsCte(projectId, id)}
    select s.id, s.name from segments s join dependents using (id) where s.project_id = ${projectId} and s.id <> ${id}
  `

function checkDependant({ id, name }: Dependant, lookup: SegmentLookup) {
  const target = lookup(id)
  if (target?.type !== 'DYNAMIC') return
  try {
    toExpression(target.condition, lookup)
  } catch (err) {
    if (!(err instanceof AppError)) throw err
    invalid(FIELD, `The segment "${name}" refers to this one, and would then have too many filters.`, 'too_big')
  }
}
