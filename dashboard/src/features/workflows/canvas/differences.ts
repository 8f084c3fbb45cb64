import type { Flow } from '../graph/flow.ts'
import { flowOf } from '../graph/flow.ts'
import type { Graph, Step, Transition } from '../graph/graph.ts'

export type Difference = {
  /** The steps of both graphs. */
  graph: Graph
  /** The transitions of both. Removed ones come after the others. */
  flow: Flow
  steps: Map<string, 'added' | 'changed' | 'removed'>
  /** By place, as the flow names it. */
  edges: Map<string, 'added' | 'removed'>
}

const GONE = 'gone '
const wayKey = ({ fromStepId, branch, toStepId }: Transition) => `${fromStepId} ${branch ?? ''} ${toStepId}`
const isSameStep = (a: Step, b: Step) => a.name === b.name && JSON.stringify(a.config) === JSON.stringify(b.config)

/** Two versions of a workflow in one drawing: the second one, with what it no longer has. */
export function differenceOf(before: Graph, after: Graph): Difference {
  const older = new Map(before.steps.map((step) => [step.id, step]))
  const newer = new Set(after.steps.map(({ id }) => id))
  const removed = before.steps.filter(({ id }) => !newer.has(id))
  const steps: Difference['steps'] = new Map(removed.map(({ id }) => [id, 'removed']))
  for (const step of after.steps) {
    const old = older.get(step.id)
    if (!old) steps.set(step.id, 'added')
    else if (!isSameStep(old, step)) steps.set(step.id, 'changed')
  }
  const graph = { steps: [...after.steps, ...removed], transitions: [...after.transitions, ...waysOf(before, removed)] }
  const { flow, edges } = withGoneWays(flowOf(graph), before, after, removed)
  return { graph, flow, steps, edges }
}

/** Transitions from steps that are gone: they keep their places. */
const waysOf = ({ transitions }: Graph, removed: Step[]) =>
  transitions.filter(({ fromStepId }) => removed.some(({ id }) => id === fromStepId))

function withGoneWays({ outs: base }: Flow, before: Graph, after: Graph, removed: Step[]) {
  const known = { before: new Set(before.transitions.map(wayKey)), after: new Set(after.transitions.map(wayKey)) }
  const edges: Difference['edges'] = new Map()
  const outs = new Map(base)
  for (const way of after.transitions) if (!known.before.has(wayKey(way))) edges.set(`${way.fromStepId} ${way.branch ?? ''}`, 'added')
  for (const way of before.transitions) {
    if (known.after.has(wayKey(way))) continue
    const { fromStepId, toStepId, branch } = way
    if (removed.some(({ id }) => id === fromStepId)) {
      edges.set(`${fromStepId} ${branch ?? ''}`, 'removed')
      continue
    }
    // Beside the way that the step has now, so that both are seen.
    const place = { fromStepId, branch: `${GONE}${branch ?? ''}` }
    outs.set(fromStepId, [...(outs.get(fromStepId) ?? []), { place, label: '', to: toStepId }])
    edges.set(`${fromStepId} ${place.branch}`, 'removed')
  }
  return { flow: { roots: rootsOf(outs), outs }, edges }
}

/** The first step, and steps that nothing leads to. */
function rootsOf(outs: Flow['outs']): string[] {
  const reached = new Set<string>()
  const roots: string[] = []
  const reach = (id: string) => {
    if (reached.has(id)) return
    reached.add(id)
    for (const { to } of outs.get(id) ?? []) if (to) reach(to)
  }
  const led = new Set([...outs.values()].flat().flatMap(({ to }) => to ?? []))
  for (const isHead of [true, false])
    for (const id of outs.keys()) {
      if (reached.has(id) || (isHead && led.has(id))) continue
      roots.push(id)
      reach(id)
    }
  return roots
}
