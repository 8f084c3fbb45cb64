import type { Workflow } from '@sterna/sdk'
import { lazy, Suspense } from 'react'
import type { Flow } from '../graph/flow.ts'
import type { Graph } from '../graph/graph.ts'
import { useTextsOf } from '../steps/step-texts.ts'
import type { EdgeMarks } from './edge-layer.tsx'
import type { StepMarks } from './nodes.ts'

const WorkflowCanvas = lazy(() => import('./workflow-canvas.tsx'))

type ShownStepsProps = {
  label: string
  workflow: Workflow
  graph: Graph
  /** The transitions to draw, if they differ from those of the graph. */
  flow?: Flow
  marks?: StepMarks
  edgeMarks?: EdgeMarks
  chosen?: string | undefined
  onChoose?: (stepId: string | undefined) => void
}

/** The canvas, loaded when it is shown, of steps that cannot be changed. */
export function ShownSteps({ workflow, chosen, onChoose = () => {}, ...shown }: ShownStepsProps) {
  const texts = useTextsOf(workflow)
  return (
    <Suspense
      fallback={
        <p role="status" className="p-6 text-muted text-ui">
          Loading…
        </p>
      }
    >
      <WorkflowCanvas {...shown} workflowId={workflow.id} texts={texts} chosen={chosen} onChoose={onChoose} />
    </Suspense>
  )
}
