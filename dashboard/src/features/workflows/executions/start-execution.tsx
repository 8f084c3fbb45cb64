import type { Workflow } from '@sterna/sdk'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Play } from 'lucide-react'
import { useState } from 'react'
import { invalidateExecutions } from '../../../data/workflows.ts'
import { PersonPicker } from '../../../people/person-picker.tsx'
import { useApi, useProject } from '../../../projects/current.ts'
import { CreateDialog } from '../../../ui/dialog/create-dialog.tsx'
import { DialogButtons } from '../../../ui/dialog/dialog.tsx'
import { Button } from '../../../ui/form/button.tsx'
import { Banner } from '../../../ui/notice/banner.tsx'
import { explain } from '../../../ui/notice/explain.ts'
import { InvalidInputs } from '../steps/fields/invalid-inputs.ts'
import { JsonField } from '../steps/fields/json-field.tsx'

/** Starts the workflow for one contact, by hand. */
export function StartExecution({ workflow }: { workflow: Workflow }) {
  return (
    <CreateDialog
      label="Start for someone"
      icon={Play}
      title="Start for someone"
      description="The contact enters now: emails are sent and webhooks are called. To see the path first, use Try."
      shortcut="Start for someone"
    >
      {(close) => <StartForm workflow={workflow} onDone={close} />}
    </CreateDialog>
  )
}

function StartForm({ workflow, onDone }: { workflow: Workflow; onDone: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [person, setPerson] = useState<string>()
  const [context, setContext] = useState<unknown>()
  const [isInvalid, setIsInvalid] = useState(false)
  const start = useMutation({
    mutationFn: () =>
      api.workflows.startExecution(workflow.id, {
        contactId: person!,
        ...(typeof context === 'object' && context !== null && { context: { ...context } }),
      }),
    onSuccess: async ({ id }) => {
      onDone()
      await invalidateExecutions(queries, project.id)
      await navigate({
        to: '/app/p/$projectId/workflows/$workflowId/executions',
        params: { projectId: project.id, workflowId: workflow.id },
        search: { peek: id },
      })
    },
  })
  return (
    <InvalidInputs value={(_, invalid) => setIsInvalid(invalid)}>
      <div className="space-y-4">
        {!workflow.enabled && <Banner tone="warning">The workflow is off. Turn it on first.</Banner>}
        {start.error && <Banner tone="danger">{explain(start.error)}</Banner>}
        <PersonPicker person={person} onPerson={setPerson} placeholder="Choose a contact" />
        <JsonField
          id="context"
          label="Variables"
          hint="A JSON object, for this execution only: in templates by their names, in questions as context.name."
          value={context}
          rows={3}
          onChange={setContext}
        />
        <DialogButtons>
          <Button onClick={onDone}>Cancel</Button>
          <Button
            variant="primary"
            busy={start.isPending}
            disabled={!person || isInvalid || !workflow.enabled}
            onClick={() => start.mutate()}
          >
            Start
          </Button>
        </DialogButtons>
      </div>
    </InvalidInputs>
  )
}
