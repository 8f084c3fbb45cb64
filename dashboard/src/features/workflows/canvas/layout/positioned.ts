import type { Graph } from '../../graph/graph.ts'
import { flowOf } from '../../graph/flow.ts'
import { layoutFlow } from './layout.ts'

/** With the positions that the canvas draws the steps at, for those who read the graph by the API. The canvas itself reads none. */
export function positioned({ steps, transitions }: Graph): Graph {
  const at = new Map(layoutFlow(flowOf({ steps, transitions })).steps.map(({ id, x, y }) => [id, { x: Math.round(x), y: Math.round(y) }]))
  return { steps: steps.map((step) => ({ ...step, position: at.get(step.id) ?? step.position })), transitions }
}
