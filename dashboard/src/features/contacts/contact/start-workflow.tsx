import type { Contact } from '@sterna/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { runningWorkflowsQuery } from '../../../data/workflows.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { Dialog, DialogButtons } from '../../../ui/dialog/dialog.tsx'
import { Button } from '../../../ui/form/button.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { Select } from '../../../ui/form/input.tsx'
import { namesById } from '../../../ui/form/options.ts'

type StartWorkflowProps = { contact: Contact; onClose: () => void }

/** Takes the contact into a workflow that is on, by hand. */
export function StartWorkflow({ contact, onClose }: StartWorkflowProps) {
  return (
    <Dialog
      title={`Start a workflow for ${contact.email}`}
      description="The contact enters now: emails are sent and webhooks are called."
      open
      onOpenChange={(open) => !open && onClose()}
    >
      <StartForm contact={contact} onClose={onClose} />
    </Dialog>
  )
}

function StartForm({ contact, onClose }: StartWorkflowProps) {
  const project = useProject()
  const api = useApi()
  const navigate = useNavigate()
  const workflows = useQuery(runningWorkflowsQuery(project.id)).data
  const start = useMutation({
    mutationFn: async (workflowId: string) => {
      const { id } = await api.workflows.startExecution(workflowId, { contactId: contact.id })
      await navigate({
        to: '/app/p/$projectId/workflows/$workflowId/executions',
        params: { projectId: project.id, workflowId },
        search: { peek: id },
      })
    },
  })
  if (!workflows) return <div className="h-20" aria-busy="true" />
  if (workflows.length === 0) return <p className="text-muted text-ui">No workflow is on.</p>
  return (
    <Form error={start.error} onSubmit={(value) => start.mutate(value('workflow'))}>
      <Field name="workflow" label="Workflow">
        <Select options={namesById(workflows)} />
      </Field>
      <DialogButtons>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" variant="primary" busy={start.isPending}>
          Start the workflow
        </Button>
      </DialogButtons>
    </Form>
  )
}
