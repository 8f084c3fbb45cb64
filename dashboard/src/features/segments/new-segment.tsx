import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { CONDITION_EXAMPLES } from '../../conditions/examples.ts'
import { describeCondition } from '../../conditions/sentence.ts'
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

const STATIC = 'static'
const BEGINNINGS = {
  ...Object.fromEntries(CONDITION_EXAMPLES.map(({ id, name }) => [id, `By a condition: ${name.charAt(0).toLowerCase()}${name.slice(1)}`])),
  [STATIC]: 'Static: people I add',
}

function NewSegmentForm({ onCancel }: { onCancel: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [begin, setBegin] = useState(CONDITION_EXAMPLES[0]!.id)
  const example = CONDITION_EXAMPLES.find(({ id }) => id === begin)
  const create = useMutation({
    mutationFn: async (name: string) => {
      const created = await api.segments.create(example ? { name, condition: example.condition } : { name, type: 'STATIC' })
      void storeSegment(queries, project.id, created)
      // The condition is only a beginning: its page comes next. A static segment needs members first.
      await navigate({
        to: example ? '/app/p/$projectId/segments/$segmentId/settings' : '/app/p/$projectId/segments/$segmentId',
        params: { projectId: project.id, segmentId: created.id },
      })
    },
  })
  return (
    <Form error={create.error} onSubmit={(value) => create.mutate(value('name'))}>
      <Field
        name="begin"
        label="Begin with"
        // The conditions are those of the examples, with the same operators as stored ones.
        hint={
          example
            ? `In words: ${describeCondition(example.condition as Parameters<typeof describeCondition>[0])}. Change it next.`
            : 'Paste addresses or choose a file next.'
        }
      >
        <Select options={BEGINNINGS} value={begin} onChange={(event) => setBegin(event.target.value)} />
      </Field>
      <Field name="name" label="Name">
        <Input key={begin} defaultValue={example?.name ?? ''} required maxLength={100} autoComplete="off" />
      </Field>
      <DialogButtons>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" variant="primary" busy={create.isPending}>
          Create segment
        </Button>
      </DialogButtons>
    </Form>
  )
}
