import type { WorkflowRecipe } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { eventNamesQuery } from '../../data/events.ts'
import { invalidateRecipeParts, recipesQuery, storeWorkflow } from '../../data/workflows.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { CreateDialog } from '../../ui/dialog/create-dialog.tsx'
import { DialogButtons } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Choices } from '../../ui/form/choices.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input } from '../../ui/form/input.tsx'
import { Suggestions } from '../../ui/form/suggestions.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { explain } from '../../ui/notice/explain.ts'
import { CodeBlock } from '../../ui/text/copy-field.tsx'

export function NewWorkflow({ label = 'New workflow' }: { label?: string }) {
  return (
    <CreateDialog
      label={label}
      title="New workflow"
      description="Start from a recipe, or from scratch. It is off until you turn it on."
      shortcut="New workflow"
    >
      {(close) => <NewWorkflowForm onCancel={close} />}
    </CreateDialog>
  )
}

const BLANK = 'blank'

function NewWorkflowForm({ onCancel }: { onCancel: () => void }) {
  const project = useProject()
  const recipes = useQuery(recipesQuery(project.id)).data ?? []
  const [chosen, setChosen] = useState(BLANK)
  const recipe = recipes.find(({ key }) => key === chosen)
  const choices = [
    { value: BLANK, label: 'Blank', hint: 'Your own steps, started by one of your events.' },
    ...recipes.map(({ key, name, description }) => ({ value: key, label: name, hint: description })),
  ]
  return (
    <div className="space-y-4">
      <div className="max-h-72 overflow-y-auto">
        <Choices legend="Begin with" name="begin" choices={choices} chosen={chosen} onChoose={setChosen} />
      </div>
      {recipe ? <FromRecipe key={recipe.key} recipe={recipe} onCancel={onCancel} /> : <FromNothing onCancel={onCancel} />}
    </div>
  )
}

/** Opens the workflow that was made. */
function useOpenWorkflow() {
  const project = useProject()
  const queries = useQueryClient()
  const navigate = useNavigate()
  return async (workflow: Parameters<typeof storeWorkflow>[2]) => {
    await storeWorkflow(queries, project.id, workflow)
    await navigate({ to: '/app/p/$projectId/workflows/$workflowId', params: { projectId: project.id, workflowId: workflow.id } })
  }
}

function FromNothing({ onCancel }: { onCancel: () => void }) {
  const project = useProject()
  const api = useApi()
  const open = useOpenWorkflow()
  const events = useQuery(eventNamesQuery(project.id)).data ?? []
  const create = useMutation({
    mutationFn: async (body: { name: string; eventName: string }) => open(await api.workflows.create(body)),
  })
  return (
    <Form error={create.error} onSubmit={(value) => create.mutate({ name: value('name'), eventName: value('eventName') })}>
      <Field name="name" label="Name">
        <Input required maxLength={255} autoComplete="off" />
      </Field>
      <Field
        name="eventName"
        label="Starts with the event"
        hint="Contacts enter when this event happens. A schedule or a start by hand can be chosen later."
      >
        <Input defaultValue="signup" required maxLength={255} autoComplete="off" list="new-workflow-events" />
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

/** The contents and requirements of a recipe. Three clicks to a workflow that runs: open, choose, create and turn on. */
function FromRecipe({ recipe, onCancel }: { recipe: WorkflowRecipe; onCancel: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const open = useOpenWorkflow()
  const create = useMutation({
    mutationFn: async ({ isOn }: { isOn: boolean }) => {
      const created = await api.workflows.createFromRecipe(recipe.key)
      await invalidateRecipeParts(queries, project.id)
      const isReady = created.problems.length === 0
      await open(isOn && isReady ? await api.workflows.update(created.id, { enabled: true }) : created)
      if (isOn) toast(isReady ? `${created.name} is on.` : `${created.name} is off: some steps need something first.`)
    },
  })
  const snippets = recipe.needs.flatMap(({ kind, name, when, snippet }) =>
    snippet ? [{ name, title: `${kind === 'event' ? 'Event' : 'Field'} ${name}: ${when}`, code: snippet }] : [],
  )
  return (
    <div className="space-y-4">
      <p className="text-muted text-ui">
        Brings {recipe.emails.map(({ name }) => `“${name}”`).join(', ')} in the look of your project, to be changed as you like. It needs:
      </p>
      <div className="max-h-56 space-y-2 overflow-y-auto">
        {snippets.map(({ name, title, code }) => (
          <CodeBlock key={name} title={title} label={`Call for ${name}`} code={code} />
        ))}
      </div>
      {create.error && <Banner tone="danger">{explain(create.error)}</Banner>}
      <DialogButtons>
        <Button onClick={onCancel}>Cancel</Button>
        <Button busy={create.isPending} onClick={() => create.mutate({ isOn: false })}>
          Create
        </Button>
        <Button variant="primary" busy={create.isPending} onClick={() => create.mutate({ isOn: true })}>
          Create and turn on
        </Button>
      </DialogButtons>
    </div>
  )
}
