import { type Graph, type Step, unreachableSteps } from '../graph/graph.ts'
import { STEP_VIEWS } from '../steps/views.ts'

const MAX_STEPS = 200

/** Everything that keeps a graph from being saved, by step. The server checks all of it again. */
export function problemsOf(graph: Graph): Map<string, string> {
  const found = new Map<string, string>()
  for (const stepId of endlessLoops(graph)) found.set(stepId, 'This leads back without a pause. Put a wait into the loop.')
  for (const step of graph.steps) {
    const problem = step.name.trim() ? STEP_VIEWS[step.type].problem?.(step.config) : 'A step needs a name.'
    if (problem) found.set(step.id, problem)
  }
  const last = graph.steps.at(-1)
  if (last && graph.steps.length > MAX_STEPS) found.set(last.id, `A workflow has at most ${MAX_STEPS} steps.`)
  return found
}

/** Problems that do not keep a graph from being saved. */
export const warningsOf = (graph: Graph): Map<string, string> =>
  new Map(unreachableSteps(graph).map(({ id }) => [id, 'No contact comes to this step.']))

const isPause = ({ type }: Step) => STEP_VIEWS[type].pauses === true

/** Steps that lead back to a step above with no pause in between: an execution would never end. */
function endlessLoops({ steps, transitions }: Graph): Set<string> {
  const moving = new Set(steps.filter((step) => !isPause(step)).map(({ id }) => id))
  const next = new Map<string, string[]>()
  for (const { fromStepId, toStepId } of transitions)
    if (moving.has(fromStepId) && moving.has(toStepId)) next.set(fromStepId, [...(next.get(fromStepId) ?? []), toStepId])
  const state = new Map<string, 'open' | 'done'>()
  const found = new Set<string>()
  const visit = (id: string) => {
    state.set(id, 'open')
    for (const to of next.get(id) ?? []) {
      if (state.get(to) === 'open') found.add(id)
      if (!state.has(to)) visit(to)
    }
    state.set(id, 'done')
  }
  for (const id of moving) if (!state.has(id)) visit(id)
  return found
}
