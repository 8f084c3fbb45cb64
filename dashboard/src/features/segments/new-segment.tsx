import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { CONDITION_EXAMPLES, type ConditionExample } from '../../conditions/examples.ts'
import { describeCondition } from '../../conditions/sentence/sentence.ts'
import { storeSegment } from '../../data/segments.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { CreateDialog } from '../../ui/dialog/create-dialog.tsx'
import { DialogButtons } from '../../ui/dialog/dialog.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input, Select } from '../../ui/form/input.tsx'

export function NewSegment({ label = 'New segment' }: { label?: string }) {
  return (
    <CreateDialog
      label={label}
      title="New segment"
      description="A question about your people, or a list that you keep by hand."
      shortcut="New segment"
    >
      {(close) => <NewSegmentForm onCancel={close} />}
    </CreateDialog>
  )
}

const BLANK = 'blank'
const STATIC = 'static'
const BEGINNINGS = {
  [BLANK]: 'A blank condition',
  [STATIC]: 'A static list of people I add',
  ...Object.fromEntries(CONDITION_EXAMPLES.map(({ id, name }) => [id, `Example: ${name.charAt(0).toLowerCase()}${name.slice(1)}`])),
}

function NewSegmentForm({ onCancel }: { onCancel: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [begin, setBegin] = useState(BLANK)
  const example = CONDITION_EXAMPLES.find(({ id }) => id === begin)
  const create = useMutation({
    mutationFn: async (name: string) => {
      const params = { projectId: project.id }
      // A segment with a condition exists once it has one: its page comes next.
      if (begin !== STATIC)
        return navigate({ to: '/app/p/$projectId/segments/new', params, search: { name, ...(example && { example: example.id }) } })
      const created = await api.segments.create({ name, type: 'STATIC' })
      void storeSegment(queries, project.id, created)
      await navigate({ to: '/app/p/$projectId/segments/$segmentId', params: { ...params, segmentId: created.id } })
    },
  })
  return (
    <Form error={create.error} onSubmit={(value) => create.mutate(value('name'))}>
      <Field name="begin" label="Begin with" hint={hintOf(begin, example)}>
        <Select options={BEGINNINGS} value={begin} onChange={(event) => setBegin(event.target.value)} />
      </Field>
      <Field name="name" label="Name">
        <Input key={begin} defaultValue={example?.name ?? ''} required maxLength={100} autoComplete="off" />
      </Field>
      <DialogButtons>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" variant="primary" busy={create.isPending}>
          {begin === STATIC ? 'Create segment' : 'Continue'}
        </Button>
      </DialogButtons>
    </Form>
  )
}

function hintOf(begin: string, example: ConditionExample | undefined): string {
  // The conditions of the examples have the same operators as stored ones.
  if (example) return `In words: ${describeCondition(example.condition as Parameters<typeof describeCondition>[0])}. Change it next.`
  return begin === STATIC ? 'Paste addresses or choose a file next.' : 'Build it line by line next.'
}
