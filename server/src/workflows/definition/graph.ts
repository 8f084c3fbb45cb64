import { kindOf, type StepType } from '../steps/kinds.ts'

export type GraphStep = {
  id: string
  type: StepType
  name: string
  position: { x: number; y: number }
  /** Valid for its type. */
  config: Record<string, unknown>
  templateId: string | null
  createdAt: string
  updatedAt: string
}
export type GraphTransition = {
  id: string
  fromStepId: string
  toStepId: string
  /** Null: the plain transition. */
  branch: string | null
  priority: number
  createdAt: string
}
export type Graph = { steps: GraphStep[]; transitions: GraphTransition[] }

export const MAX_GRAPH_STEPS = 200
export const MAX_GRAPH_TRANSITIONS = 2_000

/** A mistake in a graph. `index` is that of the transition; undefined: the graph as a whole. */
export type Violation = { index?: number; field: 'fromStepId' | 'toStepId' | 'branch' | 'steps' | 'transitions'; message: string }

type Configured = Pick<GraphStep, 'type' | 'config'>

/** The branches of a step. Null is the plain transition. */
const branchesOf = ({ type, config }: Configured): (string | null)[] => kindOf(type).branches?.(config) ?? [null]

const isPause = ({ type }: Configured) => kindOf(type).pauses === true

/** The event that a step waits for. */
export const awaitedBy = ({ type, config }: Configured): string | undefined => kindOf(type).awaits?.(config)

/** Everything that a stored graph must not have. Empty: the graph is valid. */
export function violationsOf({ steps, transitions }: Graph): Violation[] {
  const found: Violation[] = []
  if (steps.length > MAX_GRAPH_STEPS) found.push({ field: 'steps', message: `At most ${MAX_GRAPH_STEPS} steps.` })
  if (transitions.length > MAX_GRAPH_TRANSITIONS)
    found.push({ field: 'transitions', message: `At most ${MAX_GRAPH_TRANSITIONS} transitions.` })
  if (found.length) return found
  if (steps.filter(({ type }) => type === 'TRIGGER').length !== 1)
    found.push({ field: 'steps', message: 'A workflow has exactly one TRIGGER step.' })
  const byId = new Map(steps.map((step) => [step.id, step]))
  const taken = new Set<string>()
  for (const [index, transition] of transitions.entries()) {
    const violation = violationOf(transition, byId, taken)
    if (violation) found.push({ ...violation, index })
  }
  const looping = found.length ? -1 : findEndlessLoop({ steps, transitions })
  if (looping > -1) found.push({ index: looping, field: 'toStepId', message: 'A loop needs a DELAY or WAIT_FOR_EVENT step in it.' })
  return found
}

function violationOf(transition: GraphTransition, byId: Map<string, GraphStep>, taken: Set<string>): Violation | undefined {
  const { fromStepId, toStepId, branch } = transition
  const [from, to] = [byId.get(fromStepId), byId.get(toStepId)]
  if (!from) return { field: 'fromStepId', message: 'No such step in this workflow.' }
  if (!to) return { field: 'toStepId', message: 'No such step in this workflow.' }
  if (from === to) return { field: 'toStepId', message: 'A step cannot lead to itself.' }
  if (to.type === 'TRIGGER') return { field: 'toStepId', message: 'Nothing leads to the TRIGGER step.' }
  const branches = branchesOf(from)
  if (!branches.length) return { field: 'fromStepId', message: `Nothing follows an ${from.type} step.` }
  if (!branches.includes(branch)) return { field: 'branch', message: describeBranches(branches) }
  const name = `${fromStepId} ${branch ?? ''}`
  if (taken.has(name)) return { field: 'branch', message: branch ? `The branch "${branch}" leads somewhere already.` : SECOND_PLAIN }
  taken.add(name)
  return undefined
}

const SECOND_PLAIN = 'The step has a transition already.'

function describeBranches(branches: (string | null)[]) {
  const named = branches.filter((branch) => branch !== null)
  if (!named.length) return 'This step has no branches.'
  return `Must be one of: ${named.join(', ')}${branches.includes(null) ? ', or none' : ''}.`
}

/**
 * Index of a transition in a loop without a pause; -1 if there is none. Removes steps that no remaining step leads to until only loops, and
 * what follows them, are left; then the same in the other direction.
 */
function findEndlessLoop({ steps, transitions }: Graph): number {
  const left = new Set(steps.filter((step) => !isPause(step)).map(({ id }) => id))
  peel(left, transitions, ({ fromStepId, toStepId }) => [fromStepId, toStepId])
  peel(left, transitions, ({ fromStepId, toStepId }) => [toStepId, fromStepId])
  return transitions.findLastIndex(({ fromStepId, toStepId }) => left.has(fromStepId) && left.has(toStepId))
}

