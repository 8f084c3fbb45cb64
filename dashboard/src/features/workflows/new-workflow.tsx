import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { eventNamesQuery } from '../../data/events.ts'
import { storeWorkflow } from '../../data/workflows.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { CreateDialog } from '../../ui/dialog/create-dialog.tsx'
import { DialogButtons } from '../../ui/dialog/dialog.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input, Select } from '../../ui/form/input.tsx'
import { Suggestions } from './editor/suggestions.tsx'
import { graphOf } from './graph/graph.ts'
import { RECIPES, withRecipe } from './recipes.ts'

export function NewWorkflow({ label = 'New workflow' }: { label?: string }) {
  return (
    <CreateDialog label={label} title="New workflow" description="It is off until you turn it on." shortcut="New workflow">
      {(close) => <NewWorkflowForm onCancel={close} />}
    </CreateDialog>
  )
}

const BEGINNINGS = Object.fromEntries(RECIPES.map(({ id, label }) => [id, label]))

function NewWorkflowForm({ onCancel }: { onCancel: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const events = useQuery(eventNamesQuery(project.id)).data ?? []
  const [begin, setBegin] = useState('blank')
  const recipe = RECIPES.find(({ id }) => id === begin)!
  const create = useMutation({
    mutationFn: async ({ name, eventName }: { name: string; eventName: string }) => {
      const created = await api.workflows.create({ name, eventName })
      const workflow =
        recipe.steps.length > 0
          ? await api.workflows.updateGraph(created.id, { ...withRecipe(graphOf(created), recipe), version: created.version })
          : created
      await storeWorkflow(queries, project.id, workflow)
      await navigate({ to: '/app/p/$projectId/workflows/$workflowId', params: { projectId: project.id, workflowId: workflow.id } })
    },
  })
  return (
    <Form error={create.error} onSubmit={(value) => create.mutate({ name: value('name'), eventName: value('eventName') })}>
      <Field name="begin" label="Begin with">
        <Select options={BEGINNINGS} value={begin} onChange={(event) => setBegin(event.target.value)} />
      </Field>
      <Field name="name" label="Name">
        <Input key={begin} defaultValue={recipe.name} required maxLength={255} autoComplete="off" />
      </Field>
      <Field
        name="eventName"
        label="Starts with the event"
        hint="Each contact for whom it happens enters. A schedule or a start by hand can be chosen later."
      >
        <Input key={begin} defaultValue={recipe.event} required maxLength={255} autoComplete="off" list="new-workflow-events" />
      </Field>
      <Suggestions id="new-workflow-events" values={events} />
      <DialogButtons>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" variant="primary" busy={create.isPending}>
          Create workflow
        </Button>
      </DialogButtons>
    </Form>
  )
}
