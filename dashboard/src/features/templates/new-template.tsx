import type { Body } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Code } from 'lucide-react'
import { useState } from 'react'
import { StartPicker } from '../../content/starters/start-picker.tsx'
import { BLANK, blankChoice, starterGroups, starterOf } from '../../content/starters/starter-choices.ts'
import { startersQuery, storeTemplate } from '../../data/templates.ts'
import { blankDesign } from '../../design/document/design-json.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { CreateDialog } from '../../ui/dialog/create-dialog.tsx'
import { DialogButtons } from '../../ui/dialog/dialog.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input, Select, TextArea } from '../../ui/form/input.tsx'

export function NewTemplate({ label = 'New template' }: { label?: string }) {
  return (
    <CreateDialog
      label={label}
      title="New template"
      description="Creating a template sends nothing: emails, campaigns and workflows use it when you choose it."
      shortcut="New template"
      wide
    >
      {(close) => <NewTemplateForm onCancel={close} />}
    </CreateDialog>
  )
}

const PASTE = 'paste'
const TYPES = { TRANSACTIONAL: 'Transactional: to everyone', MARKETING: 'Marketing: to subscribed contacts, with an unsubscribe link' }

function NewTemplateForm({ onCancel }: { onCancel: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const starters = useQuery(startersQuery(project.id)).data ?? []
  const [begin, setBegin] = useState(BLANK)
  const starter = starterOf(starters, begin)
  const create = useMutation({
    mutationFn: async (body: Body<'POST /templates'>) => {
      const created = await api.templates.create(body)
      await storeTemplate(queries, project.id, created)
      await navigate({ to: '/app/p/$projectId/templates/$templateId', params: { projectId: project.id, templateId: created.id } })
    },
  })

  function submit(value: (name: string) => string) {
    create.mutate({
      name: value('name'),
      // The options of the field are these two.
      type: value('type') as 'TRANSACTIONAL' | 'MARKETING',
      subject: starter?.name ?? value('name'),
      ...(begin === PASTE ? { body: value('body') } : { design: starter?.design ?? blankDesign() }),
    })
  }

  return (
    <Form error={create.error} onSubmit={submit}>
      <StartPicker
        legend="Begin with"
        groups={[
          { heading: 'Your own', choices: [blankChoice('Blank'), { key: PASTE, label: 'Paste HTML', icon: Code }] },
          ...starterGroups(starters),
        ]}
        chosen={begin}
        onChoose={setBegin}
      />
      <Field name="name" label="Name">
        <Input key={begin} defaultValue={starter?.name ?? ''} required maxLength={255} autoComplete="off" />
      </Field>
      <Field name="type" label="Type">
        <Select key={begin} options={TYPES} defaultValue={starter?.category === 'news' ? 'MARKETING' : 'TRANSACTIONAL'} />
      </Field>
      {begin === PASTE && (
        <Field name="body" label="HTML" hint="Kept as it is, byte for byte.">
          <TextArea rows={8} required maxLength={2_000_000} spellCheck={false} className="font-mono" />
        </Field>
      )}
      <DialogButtons>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" variant="primary" busy={create.isPending}>
          Create template
        </Button>
      </DialogButtons>
    </Form>
  )
}
