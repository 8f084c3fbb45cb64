import type { Layout } from './geometry.ts'

type Direction = 'ArrowDown' | 'ArrowUp' | 'ArrowLeft' | 'ArrowRight'

export const isArrow = (key: string): key is Direction => /^Arrow(Down|Up|Left|Right)$/.test(key)

/** The step that an arrow key leads to: down and up along the edges, left and right to the branch beside. Undefined: there is none. */
export function stepTowards(layout: Layout, from: string, direction: Direction): string | undefined {
  const at = new Map(layout.steps.map((step) => [step.id, step]))
  const here = at.get(from)
  if (!here) return undefined
  if (direction === 'ArrowDown') return layout.edges.find(({ place, to }) => place.fromStepId === from && to !== undefined)?.to
  if (direction === 'ArrowUp') {
    const into = layout.edges.filter(({ to }) => to === from)
    return (into.find(({ isLoop }) => !isLoop) ?? into[0])?.place.fromStepId
  }
  const side = direction === 'ArrowLeft' ? -1 : 1
  const beside = layout.steps.filter(({ x }) => (x - here.x) * side > 0)
  const distance = ({ x, y }: { x: number; y: number }) => Math.abs(x - here.x) + 4 * Math.abs(y - here.y)
  return beside.toSorted((a, b) => distance(a) - distance(b))[0]?.id
}
