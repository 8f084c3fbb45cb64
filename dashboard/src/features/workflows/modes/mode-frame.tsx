import type { Workflow } from '@sterna/sdk'
import type { ReactNode } from 'react'
import { ListLink } from '../../../projects/record-page.tsx'
import { PageHeader } from '../../../ui/page/page.tsx'
import { WorkflowActions, WorkflowTabs } from '../workflow/workflow-header.tsx'

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
