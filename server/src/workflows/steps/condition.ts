import type { SegmentLookup } from '../../conditions/expression.ts'
import { readFacts } from '../../conditions/facts.ts'
import type { ContactFacts, MatchContext } from '../../conditions/match.ts'
import { eventsOf } from '../../conditions/references.ts'
import type { Db } from '../../db/index.ts'
import { groupBy } from '../../lib/collections/group-by.ts'
import { createYield, type Pause } from '../../lib/concurrency/yield-to-loop.ts'
import { loadLookup } from '../../segments/definition/expressions.ts'
import { readContext } from '../../segments/evaluation/evaluate.ts'
import { CONTACT_GONE, type Running, type StepBatch, type StepKind } from './step.ts'
import {
  branchesOfCondition,
  type CompiledCondition,
  chooseBranch,
  compileCondition,
  readStepCondition,
  referencesOfCondition,
  type StepCondition,
} from './step-condition.ts'

/** `compiled` undefined: a segment is gone. `own` undefined: the contact is. */
type Asked = { compiled: CompiledCondition | undefined; own: ContactFacts | undefined; context: MatchContext; pause: Pause }

/** Segments are named, not opened. */
const AS_STATIC: SegmentLookup = () => ({ type: 'STATIC' })

export const conditionKind: StepKind<StepCondition, Asked> = {
  name: 'Condition',
  read: (given, { at }) => readStepCondition(given, at),
  branches: branchesOfCondition,
  uses(condition) {
    const expressions = compileCondition(condition, AS_STATIC).cases.map(({ expression }) => expression)
    const { fields, standard } = referencesOfCondition(condition)
    return { fields, standard, events: eventsOf(expressions).map(({ name }) => name) }
  },
  segments: (condition) => referencesOfCondition(condition).segments,
  checkSegments: (condition, lookup, at) => void compileCondition(condition, lookup, at),
  async facts(db, batch, executions) {
    const found = new Map<string, Asked>()
    const pause = createYield()
    const byStep = groupBy(executions, ({ workflowId, version, step }) => `${workflowId} ${version} ${step.id}`)
    for (const several of byStep.values()) {
      const asked = await readAsked(db, batch, several)
      for (const { id, contactId } of several) found.set(id, { ...asked, own: asked.byContact.get(contactId), pause })
    }
    return executions.map(({ id }) => found.get(id)!)
  },
  async decide({ event, context: data }, { compiled, own, context, pause }) {
    if (!compiled) return { is: 'failed', error: 'segment_deleted' }
    if (!own) return CONTACT_GONE
    const branch = await chooseBranch(compiled, { facts: own, data: { event: event?.data ?? {}, context: data }, context }, pause)
    return { is: 'done', branch, output: { branch } }
  },
  describe: ({ outcome }) => (outcome.is === 'done' ? outcome.output : null),
}

/** Compiles a step once for all executions at it. */
async function readAsked(db: Db, { projectId, now, world }: StepBatch, executions: Running<StepCondition>[]) {
  const condition = executions[0]!.step.config
  const { segments } = referencesOfCondition(condition)
  const lookup = await loadLookup(db, projectId, segments)
  // Segments that these refer to, and that are gone, have no members: as for every other use of a segment.
  const compiled = segments.every((id) => lookup(id)) ? compileCondition(condition, (id) => lookup(id) ?? { type: 'STATIC' }) : undefined
  const expressions = (compiled?.cases ?? []).map(({ expression }) => expression)
  const contactIds = world && !world.isStored ? [] : executions.map(({ contactId }) => contactId)
  const stored = await readFacts(db, { projectId, contactIds, expressions })
  const context = await readContext(db, projectId, expressions)
  if (!world) return { compiled, context, byContact: new Map(stored.map((each) => [each.contact.id, each])) }
  const own: ContactFacts = {
    contact: { ...world.contact, updatedAt: stored[0]?.contact.updatedAt ?? now },
    lastEvent: (event) => stored[0]?.lastEvent(event),
    isMember: (segmentId) => stored[0]?.isMember(segmentId) ?? false,
  }
  return { compiled, context: { ...context, now }, byContact: new Map([[world.contact.id, own]]) }
}
