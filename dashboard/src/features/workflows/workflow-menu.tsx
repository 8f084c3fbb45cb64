import type { Workflow } from '@sterna/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Copy, CopyPlus, Trash2 } from 'lucide-react'
import { projectKey } from '../../api.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { copy } from '../../ui/copy.ts'
import { Confirm } from '../../ui/dialog.tsx'
import { explain } from '../../ui/explain.ts'
import { MenuItem, MenuSeparator } from '../../ui/menu.tsx'
import { toast } from '../../ui/toast.tsx'

type Named = Pick<Workflow, 'id' | 'name'>

export function WorkflowMenu({ workflow, onDelete }: { workflow: Named; onDelete: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  async function duplicate() {
    try {
      const created = await api.workflows.duplicate(workflow.id)
      await queries.invalidateQueries({ queryKey: projectKey(project.id, 'workflows', 'list') })
      toast(`${workflow.name} was duplicated. The copy is off.`)
      await navigate({ to: '/app/p/$projectId/workflows/$workflowId', params: { projectId: project.id, workflowId: created.id } })
    } catch (error) {
      toast(explain(error), { tone: 'danger' })
    }
  }
  return (
    <>
      <MenuItem onSelect={() => copy(workflow.id, 'Id')}>
        <Copy aria-hidden="true" />
        Copy the id
      </MenuItem>
      <MenuItem onSelect={duplicate}>
        <CopyPlus aria-hidden="true" />
        Duplicate
      </MenuItem>
      <MenuSeparator />
      <MenuItem onSelect={onDelete}>
        <Trash2 aria-hidden="true" />
        Delete…
      </MenuItem>
    </>
  )
}

type DeleteWorkflowProps = { workflow: Named; onClose: () => void; onDeleted?: () => unknown }

/** The server refuses to delete a workflow with active executions, and says so in the dialog. */
export function DeleteWorkflow({ workflow, onClose, onDeleted }: DeleteWorkflowProps) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  async function remove() {
    await api.workflows.delete(workflow.id)
    await onDeleted?.()
    await queries.invalidateQueries({ queryKey: projectKey(project.id, 'workflows', 'list') })
    toast(`${workflow.name} was deleted`)
  }
  return (
    <Confirm
      title={`Delete ${workflow.name}?`}
      description="The workflow and the record of its executions are deleted. Emails that it sent are kept. Contacts must not be in it: cancel their executions first."
      action="Delete workflow"
      phrase={workflow.name}
      onConfirm={remove}
      open
      onOpenChange={(open) => !open && onClose()}
    />
  )
}
