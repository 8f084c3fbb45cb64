import type { Flow, Out } from '../../graph/flow.ts'
import { END_SIZE, type Layout, placeKey, ROW_HEIGHT, STEP_SIZE } from './geometry.ts'
import { dominatorsOf, walkForward } from './order.ts'
import { type Obstacle, routeEdges } from './route.ts'

const COLUMN_GAP = 40
/** Width of a branch that has no step of its own: it leads to a step that is drawn elsewhere. */
const LANE_WIDTH = 148
/** Between the flow and steps that nothing leads to. */
const STRAY_GAP = 120

type Item = { step: string } | { end: Out } | { lane: Out }
/** `x` is the middle, `row` counts from the top of its box. */
type Placed = Item & { x: number; row: number }
/** A part of the drawing: a step with everything that comes only after it. `column` is the middle of the step. */
type Box = { width: number; rows: number; column: number; placed: Placed[] }

/**
 * Positions of a workflow, from top to bottom. A step stands above all that follows it, branches stand side by side in their order, and a
 * step where branches meet is centred below them. It is the dominator tree, drawn as a tree: what comes only after a step is in the box of
 * that step, so that boxes never overlap. Edges that lead back are left out of it, and drawn around.
 */
export function layoutFlow({ roots, outs }: Flow): Layout {
  const placed: Placed[] = []
  const loops = new Set<string>()
  const taken = new Set<string>()
  let left = 0
  for (const root of roots) {
    const tree = boxOfTree(root, (id) => outs.get(id) ?? [], taken)
    for (const key of tree.loops) loops.add(key)
    for (const item of tree.box.placed) placed.push({ ...item, x: item.x + left })
    left += tree.box.width + STRAY_GAP
  }
  const at = new Map(placed.flatMap((item) => ('step' in item ? [[item.step, item] as const] : [])))
  const lanes = new Map(
    placed.flatMap((item) => ('step' in item ? [] : [[placeKey(('end' in item ? item.end : item.lane).place), item.x]])),
  )
  const obstacles = placed.flatMap((item): Obstacle[] => {
    if ('lane' in item) return []
    return [{ x: item.x, row: item.row, width: 'step' in item ? STEP_SIZE.width : END_SIZE.width }]
  })
  const edges = [...at.keys()].flatMap((id) => {
    const from = at.get(id)!
    const all = outs.get(id) ?? []
    return all.map((out) => {
      const target = out.to === undefined ? undefined : at.get(out.to)
      const lane = lanes.get(placeKey(out.place)) ?? (all.length > 1 ? target!.x : from.x)
      const to = target ?? { x: lane, row: from.row + 1 }
      return { out, from, to, lane, isLoop: loops.has(placeKey(out.place)) || to.row <= from.row }
    })
  })
  return {
    steps: [...at].map(([id, { x, row }]) => ({ id, x: x - STEP_SIZE.width / 2, y: row * ROW_HEIGHT })),
    ends: placed.flatMap((item) =>
      'end' in item ? [{ place: item.end.place, x: item.x - END_SIZE.width / 2, y: item.row * ROW_HEIGHT }] : [],
    ),
    edges: routeEdges(edges, obstacles),
  }
}

/** The box of one root, without steps that another root has taken. */
function boxOfTree(root: string, outsOf: (id: string) => Out[], taken: Set<string>) {
  const { order, forward, loops } = walkForward(root, outsOf, taken)
  const { ledBy, dominator } = dominatorsOf(order, forward)
  const below = new Map<string, string[]>(order.map((id) => [id, []]))
  for (const id of order.slice(1)) below.get(dominator.get(id)!)!.push(id)
  const isJoin = (id: string) => ledBy.get(id)!.length > 1

  const boxOf = (id: string): Box => {
    const outs = outsOf(id)
    const arms = outs.flatMap((out): Box[] => {
      if (out.to === undefined) return [armOf({ end: out }, END_SIZE.width, 1)]
      const isOwn = forward.get(id)!.includes(out) && !isJoin(out.to)
      if (isOwn) return [boxOf(out.to)]
      // With a single way out the edge goes straight down from the step.
      return outs.length > 1 ? [armOf({ lane: out }, LANE_WIDTH, 0)] : []
    })
    return stack(id, sideBySide(arms), below.get(id)!.filter(isJoin).map(boxOf))
  }
  for (const id of order) taken.add(id)
  return { box: boxOf(root), loops }
}

const armOf = (item: Item, width: number, rows: number): Box => ({
  width,
  rows,
  column: width / 2,
  placed: [{ ...item, x: width / 2, row: 0 }],
})

type Row = { width: number; rows: number; middles: number[]; placed: Placed[] }

function sideBySide(arms: Box[]): Row {
  const row: Row = { width: 0, rows: 0, middles: [], placed: [] }
  for (const arm of arms) {
    const left = row.width + (row.middles.length > 0 ? COLUMN_GAP : 0)
    row.middles.push(left + arm.column)
    for (const item of arm.placed) row.placed.push({ ...item, x: item.x + left })
    row.width = left + arm.width
    row.rows = Math.max(row.rows, arm.rows)
  }
  return row
}

/** A step in the middle above its branches, and the steps where they meet below them. */
function stack(id: string, arms: Row, joins: Box[]): Box {
  const column = arms.middles.length > 0 ? (arms.middles[0]! + arms.middles.at(-1)!) / 2 : STEP_SIZE.width / 2
  let left = Math.min(0, column - STEP_SIZE.width / 2)
  let right = Math.max(arms.width, column + STEP_SIZE.width / 2)
  let rows = 1 + arms.rows
  const placed: Placed[] = [{ step: id, x: column, row: 0 }, ...arms.placed.map((item) => ({ ...item, row: item.row + 1 }))]
  for (const join of joins) {
    const shift = column - join.column
    for (const item of join.placed) placed.push({ ...item, x: item.x + shift, row: item.row + rows })
    left = Math.min(left, shift)
    right = Math.max(right, shift + join.width)
    rows += join.rows
  }
  return { width: right - left, rows, column: column - left, placed: placed.map((item) => ({ ...item, x: item.x - left })) }
}
