import { readFacts } from '../../conditions/facts.ts'
import { createYield } from '../../lib/concurrency/yield-to-loop.ts'
import { groupBy } from '../../lib/group-by.ts'
import { readContext } from '../../segments/evaluate.ts'
import { loadLookup } from '../../segments/expressions.ts'
import { chooseBranch, compileCondition, referencesOfCondition, type StepCondition } from '../definition/step-condition.ts'
import { dataOf, type StepOutcome, type StepRunner } from './step.ts'

/** Compiles each step once for all executions at it. */
export const runCondition: StepRunner = async (tx, { projectId }, executions) => {
  const outcomes = new Map<string, StepOutcome>()
  const byStep = groupBy(executions, ({ workflowId, version, step }) => `${workflowId} ${version} ${step.id}`)
  const pause = createYield()
  for (const several of byStep.values()) {
    const condition = several[0]!.step.config as StepCondition
    const { segments } = referencesOfCondition(condition)
    const lookup = await loadLookup(tx, projectId, segments)
    if (segments.some((id) => !lookup(id))) {
      for (const { id } of several) outcomes.set(id, { is: 'failed', error: 'segment_deleted' })
      continue
    }
    // Segments that these refer to, and that are gone, have no members: as for every other use of a segment.
    const compiled = compileCondition(condition, (id) => lookup(id) ?? { type: 'STATIC' })
    const expressions = compiled.cases.map(({ expression }) => expression)
    const facts = await readFacts(tx, { projectId, contactIds: several.map(({ contactId }) => contactId), expressions })
    const context = await readContext(
      tx,
      projectId,
      expressions.map((expression) => ({ expression })),
    )
    const byContact = new Map(facts.map((each) => [each.contact.id, each]))
    for (const execution of several) {
      const own = byContact.get(execution.contactId)
      const branch = own && (await chooseBranch(compiled, { facts: own, data: dataOf(execution), context }, pause))
      outcomes.set(execution.id, branch ? { is: 'done', branch, output: { branch } } : { is: 'cancelled', reason: 'contact_deleted' })
    }
  }
  return executions.map(({ id }) => outcomes.get(id)!)
}
