import type { Workflow } from '@sterna/sdk'
import { DeleteRecord, RecordMenu } from '../../../projects/record-menu.tsx'

type Named = Pick<Workflow, 'id' | 'name'>

export function WorkflowMenu({ workflow, onDelete }: { workflow: Named; onDelete: () => void }) {
  return <RecordMenu list="workflows" row={workflow} onDelete={onDelete} copyNote=". The copy is off." />
}

type DeleteWorkflowProps = { workflow: Named; onClose: () => void; onDeleted?: () => unknown }

/** The server refuses to delete a workflow with active executions. */
export function DeleteWorkflow({ workflow, ...dialog }: DeleteWorkflowProps) {
  return (
    <DeleteRecord
      list="workflows"
      row={workflow}
      description="The workflow, the record of its executions and the templates that were written in it are deleted; a template that something else uses stays. Emails that it sent are kept. Contacts must not be in it: cancel their executions first."
      phrase={workflow.name}
      {...dialog}
    />
  )
}
