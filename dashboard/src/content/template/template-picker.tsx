import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { findSender, offeredTemplatesQuery, startersQuery, storeTemplate } from '../../data/templates.ts'
import { blankDesign } from '../../design/document/design-json.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { Dialog, DialogButtons } from '../../ui/dialog/dialog.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input } from '../../ui/form/input.tsx'
import { StartPicker } from '../starters/start-picker.tsx'
import { blankChoice, starterGroups, starterOf } from '../starters/starter-choices.ts'

type TemplatePickerProps = {
  open: boolean
  onOpenChange: (open: boolean) => void
  /** The template that is chosen now. */
  templateId: string | undefined
  /** The name of a template that is made here. */
  newName: string
  /** The workflow that a template which is made here belongs to. */
  workflowId: string
  onTemplate: (templateId: string) => void
}

/** Chooses one of the templates by its picture, or makes one from a starter. For a step of a workflow. */
export function TemplatePicker({ open, onOpenChange, ...props }: TemplatePickerProps) {
  return (
    <Dialog
      title="Choose an email"
      description="One of your templates, or a starter: it becomes a template of its own."
      open={open}
      onOpenChange={onOpenChange}
      wide
    >
      {open && <TemplatePickerForm {...props} onClose={() => onOpenChange(false)} />}
    </Dialog>
  )
}

type PickerFormProps = Omit<TemplatePickerProps, 'open' | 'onOpenChange'> & { onClose: () => void }

function TemplatePickerForm({ templateId, newName, workflowId, onTemplate, onClose }: PickerFormProps) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const templates = useQuery(offeredTemplatesQuery(project.id)).data ?? []
  const starters = useQuery(startersQuery(project.id)).data ?? []
  const [chosen, setChosen] = useState(templateId ?? templates[0]?.id ?? 'blank')
  const isOwn = templates.some(({ id }) => id === chosen)
  const use = useMutation({
    mutationFn: async (name: string) => {
      if (isOwn) return chosen
      const starter = starterOf(starters, chosen)
      const type = starter?.category === 'news' ? ('MARKETING' as const) : ('TRANSACTIONAL' as const)
      const created = await api.templates.create({
        name,
        subject: starter?.name ?? name,
        type,
        design: starter?.design ?? blankDesign(),
        workflowId,
        ...(await findSender(queries, project)),
      })
      await storeTemplate(queries, project.id, created)
      return created.id
    },
    onSuccess: (id) => {
      onTemplate(id)
      onClose()
    },
  })
  const own = templates.map(({ id, name, body }) => ({ key: id, label: name, content: { design: null, body } }))
  return (
    <Form error={use.error} onSubmit={(value) => use.mutate(isOwn ? '' : value('name'))}>
      <StartPicker
        legend="Email"
        groups={[
          { heading: 'Your templates', choices: own },
          { heading: 'New', choices: [blankChoice('Blank')] },
          ...starterGroups(starters),
        ]}
        chosen={chosen}
        onChoose={setChosen}
      />
      {!isOwn && (
        <Field name="name" label="Name of the new template">
          <Input defaultValue={newName} required maxLength={255} autoComplete="off" />
        </Field>
      )}
      <DialogButtons>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" variant="primary" busy={use.isPending}>
          {isOwn ? 'Use this template' : 'Create and use'}
        </Button>
      </DialogButtons>
    </Form>
  )
}
