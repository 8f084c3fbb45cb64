import type { Workflow } from '@sterna/sdk'
import { lazy, type ReactNode, Suspense } from 'react'
import { ListLink } from '../../../projects/record-page.tsx'
import { PageHeader } from '../../../ui/page/page.tsx'
import type { EdgeMarks } from '../canvas/edge-layer.tsx'
import type { Flow } from '../canvas/flow.ts'
import type { StepMarks } from '../canvas/nodes.ts'
import { useTextsOf } from '../editor/use-step-texts.ts'
import type { Graph } from '../graph/graph.ts'
import { WorkflowActions, WorkflowTabs } from '../workflow-header.tsx'

const WorkflowCanvas = lazy(() => import('../canvas/workflow-canvas.tsx'))

type ModeFrameProps = {
  workflow: Workflow
  /** Beside the canvas; on a phone, where there is none, the whole page. */
  panel: ReactNode
  /** Name of the panel. */
  label: string
  children: ReactNode
}

/** A page that shows the steps of a workflow without changing them. */
export function ModeFrame({ workflow, panel, label, children }: ModeFrameProps) {
  return (
    <div className="flex flex-col md:h-[calc(100dvh-3rem)] lg:h-dvh">
      <PageHeader title={workflow.name} parent={<ListLink kind="Workflow" />} actions={<WorkflowActions workflow={workflow} />} />
      <WorkflowTabs id={workflow.id} />
      <div className="flex min-h-0 flex-1">
        <div className="min-w-0 flex-1 max-md:hidden">{children}</div>
        <aside
          aria-label={label}
          className="space-y-4 overflow-y-auto bg-surface p-4 max-md:w-full md:w-88 md:shrink-0 md:border-line md:border-l xl:w-104"
        >
          {panel}
        </aside>
      </div>
    </div>
  )
}

type ShownStepsProps = {
  label: string
  workflow: Workflow
  graph: Graph
  /** What leads where, if it is not what the graph says. */
  flow?: Flow
  marks?: StepMarks
  edgeMarks?: EdgeMarks
  chosen?: string | undefined
  onChoose?: (stepId: string | undefined) => void
}

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
