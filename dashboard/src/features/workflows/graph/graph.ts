import type { Workflow, WorkflowStep } from '@sterna/sdk'

export type StepType = WorkflowStep['type']
export type Step = Pick<WorkflowStep, 'id' | 'type' | 'name' | 'position' | 'config'>
/** `branch` null is the plain transition. */
export type Transition = { id: string; fromStepId: string; toStepId: string; branch: string | null; priority: number }
export type Graph = { steps: Step[]; transitions: Transition[] }

/** The canvas computes positions, and writes them when the steps are saved: see positioned.ts. */
const UNPLACED = { x: 0, y: 0 }

/** The steps and transitions as the editor changes them. */
export const graphOf = ({ steps, transitions }: Pick<Workflow, 'steps' | 'transitions'>): Graph => ({
  steps: steps.map(({ id, type, name, config }) => ({ id, type, name, position: UNPLACED, config })),
  transitions: transitions.map(({ id, fromStepId, toStepId, branch, priority }) => ({ id, fromStepId, toStepId, branch, priority })),
})

/** The place of a transition: after this step, by this branch. There is at most one transition at a place. */
export type Place = { fromStepId: string; branch: string | null }

const isAt =
  ({ fromStepId, branch }: Place) =>
  (transition: Transition) =>
    transition.fromStepId === fromStepId && transition.branch === branch

export const transitionAt = ({ transitions }: Graph, place: Place): Transition | undefined => transitions.find(isAt(place))

export const stepById = ({ steps }: Graph, id: string | undefined): Step | undefined => steps.find((step) => step.id === id)

/** A UUID. `crypto.randomUUID` exists only on HTTPS and localhost. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

export const newTransition = (place: Place, toStepId: string): Transition => ({ id: newId(), ...place, toStepId, priority: 0 })

/** Leads from a place to a step, or ends there if `toStepId` is undefined. */
export function connect(graph: Graph, place: Place, toStepId: string | undefined): Graph {
  const others = graph.transitions.filter((each) => !isAt(place)(each))
  return { ...graph, transitions: toStepId ? [...others, newTransition(place, toStepId)] : others }
}

/** Steps that one place can lead on to: not the trigger, and not the step itself. */
export const targetsOf = ({ steps }: Graph, { fromStepId }: Place): Step[] =>
  steps.filter(({ id, type }) => type !== 'TRIGGER' && id !== fromStepId)

export const triggerOf = ({ steps }: Graph): Step => steps.find(({ type }) => type === 'TRIGGER')!

/** The steps that an execution can come to from a step, without passing another one. */
export function reachableFrom({ transitions }: Graph, stepId: string, without?: string): Set<string> {
  const reached = new Set([stepId])
  // A set grows while it is iterated: each step is visited once, in the order of distance.
  for (const id of reached)
    for (const { fromStepId, toStepId } of transitions) if (fromStepId === id && toStepId !== without) reached.add(toStepId)
  return reached
}

export function unreachableSteps(graph: Graph): Step[] {
  const reached = reachableFrom(graph, triggerOf(graph).id)
  return graph.steps.filter(({ id }) => !reached.has(id))
}

/** Places that are not drawn as a branch of their own: a wait whose timeout goes on like its event. A step can be added there. */
export const asidesOf = (graph: Graph): Place[] =>
  graph.steps
    .filter(({ type, config }) => type === 'WAIT_FOR_EVENT' && typeof config.timeout === 'number')
    .map(({ id }) => ({ fromStepId: id, branch: 'timeout' }))
    .filter((place) => !transitionAt(graph, place))
