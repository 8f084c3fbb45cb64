import type { Out } from '../../graph/flow.ts'
import { type PlacedEdge, placeKey, ROW_GAP, ROW_HEIGHT, type Spot, STEP_SIZE } from './geometry.ts'

/** A step or an open end. `x` is its middle. */
export type Obstacle = { x: number; row: number; width: number }

type Cell = { x: number; row: number }
/** `lane` is the column of the branch below its step. */
type Edge = { out: Out; from: Cell; to: Cell; lane: number; isLoop: boolean }

/** Where edges bend, from the upper end of a gap: on leaving a step, and before reaching the next one. */
const LEAVES = 14
const REACHES = ROW_GAP - 12
/** The button of an edge, with room for a label above it. */
const PLUS = 50
/** From a step to an edge that passes it, and between two edges. */
const CLEARANCE = 24
const EDGE_GAP = 14

type Used = { x: number; rows: [from: number, to: number]; target: string }

/** Edges as lines of vertical and horizontal pieces. Rows lie on a grid, so that the gaps between them are free for the horizontal ones. */
export function routeEdges(edges: Edge[], obstacles: Obstacle[]): PlacedEdge[] {
  const used: Used[] = []
  return edges.map(({ out, from, to, lane, isLoop }) => {
    const rows: Used['rows'] = isLoop ? [to.row, from.row] : [from.row + 1, to.row - 1]
    const target = out.to ?? placeKey(out.place)
    const x = freeColumn(lane, rows, { obstacles, used, target })
    if (rows[0] <= rows[1]) used.push({ x, rows, target })
    const bottom = from.row * ROW_HEIGHT + STEP_SIZE.height
    const beforeTarget = to.row * ROW_HEIGHT - ROW_GAP + REACHES
    // An edge that has to go around something bends a second time, below its button.
    const turn = bottom + (x === lane && !isLoop ? LEAVES : REACHES)
    const points = [
      { x: from.x, y: bottom },
      { x: from.x, y: bottom + LEAVES },
      { x: lane, y: bottom + LEAVES },
      { x: lane, y: turn },
      { x, y: turn },
      { x, y: beforeTarget },
      { x: to.x, y: beforeTarget },
      { x: to.x, y: to.row * ROW_HEIGHT },
    ]
    return {
      place: out.place,
      label: out.label,
      to: out.to,
      isLoop,
      points: withoutRepeats(points),
      plus: { x: lane, y: bottom + PLUS },
    }
  })
}

type Surroundings = { obstacles: Obstacle[]; used: Used[]; target: string }

/** The column nearest to the wanted one in which nothing stands in these rows. Edges to the same step may share one. */
function freeColumn(wanted: number, [first, last]: Used['rows'], { obstacles, used, target }: Surroundings): number {
  if (first > last) return wanted
  const near = obstacles.filter(({ row }) => row >= first && row <= last)
  const others = used.filter((each) => each.target !== target && each.rows[0] <= last && each.rows[1] >= first)
  const isFree = (x: number) =>
    near.every((each) => Math.abs(each.x - x) >= each.width / 2 + CLEARANCE - 1) && others.every((each) => Math.abs(each.x - x) >= EDGE_GAP)
  if (isFree(wanted)) return wanted
  const sides = near.flatMap(({ x, width }) => [x - width / 2 - CLEARANCE, x + width / 2 + CLEARANCE])
  const beside = others.flatMap(({ x }) => [x - EDGE_GAP, x + EDGE_GAP])
  const candidates = [...sides, ...beside].toSorted((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted))
  // Right of everything there is always room.
  return candidates.find(isFree) ?? Math.max(wanted, ...sides, ...beside) + EDGE_GAP
}

const withoutRepeats = (points: Spot[]) =>
  points.filter(({ x, y }, index) => index === 0 || x !== points[index - 1]!.x || y !== points[index - 1]!.y)
