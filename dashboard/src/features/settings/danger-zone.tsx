import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { api } from '../../client/api.ts'
import { useProject } from '../../projects/current.ts'
import { useLeaveProject } from '../../projects/leave-project.ts'
import { ConfirmDialog } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Card } from '../../ui/page/card.tsx'

/** Shown to the owner only. */
export function DangerZone() {
  return (
    <Card tone="danger" title="Danger zone" description="These actions cannot be undone.">
      <div className="divide-y divide-line">
        <ResetProject />
        <DeleteProject />
      </div>
    </Card>
  )
}

function ResetProject() {
  const project = useProject()
  const queries = useQueryClient()

  async function reset() {
    await api.projects.reset(project.id)
    await queries.invalidateQueries()
    toast(`${project.name} was reset`)
  }

  return (
    <DangerAction title="Reset" description="Deletes all contacts, emails, campaigns, workflows and events. Keeps domains, team and keys.">
      <ConfirmDialog
        title={`Reset ${project.name}?`}
        description="All its contacts, emails, campaigns, workflows and events will be deleted. Domains, team and keys are kept."
        action="Delete all content"
        phrase={project.name}
        onConfirm={reset}
      >
        {(open) => <Button onClick={open}>Reset project…</Button>}
      </ConfirmDialog>
    </DangerAction>
  )
}

function DeleteProject() {
  const project = useProject()
  const leaveProject = useLeaveProject()

  async function remove() {
    await api.projects.delete(project.id)
    await leaveProject(project.id)
    toast(`${project.name} was deleted`)
  }

  return (
    <DangerAction title="Delete" description="Deletes the project and everything in it. Its keys stop working immediately.">
      <ConfirmDialog
        title={`Delete ${project.name}?`}
        description="The project and everything in it will be deleted for the whole team. Its keys stop working immediately."
        action="Delete project"
        phrase={project.name}
        onConfirm={remove}
      >
        {(open) => (
          <Button variant="danger" onClick={open}>
            Delete project…
          </Button>
        )}
      </ConfirmDialog>
    </DangerAction>
  )
}

function DangerAction({ title, description, children }: { title: string; description: string; children: ReactNode }) {
  return (
    <div className="flex flex-wrap items-center justify-between gap-4 py-3 first:pt-0 last:pb-0">
      <div className="min-w-0 flex-1 basis-64">
        <h3 className="font-medium text-ui">{title}</h3>
        <p className="text-muted text-ui">{description}</p>
      </div>
      {children}
    </div>
  )
}
