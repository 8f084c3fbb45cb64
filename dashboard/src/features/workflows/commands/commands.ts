import { branchesOf } from '../graph/branches.ts'
import { connect, type Graph, type Place, type Step, stepById, targetsOf } from '../graph/graph.ts'
import { changeStep, insertStep, isOwnStep, removeStep, withoutSteps } from './edit.ts'
import { type Extent, extentOf, type Fragment, fitsAt, insertFragment, moveFragment } from './fragment.ts'

/** Everything that the canvas and the list can do to a workflow. */
export type Command =
  | { do: 'insert'; place: Place; step: Step }
  | { do: 'change'; step: Step }
  /** `to` undefined: ends there. */
  | { do: 'connect'; place: Place; to: string | undefined }
  | { do: 'remove'; stepId: string; extent: Extent }
  | { do: 'move'; stepId: string; extent: Extent; place: Place }
  | { do: 'paste'; place: Place; fragment: Fragment }

/** The graph after a command: the same graph if the command cannot be done. */
export function applyCommand(graph: Graph, command: Command): Graph {
  switch (command.do) {
    case 'insert':
      return hasPlace(graph, command.place) && fitsAt(graph, command.place, { exits: exitsOf(command.step) })
        ? insertStep(graph, command.place, command.step)
        : graph
    case 'change':
      return stepById(graph, command.step.id)?.type === command.step.type ? changeStep(graph, command.step) : graph
    case 'connect':
      return canConnect(graph, command) ? connect(graph, command.place, command.to) : graph
    case 'remove':
      return isOwnStep(graph, command.stepId) ? withoutExtent(graph, command.stepId, command.extent) : graph
    case 'move':
      if (!isOwnStep(graph, command.stepId) || !hasPlace(graph, command.place)) return graph
      return moveFragment(graph, command.stepId, command.extent, command.place) ?? graph
    case 'paste':
      return hasPlace(graph, command.place) && fitsAt(graph, command.place, command.fragment)
        ? insertFragment(graph, command.place, command.fragment)
        : graph
  }
}

const exitsOf = (step: Step) => branchesOf(step).map(({ branch }) => ({ fromStepId: step.id, branch }))

const hasPlace = (graph: Graph, { fromStepId, branch }: Place) => {
  const from = stepById(graph, fromStepId)
  return from !== undefined && branchesOf(from).some((each) => each.branch === branch)
}

const canConnect = (graph: Graph, { place, to }: { place: Place; to: string | undefined }) =>
  hasPlace(graph, place) && (to === undefined || targetsOf(graph, place).some(({ id }) => id === to))

const withoutExtent = (graph: Graph, stepId: string, extent: Extent) =>
  extent === 'step' ? removeStep(graph, stepId) : withoutSteps(graph, extentOf(graph, stepId, extent).ids, undefined)

/** The steps that a command would remove, to show them before. */
export function lostSteps(graph: Graph, command: Command): Step[] {
  const kept = new Set(applyCommand(graph, command).steps.map(({ id }) => id))
  return graph.steps.filter(({ id }) => !kept.has(id))
}
