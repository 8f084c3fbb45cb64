import type { Workflow } from '@sterna/sdk'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useProject } from '../../../projects/current.ts'
import { MoreActions } from '../../../ui/dialog/menu.tsx'
import { LinkTabs } from '../../../ui/page/link-tabs.tsx'
import { Status } from '../../../ui/text/status.tsx'
import { TurnOnOff } from './turn-on.tsx'
import { DeleteWorkflow, WorkflowMenu } from './workflow-menu.tsx'

/** The pages of one workflow. */
export function WorkflowTabs({ id }: { id: string }) {
  const project = useProject()
  const base = `/app/p/${project.id}/workflows/${id}`
  return (
    <LinkTabs
      label="Workflow"
      tabs={[
        { path: base, label: 'Build' },
        { path: `${base}/live`, label: 'Live' },
        { path: `${base}/try`, label: 'Try' },
        { path: `${base}/executions`, label: 'Executions' },
        { path: `${base}/versions`, label: 'Versions' },
        { path: `${base}/settings`, label: 'Settings' },
      ]}
    />
  )
}

type WorkflowActionsProps = {
  workflow: Workflow
  /** Why it cannot be turned on now, such as unsaved changes. */
  refusal?: string
  /** Called before the page is left after deleting, to drop unsaved work. */
  onDeleted?: () => void
}

/** State, switch and menu of a workflow, in the header of each of its pages. */
export function WorkflowActions({ workflow, refusal, onDeleted }: WorkflowActionsProps) {
  const project = useProject()
  const navigate = useNavigate()
  const [deleting, setDeleting] = useState(false)
  return (
    <>
      <span className="text-ui max-sm:hidden">
        <Status kind="workflow" status={workflow.enabled ? 'enabled' : 'disabled'} />
      </span>
      <TurnOnOff workflow={workflow} {...(refusal && { refusal })} />
      <MoreActions>
        <WorkflowMenu workflow={workflow} onDelete={() => setDeleting(true)} />
      </MoreActions>
      {deleting && (
        <DeleteWorkflow
          workflow={workflow}
          onClose={() => setDeleting(false)}
          onDeleted={async () => {
            onDeleted?.()
            await navigate({ to: '/app/p/$projectId/workflows', params: { projectId: project.id }, ignoreBlocker: true })
          }}
        />
      )}
    </>
  )
}
