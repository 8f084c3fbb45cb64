import type { Spot } from './geometry.ts'

const RADIUS = 10

/** The path of an edge as SVG, with round corners. */
export function svgPathOf(points: Spot[]): string {
  const [first, ...rest] = points
  if (!first) return ''
  const corners = rest.slice(0, -1).map((corner, index) => {
    const before = towards(corner, points[index]!)
    const after = towards(corner, points[index + 2]!)
    return `L${before.x} ${before.y}Q${corner.x} ${corner.y} ${after.x} ${after.y}`
  })
  const last = rest.at(-1) ?? first
  return `M${first.x} ${first.y}${corners.join('')}L${last.x} ${last.y}`
}

/** From a corner in the direction of a neighbour, at most half of the way. */
function towards({ x, y }: Spot, to: Spot): Spot {
  const length = Math.abs(to.x - x) + Math.abs(to.y - y)
  const step = Math.min(RADIUS, length / 2)
  return { x: x + Math.sign(to.x - x) * step, y: y + Math.sign(to.y - y) * step }
}
