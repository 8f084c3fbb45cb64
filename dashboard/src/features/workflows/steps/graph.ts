import type { Workflow, WorkflowStep } from '@sterna/sdk'

export type StepType = WorkflowStep['type']
export type Step = Pick<WorkflowStep, 'id' | 'type' | 'name' | 'position' | 'config'>
/** `branch` null is the plain transition. */
export type Transition = { id: string; fromStepId: string; toStepId: string; branch: string | null; priority: number }
export type Graph = { steps: Step[]; transitions: Transition[] }

/** The steps and transitions as the editor changes them. */
export const graphOf = ({ steps, transitions }: Pick<Workflow, 'steps' | 'transitions'>): Graph => ({
  steps: steps.map(({ id, type, name, position, config }) => ({ id, type, name, position, config })),
  transitions: transitions.map(({ id, fromStepId, toStepId, branch, priority }) => ({ id, fromStepId, toStepId, branch, priority })),
})

/** The place of a transition: after this step, by this branch. There is at most one transition at a place. */
export type Place = { fromStepId: string; branch: string | null }

type Branch = { branch: string | null; label: string }

/** The branches that a step can have, in the order in which they are shown. */
export function branchesOf({ type, config }: Pick<Step, 'type' | 'config'>): Branch[] {
  if (type === 'EXIT') return []
  if (type === 'WAIT_FOR_EVENT')
    return [
      { branch: null, label: 'When it happens' },
      { branch: 'timeout', label: 'When the time is over' },
    ]
  if (type !== 'CONDITION') return [{ branch: null, label: 'Then' }]
  if (config.mode !== 'multi')
    return [
      { branch: 'yes', label: 'Yes' },
      { branch: 'no', label: 'No' },
    ]
  const branches = Array.isArray(config.branches) ? (config.branches as { id: string; name?: string }[]) : []
  return [...branches.map(({ id, name }) => ({ branch: id, label: name || id })), { branch: 'default', label: 'None of these' }]
}

const isAt =
  ({ fromStepId, branch }: Place) =>
  (transition: Transition) =>
    transition.fromStepId === fromStepId && transition.branch === branch

export const transitionAt = ({ transitions }: Graph, place: Place): Transition | undefined => transitions.find(isAt(place))

export const stepById = ({ steps }: Graph, id: string | undefined): Step | undefined => steps.find((step) => step.id === id)

export const triggerOf = ({ steps }: Graph): Step => steps.find(({ type }) => type === 'TRIGGER')!

/** A UUID. `crypto.randomUUID` exists only on HTTPS and localhost. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

const transition = (place: Place, toStepId: string): Transition => ({ id: newId(), ...place, toStepId, priority: 0 })

/** Puts a step at a place. What followed there now follows the new step, by its first branch. */
export function insertStep(graph: Graph, place: Place, step: Step): Graph {
  const before = transitionAt(graph, place)
  const first = branchesOf(step)[0]
  const others = graph.transitions.filter((each) => each !== before)
  const into = before ? { ...before, toStepId: step.id } : transition(place, step.id)
  const out = before && first ? [transition({ fromStepId: step.id, branch: first.branch }, before.toStepId)] : []
  return { steps: [...graph.steps, step], transitions: [...others, into, ...out] }
}

/** Removes a step: what led to it leads to the step after it. Steps that nothing leads to any more are removed too. */
export function removeStep(graph: Graph, stepId: string): Graph {
  const outgoing = graph.transitions.filter(({ fromStepId }) => fromStepId === stepId)
  const next = outgoing.find(({ branch }) => branch === null) ?? outgoing.find(({ branch }) => branch === 'yes') ?? outgoing[0]
  const lost = new Set(unreachableSteps(graph).map(({ id }) => id))
  const spliced: Graph = {
    steps: graph.steps.filter(({ id }) => id !== stepId),
    transitions: graph.transitions.flatMap((each) => {
      if (each.fromStepId === stepId) return []
      if (each.toStepId !== stepId) return [each]
      return next && next.toStepId !== each.fromStepId ? [{ ...each, toStepId: next.toStepId }] : []
    }),
  }
  // Steps that were unreachable before stay: the user has put them there.
  return unreachableSteps(spliced)
    .filter(({ id }) => !lost.has(id))
    .reduce(dropStep, spliced)
}

/** Removes a step and its transitions. */
const dropStep = (graph: Graph, { id }: Pick<Step, 'id'>): Graph => ({
  steps: graph.steps.filter((step) => step.id !== id),
  transitions: graph.transitions.filter(({ fromStepId, toStepId }) => fromStepId !== id && toStepId !== id),
})

/** Leads from a place to a step, or ends there if `toStepId` is undefined. */
export function connect(graph: Graph, place: Place, toStepId: string | undefined): Graph {
  const others = graph.transitions.filter((each) => !isAt(place)(each))
  return { ...graph, transitions: toStepId ? [...others, transition(place, toStepId)] : others }
}

/** Changes a step. Transitions of branches that it no longer has are removed. */
export function changeStep(graph: Graph, step: Step): Graph {
  const branches = branchesOf(step).map(({ branch }) => branch)
  return {
    steps: graph.steps.map((each) => (each.id === step.id ? step : each)),
    transitions: graph.transitions.filter(({ fromStepId, branch }) => fromStepId !== step.id || branches.includes(branch)),
  }
}

function reachableFrom({ transitions }: Graph, stepId: string): Set<string> {
  const reached = new Set([stepId])
  // A set grows while it is iterated: each step is visited once, in the order of distance.
  for (const id of reached) for (const { fromStepId, toStepId } of transitions) if (fromStepId === id) reached.add(toStepId)
  return reached
}

function unreachableSteps(graph: Graph): Step[] {
  const reached = reachableFrom(graph, triggerOf(graph).id)
  return graph.steps.filter(({ id }) => !reached.has(id))
}

/** Steps that one place can lead on to: not the trigger, and not the step itself. */
export const targetsOf = ({ steps }: Graph, { fromStepId }: Place): Step[] =>
  steps.filter(({ id, type }) => type !== 'TRIGGER' && id !== fromStepId)

/** A line of steps, as the list shows it. */
export type Line = {
  items: { step: Step /** What lies before the step. */; place: Place | undefined; arms: Arm[] }[]
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
  // Whatever is left is in a loop that nothing leads to.
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

/** A wait without a transition of its own for the timeout goes on by the plain one. */
function forksOf(graph: Graph, step: Step): Branch[] {
  const branches = branchesOf(step)
  const isPlainWait = step.type === 'WAIT_FOR_EVENT' && !transitionAt(graph, { fromStepId: step.id, branch: 'timeout' })
  return isPlainWait ? branches.slice(0, 1) : branches
}

/** The nearest step that all branches which lead anywhere come to. */
function joinOf(graph: Graph, step: Step, forks: Branch[], shown: Set<string>): Step | undefined {
  const targets = forks.flatMap(({ branch }) => transitionAt(graph, { fromStepId: step.id, branch })?.toStepId ?? [])
  if (targets.length < 2) return undefined
  const [first, ...others] = targets.map((target) => reachableFrom(graph, target))
  const id = [...first!].find((each) => !shown.has(each) && others.every((reached) => reached.has(each)))
  return stepById(graph, id)
}
