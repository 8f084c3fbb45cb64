import { branchesOf } from './branches.ts'
import { type Graph, type Place, type Step, transitionAt, triggerOf } from './graph.ts'

/** One way out of a step. `to` undefined: the workflow ends there. */
export type Out = { place: Place; label: string; to: string | undefined }

/** Steps with their ways out, in the order in which they are drawn. `roots` are the trigger and the steps that nothing leads to. */
export type Flow = { roots: string[]; outs: Map<string, Out[]> }

export function flowOf(graph: Graph): Flow {
  const outs = new Map(graph.steps.map((step) => [step.id, outsOf(graph, step)]))
  const reached = new Set<string>()
  const reach = (id: string) => {
    if (reached.has(id)) return
    reached.add(id)
    for (const { to } of outs.get(id) ?? []) if (to) reach(to)
  }
  const roots = [triggerOf(graph).id]
  reach(roots[0]!)
  const led = new Set(graph.transitions.map(({ toStepId }) => toStepId))
  // Heads of lines first; what is left then is in loops that nothing leads to.
  for (const isHead of [true, false])
    for (const { id } of graph.steps) {
      if (reached.has(id) || (isHead && led.has(id))) continue
      roots.push(id)
      reach(id)
    }
  return { roots, outs }
}

/** A wait without a transition of its own for the timeout goes on by the plain one, so that nothing is drawn for it. */
function outsOf(graph: Graph, step: Step): Out[] {
  return branchesOf(step).flatMap(({ branch, label }) => {
    const place = { fromStepId: step.id, branch }
    const to = transitionAt(graph, place)?.toStepId
    return branch === 'timeout' && !to ? [] : [{ place, label, to }]
  })
}
