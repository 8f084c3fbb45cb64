import type { Body } from '@sterna/sdk'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { STARTERS } from '../../content/starters.ts'
import { storeTemplate } from '../../data/templates.ts'
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
    >
      {(close) => <NewTemplateForm onCancel={close} />}
    </CreateDialog>
  )
}

const PASTE = 'paste'
const BEGINNINGS = { ...Object.fromEntries(STARTERS.map(({ id, label }) => [id, label])), [PASTE]: 'Paste HTML' }
const TYPES = { TRANSACTIONAL: 'Transactional: to everyone', MARKETING: 'Marketing: to subscribed contacts, with an unsubscribe link' }

function NewTemplateForm({ onCancel }: { onCancel: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [begin, setBegin] = useState('blank')
  const starter = STARTERS.find(({ id }) => id === begin)
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
      subject: starter?.subject ?? value('name'),
      body: starter?.body ?? value('body'),
    })
  }

  return (
    <Form error={create.error} onSubmit={submit}>
      <Field name="begin" label="Begin with">
        <Select options={BEGINNINGS} value={begin} onChange={(event) => setBegin(event.target.value)} />
      </Field>
      <Field name="name" label="Name">
        <Input key={begin} defaultValue={starter?.name ?? ''} required maxLength={255} autoComplete="off" />
      </Field>
      <Field name="type" label="Type">
        <Select key={begin} options={TYPES} defaultValue={starter?.type ?? 'TRANSACTIONAL'} />
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
