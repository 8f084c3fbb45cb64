import type { Project } from '@sterna/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { api } from '../../api.ts'
import { EditorFrame } from '../../editor/editor-frame.tsx'
import { useDraft } from '../../editor/use-draft.ts'
import { canManage, useProject } from '../../projects/current.ts'
import { projectsQuery } from '../../projects/queries.ts'
import { Banner } from '../../ui/banner.tsx'
import { Card } from '../../ui/card.tsx'
import { Choices } from '../../ui/choices.tsx'
import { Field } from '../../ui/field.tsx'
import { Input, Select } from '../../ui/input.tsx'
import { DangerZone } from './danger-zone.tsx'

type Settings = Pick<Project, 'name' | 'tracking' | 'language'>

const LANGUAGES: Record<Project['language'], string> = {
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

const TRACKING: { value: Project['tracking']; label: string; hint: string }[] = [
  { value: 'ENABLED', label: 'In every email', hint: 'Shows which contacts opened and clicked.' },
  {
    value: 'MARKETING_ONLY',
    label: 'In marketing email only',
    hint: 'Transactional emails, such as receipts and sign-in codes, are sent unchanged.',
  },
  { value: 'DISABLED', label: 'Never', hint: 'No pixel, no rewritten links. Deliveries and bounces are still counted.' },
]

const settingsOf = ({ name, tracking, language, updatedAt }: Project) => ({ values: { name, tracking, language }, revision: updatedAt })

export function SettingsPage() {
  const project = useProject()
  const queries = useQueryClient()
  const mayManage = canManage(project)
  const draft = useDraft<Settings>({
    name: 'settings',
    saved: settingsOf(project),
    save: async (values) => {
      const saved = await api.projects.update(project.id, values)
      await queries.invalidateQueries(projectsQuery)
      return settingsOf(saved)
    },
    reload: async () => settingsOf(project),
  })
  const problem = !mayManage
    ? 'Only owners and admins can change settings'
    : draft.values.name.trim()
      ? undefined
      : 'The project needs a name'
  return (
    <EditorFrame title="General" draft={draft} consequence="Saving applies to all email sent from now on" {...(problem && { problem })}>
      <div className="max-w-4xl space-y-4 px-4 py-6 sm:px-6 lg:px-8">
        {!mayManage && <Banner>Only owners and admins can change settings.</Banner>}
        <Card>
          <fieldset disabled={!mayManage} className="space-y-4">
            <Field name="name" label="Project name">
              <Input
                value={draft.values.name}
                onChange={(event) => draft.set({ name: event.target.value })}
                autoComplete="off"
                maxLength={100}
              />
            </Field>
            <Choices
              legend="Track opens and clicks"
              name="tracking"
              choices={TRACKING}
              chosen={draft.values.tracking}
              // The choices above offer only these values.
              onChoose={(value) => draft.set({ tracking: value as Settings['tracking'] })}
            />
            <Field name="language" label="Language" hint="Used for the unsubscribe footer and pages when a contact has no language.">
              <Select
                options={LANGUAGES}
                value={draft.values.language}
                onChange={(event) => draft.set({ language: event.target.value as Settings['language'] })}
              />
            </Field>
          </fieldset>
        </Card>
        {project.role === 'OWNER' && <DangerZone />}
      </div>
    </EditorFrame>
  )
}
