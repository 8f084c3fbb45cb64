import { branchesOf } from '../graph/branches.ts'
import {
  type Graph,
  newId,
  newTransition,
  type Place,
  reachableFrom,
  type Step,
  stepById,
  type Transition,
  transitionAt,
  triggerOf,
} from '../graph/graph.ts'
import { withoutSteps } from './edit.ts'

/** A step with its branches up to where they meet again, or a step with everything that comes only after it. */
export type Extent = 'step' | 'rest'

/** Steps that are copied or moved together. `exits` are the places that lead on to what follows them. */
export type Fragment = { entry: string; steps: Step[]; transitions: Transition[]; exits: Place[] }

/** The steps that belong to a step, by the extent, and the step that follows them. */
export function extentOf(graph: Graph, stepId: string, extent: Extent): { ids: Set<string>; next: string | undefined } {
  const own = dominatedBy(graph, stepId)
  if (extent === 'rest') return { ids: own, next: undefined }
  const outgoing = graph.transitions.filter(({ fromStepId }) => fromStepId === stepId)
  const step = stepById(graph, stepId)!
  if (branchesOf(step).length < 2 || outgoing.length === 0) return { ids: new Set([stepId]), next: outgoing[0]?.toStepId }
  const [first, ...others] = outgoing.map(({ toStepId }) => reachableFrom(graph, toStepId, stepId))
  // A single branch that leads on is followed by its own steps; several by the step where they meet.
  const next = others.length === 0 ? outgoing[0]!.toStepId : [...first!].find((id) => others.every((reached) => reached.has(id)))
  const inside = next === undefined ? own : reachableFrom(graph, stepId, next)
  return { ids: new Set([...own].filter((id) => inside.has(id) && id !== next)), next }
}

/** The step, and the steps that an execution comes to only by it. */
function dominatedBy(graph: Graph, stepId: string): Set<string> {
  const others = reachableFrom(graph, triggerOf(graph).id, stepId)
  return new Set([...reachableFrom(graph, stepId)].filter((id) => id === stepId || !others.has(id)))
}

export function fragmentOf(graph: Graph, stepId: string, extent: Extent): Fragment {
  const { ids, next } = extentOf(graph, stepId, extent)
  const inside: Graph = {
    steps: graph.steps.filter(({ id }) => ids.has(id)),
    transitions: graph.transitions.filter(({ fromStepId, toStepId }) => ids.has(fromStepId) && ids.has(toStepId)),
  }
  const onward = leavingOf(graph, ids).filter(({ toStepId }) =>
    next === undefined ? !leadsTo(graph, toStepId, stepId) : toStepId === next,
  )
  const exits =
    onward.length > 0 ? onward.map(({ fromStepId, branch }) => ({ fromStepId, branch })) : openPlaces(inside, stepId).slice(0, 1)
  return { entry: stepId, ...inside, exits }
}

const leavingOf = ({ transitions }: Graph, ids: ReadonlySet<string>) =>
  transitions.filter(({ fromStepId, toStepId }) => ids.has(fromStepId) && !ids.has(toStepId))

const leadsTo = (graph: Graph, from: string, to: string) => reachableFrom(graph, from).has(to)

/** Places of the fragment that lead nowhere, those of the first branches first. */
function openPlaces(graph: Graph, stepId: string, seen = new Set<string>()): Place[] {
  if (seen.has(stepId)) return []
  seen.add(stepId)
  return branchesOf(stepById(graph, stepId)!).flatMap(({ branch }) => {
    const place = { fromStepId: stepId, branch }
    const to = transitionAt(graph, place)?.toStepId
    if (to) return openPlaces(graph, to, seen)
    return branch === 'timeout' ? [] : [place]
  })
}

/** The same steps with ids of their own. */
export function copyOf({ entry, steps, transitions, exits }: Fragment): Fragment {
  const ids = new Map(steps.map(({ id }) => [id, newId()]))
  const at = (id: string) => ids.get(id)!
  return {
    entry: at(entry),
    steps: steps.map((step) => ({ ...step, id: at(step.id) })),
    transitions: transitions.map((each) => ({ ...each, id: newId(), fromStepId: at(each.fromStepId), toStepId: at(each.toStepId) })),
    exits: exits.map(({ fromStepId, branch }) => ({ fromStepId: at(fromStepId), branch })),
  }
}

/** Nothing may follow a fragment without an exit, such as one that ends in EXIT steps. */
export const fitsAt = (graph: Graph, place: Place, { exits }: Pick<Fragment, 'exits'>) =>
  exits.length > 0 || transitionAt(graph, place) === undefined

/** Inserts steps at a place. The step that followed there now follows them. */
export function insertFragment(graph: Graph, place: Place, { entry, steps, transitions, exits }: Fragment): Graph {
  const before = transitionAt(graph, place)
  const others = graph.transitions.filter((each) => each !== before)
  const into = before ? { ...before, toStepId: entry } : newTransition(place, entry)
  const out = before ? exits.map((exit) => newTransition(exit, before.toStepId)) : []
  return { steps: [...graph.steps, ...steps], transitions: [...others, into, ...transitions, ...out] }
}

/** Takes steps out of the graph and puts them at another place, with their ids. Undefined if they cannot be there. */
export function moveFragment(graph: Graph, stepId: string, extent: Extent, place: Place): Graph | undefined {
  const { ids, next } = extentOf(graph, stepId, extent)
  if (ids.has(place.fromStepId) || transitionAt(graph, place)?.toStepId === stepId) return undefined
  const fragment = fragmentOf(graph, stepId, extent)
  const rest = withoutSteps(graph, ids, next)
  // The place itself, or what the steps led to, may have gone with them.
  if (!stepById(rest, place.fromStepId) || !fitsAt(rest, place, fragment)) return undefined
  const isExit = ({ fromStepId, branch }: Place) => fragment.exits.some((exit) => exit.fromStepId === fromStepId && exit.branch === branch)
  // Transitions back to steps that stay are kept.
  const kept = leavingOf(graph, ids).filter((each) => !isExit(each) && stepById(rest, each.toStepId))
  return insertFragment(rest, place, { ...fragment, transitions: [...fragment.transitions, ...kept] })
}
