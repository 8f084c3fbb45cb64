import type { EdgeMarks } from '../canvas/edge-layer.tsx'
import { placeKey } from '../canvas/layout/geometry.ts'
import type { StepMarks } from '../canvas/nodes.ts'
import type { Graph } from '../graph/graph.ts'

/** A step of a path. `words` stand at it; `branch` is the one by which it was left, if that is known. */
export type PathStep = { stepId: string; words?: string; branch?: string | null }

/** Marks the steps of a path, and the edges between them. `here` is the step at which it waits. */
export function pathMarks({ transitions }: Graph, path: PathStep[], here?: string): { marks: StepMarks; edgeMarks: EdgeMarks } {
  const on = new Map(path.map((item) => [item.stepId, item]))
  const taken = new Set<string>()
  for (const [index, { stepId, branch }] of path.slice(0, -1).entries()) {
    const next = path[index + 1]!.stepId
    const between = transitions.filter((each) => each.fromStepId === stepId && each.toStepId === next)
    const way = between.find((each) => each.branch === branch) ?? between[0]
    if (way) taken.add(placeKey(way))
  }
  return {
    marks: {
      lookOf: (id) => (id === here ? 'here' : on.has(id) ? 'on' : 'off'),
      noteOf: (id) => {
        const words = on.get(id)?.words
        return words ? { tone: 'muted', words } : undefined
      },
    },
    edgeMarks: ({ place }) => ({ look: taken.has(placeKey(place)) ? 'on' : 'off' }),
  }
}
