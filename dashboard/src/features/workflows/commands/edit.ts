import { branchesOf } from '../graph/branches.ts'
import { type Graph, newTransition, type Place, type Step, stepById, transitionAt, triggerOf, unreachableSteps } from '../graph/graph.ts'

/** Inserts a step at a place. The step that followed there now follows the new one, by its first branch. */
export function insertStep(graph: Graph, place: Place, step: Step): Graph {
  const before = transitionAt(graph, place)
  const first = branchesOf(step)[0]
  const others = graph.transitions.filter((each) => each !== before)
  const into = before ? { ...before, toStepId: step.id } : newTransition(place, step.id)
  const out = before && first ? [newTransition({ fromStepId: step.id, branch: first.branch }, before.toStepId)] : []
  return { steps: [...graph.steps, step], transitions: [...others, into, ...out] }
}

/** Removes a step: transitions into it lead to the step after it. Steps that become unreachable are removed too. */
export function removeStep(graph: Graph, stepId: string): Graph {
  const outgoing = graph.transitions.filter(({ fromStepId }) => fromStepId === stepId)
  const next = outgoing.find(({ branch }) => branch === null) ?? outgoing.find(({ branch }) => branch === 'yes') ?? outgoing[0]
  return withoutSteps(graph, new Set([stepId]), next?.toStepId)
}

/**
 * Removes steps. Transitions into them from outside lead to `next` instead. Steps that become unreachable are removed too; steps that
 * were unreachable before stay, as the user has put them there.
 */
export function withoutSteps(graph: Graph, removed: ReadonlySet<string>, next: string | undefined): Graph {
  const strayBefore = new Set(unreachableSteps(graph).map(({ id }) => id))
  const spliced: Graph = {
    steps: graph.steps.filter(({ id }) => !removed.has(id)),
    transitions: graph.transitions.flatMap((each) => {
      if (removed.has(each.fromStepId)) return []
      if (!removed.has(each.toStepId)) return [each]
      return next && !removed.has(next) && next !== each.fromStepId ? [{ ...each, toStepId: next }] : []
    }),
  }
  return unreachableSteps(spliced)
    .filter(({ id }) => !strayBefore.has(id))
    .reduce(dropStep, spliced)
}

/** Removes a step and its transitions. */
const dropStep = (graph: Graph, { id }: Pick<Step, 'id'>): Graph => ({
  steps: graph.steps.filter((step) => step.id !== id),
  transitions: graph.transitions.filter(({ fromStepId, toStepId }) => fromStepId !== id && toStepId !== id),
})

/** Changes a step. Transitions of branches that it no longer has are removed. */
export function changeStep(graph: Graph, step: Step): Graph {
  const branches = branchesOf(step).map(({ branch }) => branch)
  const hasLost = graph.transitions.some(({ fromStepId, branch }) => fromStepId === step.id && !branches.includes(branch))
  return {
    steps: graph.steps.map((each) => (each.id === step.id ? step : each)),
    // The same array while no transition changes, so that typing does not lay the workflow out again.
    transitions: hasLost
      ? graph.transitions.filter(({ fromStepId, branch }) => fromStepId !== step.id || branches.includes(branch))
      : graph.transitions,
  }
}

/** Whether a step can be changed, copied or removed like the others: the trigger cannot. */
export const isOwnStep = (graph: Graph, stepId: string) => stepById(graph, stepId) !== undefined && stepId !== triggerOf(graph).id
