import { isDeepStrictEqual } from 'node:util'
import type { Given } from '../../http/core/validate.ts'
import { invalid } from '../../lib/errors/errors.ts'
import { newId } from '../../lib/id.ts'
import { kindOf } from '../steps/kinds.ts'
import { type Graph, type GraphStep, type GraphTransition, triggerOf } from './graph.ts'

/** A step whose config has been read. */
export type StepInput = Pick<GraphStep, 'type' | 'config' | 'templateId'> & Given<Pick<GraphStep, 'id' | 'name' | 'position'>>

export function newStep(step: StepInput, now: string): GraphStep {
  const { id = newId(), type, name = kindOf(type).name, position = { x: 0, y: 0 }, config, templateId } = step
  return { id, type, name, position, config, templateId, createdAt: now, updatedAt: now }
}

type TransitionInput = Pick<GraphTransition, 'fromStepId' | 'toStepId' | 'branch'> & Given<Pick<GraphTransition, 'id' | 'priority'>>

export function newTransition(transition: TransitionInput, now: string): GraphTransition {
  const { id = newId(), fromStepId, toStepId, branch, priority = 0 } = transition
  return { id, fromStepId: fromStepId.toLowerCase(), toStepId: toStepId.toLowerCase(), branch, priority, createdAt: now }
}

type StepChanges = Given<Pick<GraphStep, 'name' | 'position' | 'config' | 'templateId'>>

export function withChangedStep(graph: Graph, stepId: string, changes: StepChanges, now: string): Graph {
  const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
  return { ...graph, steps: graph.steps.map((step) => (step.id === stepId ? { ...step, ...given, updatedAt: now } : step)) }
}

/** A graph with these steps and transitions; those that were there keep their times. The TRIGGER step stays, whether it was sent or not. */
export function replaceGraph(before: Graph, given: { steps: StepInput[]; transitions: TransitionInput[] }, now: string): Graph {
  const trigger = triggerOf(before)
  for (const [index, { id, type }] of given.steps.entries())
    if ((type === 'TRIGGER') !== (id === trigger.id))
      invalid(`steps.${index}.${type === 'TRIGGER' ? 'id' : 'type'}`, 'The TRIGGER step keeps its id.')
  const steps = given.steps.map((step) => keepTimes(newStep(step, now), before.steps, now))
  const transitions = given.transitions.map((transition) => keepTransition(newTransition(transition, now), before.transitions))
  // At the end, so that errors name the places of the request.
  const all = steps.some(({ id }) => id === trigger.id) ? steps : [...steps, trigger]
  refuseRepeatedIds(all, transitions)
  return { steps: all, transitions }
}

function keepTimes(step: GraphStep, before: GraphStep[], now: string): GraphStep {
  const stored = before.find(({ id }) => id === step.id)
  if (!stored) return step
  const { createdAt, updatedAt } = stored
  return isDeepStrictEqual({ ...step, createdAt, updatedAt }, stored) ? stored : { ...step, createdAt, updatedAt: now }
}

function keepTransition(transition: GraphTransition, before: GraphTransition[]): GraphTransition {
  const stored = before.find(({ id }) => id === transition.id)
  return stored ? { ...transition, createdAt: stored.createdAt } : transition
}

function refuseRepeatedIds(steps: GraphStep[], transitions: GraphTransition[]) {
  const seen = new Set<string>()
  for (const [name, list] of Object.entries({ steps, transitions }))
    for (const [index, { id }] of list.entries()) {
      if (seen.has(id)) invalid(`${name}.${index}.id`, 'This id occurs twice.')
      seen.add(id)
    }
}

/** The graph of a copy: with ids of its own. */
export function copyGraph({ steps, transitions }: Graph, now: string): Graph {
  const ids = new Map(steps.map(({ id }) => [id, newId()]))
  return {
    steps: steps.map((step) => ({ ...step, id: ids.get(step.id)!, createdAt: now, updatedAt: now })),
    transitions: transitions.map(({ fromStepId, toStepId, branch, priority }) =>
      newTransition({ fromStepId: ids.get(fromStepId)!, toStepId: ids.get(toStepId)!, branch, priority }, now),
    ),
  }
}

/** With other templates in the place of some. */
export const withTemplates = ({ steps, transitions }: Graph, others: ReadonlyMap<string, string>): Graph => ({
  steps: steps.map((step) => {
    const templateId = step.templateId !== null && others.get(step.templateId)
    return templateId ? { ...step, templateId, config: { ...step.config, templateId } } : step
  }),
  transitions,
})
