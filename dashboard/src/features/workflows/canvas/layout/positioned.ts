import { flowOf } from '../../graph/flow.ts'
import type { Graph } from '../../graph/graph.ts'
import { layoutFlow } from './layout.ts'

/** Adds the positions at which the canvas draws the steps, for readers of the API. The canvas itself reads none. */
export function positioned({ steps, transitions }: Graph): Graph {
  const at = new Map(layoutFlow(flowOf({ steps, transitions })).steps.map(({ id, x, y }) => [id, { x: Math.round(x), y: Math.round(y) }]))
  return { steps: steps.map((step) => ({ ...step, position: at.get(step.id) ?? step.position })), transitions }
}
