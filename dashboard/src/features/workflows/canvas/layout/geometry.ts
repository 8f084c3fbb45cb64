import type { Place } from '../../graph/graph.ts'

export const STEP_SIZE = { width: 264, height: 84 }
export const END_SIZE = { width: 132, height: 36 }
/** Between two rows: room for a label, a button and the bends of edges. */
export const ROW_GAP = 76
export const ROW_HEIGHT = STEP_SIZE.height + ROW_GAP

export type Spot = { x: number; y: number }
export type PlacedEdge = {
  place: Place
  label: string
  /** Undefined: leads to an open end. */
  to: string | undefined
  /** Leads back to a step above. */
  isLoop: boolean
  points: Spot[]
  /** Where the button for adding a step is. */
  plus: Spot
}
/** `x` is the left edge, `y` the upper one. */
export type Layout = { steps: ({ id: string } & Spot)[]; ends: ({ place: Place } & Spot)[]; edges: PlacedEdge[] }

export const placeKey = ({ fromStepId, branch }: Place) => `${fromStepId} ${branch ?? ''}`
