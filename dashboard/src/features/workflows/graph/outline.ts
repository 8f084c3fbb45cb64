import { type Branch, branchesOf } from './branches.ts'
import { type Graph, type Place, reachableFrom, type Step, stepById, transitionAt, triggerOf, unreachableSteps } from './graph.ts'

/** A line of steps, as the list shows it. */
export type Line = {
  items: { step: Step /** The place before the step. */; place: Place | undefined; arms: Arm[] }[]
  /** How the line ends: open, at a step shown elsewhere, at the step after the branches, or with an EXIT step. */
  end: { is: 'open'; place: Place } | { is: 'goesTo'; place: Place; step: Step } | { is: 'joins'; place: Place } | { is: 'exit' }
}
export type Arm = { branch: string | null; label: string; line: Line }

/** The graph as nested lists: the branches of a step below it, and the step where they meet again after it. */
export function outlineOf(graph: Graph): Line {
  return lineFrom(graph, { at: triggerOf(graph), place: undefined }, new Set(), new Set())
}

/** Steps that nothing leads to, as lines of their own. */
export function strayLines(graph: Graph): Line[] {
  const stray = new Set(unreachableSteps(graph).map(({ id }) => id))
  const shown = new Set(graph.steps.filter(({ id }) => !stray.has(id)).map(({ id }) => id))
  const led = new Set(graph.transitions.filter(({ fromStepId }) => stray.has(fromStepId)).map(({ toStepId }) => toStepId))
  const heads = graph.steps.filter(({ id }) => stray.has(id) && !led.has(id))
  const lines = heads.map((at) => lineFrom(graph, { at, place: undefined }, shown, new Set()))
  // The remaining steps are in loops that nothing leads to.
  const rest = graph.steps.filter(({ id }) => stray.has(id) && !shown.has(id))
  return [...lines, ...rest.flatMap((at) => (shown.has(at.id) ? [] : [lineFrom(graph, { at, place: undefined }, shown, new Set())]))]
}

type Start = { at: Step; place: Place | undefined }

/** `shown` collects the steps that have been put somewhere; `stops` are steps that come after the branches around this line. */
function lineFrom(graph: Graph, start: Start, shown: Set<string>, stops: ReadonlySet<string>): Line {
  const items: Line['items'] = []
  let current: Start = start
  for (;;) {
    const { at: step, place } = current
    shown.add(step.id)
    const forks = forksOf(graph, step)
    if (forks.length === 0) return { items: [...items, { step, place, arms: [] }], end: { is: 'exit' } }
    if (forks.length === 1) {
      items.push({ step, place, arms: [] })
      const after = { fromStepId: step.id, branch: forks[0]!.branch }
      const next = follow(graph, after, shown, stops)
      if ('end' in next) return { items, end: next.end }
      current = next
      continue
    }
    const join = joinOf(graph, step, forks, shown)
    const isOuter = join !== undefined && stops.has(join.id)
    const inner = join ? new Set([...stops, join.id]) : stops
    const arms = forks.map(({ branch, label }) => ({ branch, label, line: armFrom(graph, { fromStepId: step.id, branch }, shown, inner) }))
    items.push({ step, place, arms })
    // A step where the branches around this line meet is shown after them.
    if (!join || isOuter) return { items, end: { is: 'exit' } }
    current = { at: join, place: undefined }
  }
}

function armFrom(graph: Graph, place: Place, shown: Set<string>, stops: ReadonlySet<string>): Line {
  const next = follow(graph, place, shown, stops)
  return 'end' in next ? { items: [], end: next.end } : lineFrom(graph, next, shown, stops)
}

function follow(graph: Graph, place: Place, shown: Set<string>, stops: ReadonlySet<string>): Start | { end: Line['end'] } {
  const step = stepById(graph, transitionAt(graph, place)?.toStepId)
  if (!step) return { end: { is: 'open', place } }
  if (stops.has(step.id)) return { end: { is: 'joins', place } }
  return shown.has(step.id) ? { end: { is: 'goesTo', place, step } } : { at: step, place }
}

/** A step without a transition of its own for the timeout goes on by the plain one. */
function forksOf(graph: Graph, step: Step): Branch[] {
  const branches = branchesOf(step)
  return branches.filter(({ branch }) => branch !== 'timeout' || transitionAt(graph, { fromStepId: step.id, branch }))
}

/** The nearest step that all branches which lead anywhere come to. */
function joinOf(graph: Graph, step: Step, forks: Branch[], shown: Set<string>): Step | undefined {
  const targets = forks.flatMap(({ branch }) => transitionAt(graph, { fromStepId: step.id, branch })?.toStepId ?? [])
  if (targets.length < 2) return undefined
  const [first, ...others] = targets.map((target) => reachableFrom(graph, target))
  const id = [...first!].find((each) => !shown.has(each) && others.every((reached) => reached.has(each)))
  return stepById(graph, id)
}
