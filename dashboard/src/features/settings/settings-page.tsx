import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from '../../api.ts'
import { canManage, useProject } from '../../projects/current.ts'
import { projectsQuery } from '../../projects/queries.ts'
import { Banner } from '../../ui/banner.tsx'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Choices } from '../../ui/choices.tsx'
import { Field } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Input, Select } from '../../ui/input.tsx'
import { Page } from '../../ui/page.tsx'
import { toast } from '../../ui/toast.tsx'
import { DangerZone } from './danger-zone.tsx'

type Changes = Parameters<typeof api.projects.update>[1]

const LANGUAGES: Record<NonNullable<Changes['language']>, string> = {
  en: 'English',
  de: 'Deutsch',
  fr: 'Français',
  es: 'Español',
  it: 'Italiano',
  nl: 'Nederlands',
  pt: 'Português',
  pl: 'Polski',
  ja: '日本語',
  zh: '中文',
}

const TRACKING: { value: NonNullable<Changes['tracking']>; label: string; hint: string }[] = [
  { value: 'ENABLED', label: 'In every email', hint: 'Shows which contacts opened and clicked.' },
  {
    value: 'MARKETING_ONLY',
    label: 'In marketing email only',
    hint: 'Transactional emails, such as receipts and sign-in codes, are sent unchanged.',
  },
  { value: 'DISABLED', label: 'Never', hint: 'No pixel, no rewritten links. Deliveries and bounces are still counted.' },
]

export function SettingsPage() {
  const project = useProject()
  const mayManage = canManage(project)
  return (
    <Page title="General" description={`The name, tracking and language of ${project.name}.`}>
      {!mayManage && <Banner>Only owners and admins can change settings.</Banner>}
      <Card>
        {/* Keyed by project: after a switch the form must not keep the input of the other project. */}
        <SettingsForm key={project.id} disabled={!mayManage} />
      </Card>
      {project.role === 'OWNER' && <DangerZone />}
    </Page>
  )
}

function SettingsForm({ disabled }: { disabled: boolean }) {
  const project = useProject()
  const queries = useQueryClient()
  const save = useMutation({
    mutationFn: (changes: Changes) => api.projects.update(project.id, changes),
    onSuccess: async () => {
      await queries.invalidateQueries(projectsQuery)
      toast('Settings saved')
    },
  })
  return (
    <Form
      error={save.error}
      onSubmit={(value) =>
        save.mutate({
          name: value('name'),
          // The controls below offer only these values.
          tracking: value('tracking') as Changes['tracking'],
          language: value('language') as Changes['language'],
        })
      }
    >
      <fieldset disabled={disabled} className="space-y-4">
        <Field name="name" label="Project name">
          <Input defaultValue={project.name} autoComplete="off" maxLength={100} required />
        </Field>
        <Choices legend="Track opens and clicks" name="tracking" choices={TRACKING} chosen={project.tracking} />
        <Field name="language" label="Language" hint="Used for the unsubscribe footer and pages when a contact has no language.">
          <Select options={LANGUAGES} defaultValue={project.language} />
        </Field>
        <div className="flex justify-end">
          <Button type="submit" variant="primary" busy={save.isPending}>
            Save
          </Button>
        </div>
      </fieldset>
    </Form>
  )
}
