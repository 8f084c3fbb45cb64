import type { Workflow } from '@sterna/sdk'
import { useMemo } from 'react'
import type { Graph } from '../graph/graph.ts'
import { differenceOf } from './differences.ts'
import type { EdgeMarks } from './edge-layer.tsx'
import { placeKey } from './layout/geometry.ts'
import { ShownSteps } from './shown-steps.tsx'

type DifferenceCanvasProps = { workflow: Workflow; before: Graph; after: Graph; caption: string }

/** Two versions of the steps in one drawing. */
export function DifferenceCanvas({ workflow, before, after, caption }: DifferenceCanvasProps) {
  const difference = useMemo(() => differenceOf(before, after), [before, after])
  const marks = useMemo(() => ({ lookOf: (id: string) => difference.steps.get(id) }), [difference])
  const edgeMarks: EdgeMarks = useMemo(
    () =>
      ({ place }) => ({ look: difference.edges.get(placeKey(place)) ?? 'plain' }),
    [difference],
  )
  const isSame = difference.steps.size === 0 && difference.edges.size === 0
  return (
    <div className="flex size-full flex-col">
      <p role="status" className="border-line border-b bg-surface px-4 py-2 text-muted text-ui">
        {isSame ? 'There is no difference.' : caption}
      </p>
      <div className="min-h-0 flex-1">
        <ShownSteps
          label="Differences"
          workflow={workflow}
          graph={difference.graph}
          flow={difference.flow}
          marks={marks}
          edgeMarks={edgeMarks}
        />
      </div>
    </div>
  )
}