/** Removes steps without a remaining predecessor, in the direction of `ends`. */
function peel(left: Set<string>, transitions: GraphTransition[], ends: (transition: GraphTransition) => [from: string, to: string]) {
  const edges = transitions.map(ends).filter(([from, to]) => left.has(from) && left.has(to))
  const incoming = new Map<string, number>([...left].map((id) => [id, 0]))
  const targets = new Map<string, string[]>([...left].map((id) => [id, []]))
  for (const [from, to] of edges) {
    incoming.set(to, incoming.get(to)! + 1)
    targets.get(from)!.push(to)
  }
  const free = [...left].filter((id) => incoming.get(id) === 0)
  for (let id = free.pop(); id !== undefined; id = free.pop()) {
    left.delete(id)
    for (const to of targets.get(id)!) {
      incoming.set(to, incoming.get(to)! - 1)
      if (incoming.get(to) === 0) free.push(to)
    }
  }
}

/**
 * Waits of loops that never pause: each of their waits is for an event that another step of the loop causes. A loop by the timeout of a wait
 * pauses for that time.
 */
export function selfEndingWaits({ steps, transitions }: Graph): GraphStep[] {
  const byId = new Map(steps.map((step) => [step.id, step]))
  const awaited = new Map(steps.map((step) => [step.id, awaitedBy(step)]))
  const isWait = (id: string) => awaited.get(id) !== undefined
  const edges = transitions.filter(({ fromStepId, branch }) => !(isWait(fromStepId) && branch === 'timeout'))
  const left = new Set(steps.filter((step) => isWait(step.id) || !isPause(step)).map(({ id }) => id))
  for (;;) {
    const loops = loopsOf(left, edges)
    const pausing = loops.flatMap((loop) => {
      const causes = loop.flatMap((id) => kindOf(byId.get(id)!.type).causes ?? [])
      const isCaused = (id: string) => causes.some((prefix) => awaited.get(id)!.startsWith(prefix))
      return loop.filter((id) => isWait(id) && !isCaused(id))
    })
    // Without its pauses a loop may fall apart into smaller ones, or into none.
    if (!pausing.length)
      return loops
        .flat()
        .filter(isWait)
        .map((id) => byId.get(id)!)
    for (const id of pausing) left.delete(id)
  }
}

/** Groups of steps that lead to each other: the strongly connected components with more than one step, by Tarjan's algorithm. */
function loopsOf(left: Set<string>, transitions: GraphTransition[]): string[][] {
  const targets = new Map<string, string[]>([...left].map((id) => [id, []]))
  for (const { fromStepId, toStepId } of transitions) if (left.has(toStepId)) targets.get(fromStepId)?.push(toStepId)
  const numbers = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: string[] = []
  const open = new Set<string>()
  const loops: string[][] = []
  const visit = (id: string) => {
    numbers.set(id, numbers.size)
    lowest.set(id, numbers.get(id)!)
    stack.push(id)
    open.add(id)
    for (const to of targets.get(id)!) {
      if (!numbers.has(to)) visit(to)
      if (open.has(to)) lowest.set(id, Math.min(lowest.get(id)!, lowest.get(to)!))
    }
    if (lowest.get(id) !== numbers.get(id)) return
    const group = stack.splice(stack.indexOf(id))
    for (const each of group) open.delete(each)
    if (group.length > 1) loops.push(group)
  }
  for (const id of left) if (!numbers.has(id)) visit(id)
  return loops
}

export const triggerOf = ({ steps }: Graph): GraphStep => steps.find(({ type }) => type === 'TRIGGER')!

export const stepOf = ({ steps }: Graph, id: string | null): GraphStep | undefined => steps.find((step) => step.id === id)

/** The transition that an outcome of a step takes. A timeout without a transition of its own takes the plain one. */
export function transitionFor({ transitions }: Graph, stepId: string, branch: string | null): GraphTransition | undefined {
  const outgoing = transitions.filter(({ fromStepId }) => fromStepId === stepId)
  const exact = outgoing.find((transition) => transition.branch === branch)
  return exact ?? (branch === 'timeout' ? outgoing.find((transition) => transition.branch === null) : undefined)
}

/** Removes a step with its transitions. With `splice`, transitions to it lead to the step after it instead. */
export function withoutStep({ steps, transitions }: Graph, stepId: string, { splice }: { splice: boolean }): Graph {
  const target = splice ? targetAfter(transitions, stepId) : undefined
  return {
    steps: steps.filter(({ id }) => id !== stepId),
    transitions: transitions.flatMap((transition) => {
      if (transition.fromStepId === stepId) return []
      if (transition.toStepId !== stepId) return [transition]
      return target === undefined || target === transition.fromStepId ? [] : [{ ...transition, toStepId: target }]
    }),
  }
}

/** The plain transition, else "yes", else the first. */
function targetAfter(transitions: GraphTransition[], stepId: string) {
  const outgoing = transitions.filter(({ fromStepId }) => fromStepId === stepId)
  const preferred = outgoing.find(({ branch }) => branch === null) ?? outgoing.find(({ branch }) => branch === 'yes') ?? outgoing[0]
  return preferred?.toStepId
}

/** Steps that no execution can come to. */
export function unreachableSteps(graph: Graph): GraphStep[] {
  const reached = new Set([triggerOf(graph).id])
  // A set grows while it is iterated: each step is visited once.
  for (const id of reached) for (const { fromStepId, toStepId } of graph.transitions) if (fromStepId === id) reached.add(toStepId)
  return graph.steps.filter(({ id }) => !reached.has(id))
}
