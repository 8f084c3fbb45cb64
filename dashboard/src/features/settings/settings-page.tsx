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
  { value: 'ENABLED', label: 'In every email', hint: 'You learn who opened and clicked what.' },
  {
    value: 'MARKETING_ONLY',
    label: 'In marketing email only',
    hint: 'Receipts, sign-in codes and other transactional mail go out untouched.',
  },
  { value: 'DISABLED', label: 'Never', hint: 'No pixel, no rewritten links. Deliveries and bounces are still counted.' },
]

export function SettingsPage() {
  const project = useProject()
  const mayManage = canManage(project)
  return (
    <Page title="Settings" description={`The name, tracking and language of ${project.name}.`}>
      {!mayManage && <Banner>Only owners and admins change settings.</Banner>}
      <Card>
        {/* A project switched under an open form must not inherit its input. */}
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
          // The controls below offer these values only.
          tracking: value('tracking') as Changes['tracking'],
          language: value('language') as Changes['language'],
        })
      }
    >
      <fieldset disabled={disabled} className="space-y-6">
        <Field name="name" label="Project name">
          <Input defaultValue={project.name} autoComplete="off" maxLength={100} required />
        </Field>
        <Choices legend="Track opens and clicks" name="tracking" choices={TRACKING} chosen={project.tracking} />
        <Field
          name="language"
          label="Language"
          hint="Of the unsubscribe footer and pages, for contacts that have no language of their own."
        >
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
