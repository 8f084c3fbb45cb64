import type { Project } from '@sterna/sdk'
import { EditorFrame } from '../../editor/editor-frame.tsx'
import { useProject } from '../../projects/current.ts'
import { Field } from '../../ui/form/field.tsx'
import { Input, Select } from '../../ui/form/input.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { Card } from '../../ui/page/card.tsx'
import { PageBody } from '../../ui/page/page.tsx'
import { DangerZone } from './danger-zone.tsx'
import { useSettingsDraft } from './use-settings-draft.ts'

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

const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone')]

const readNames = (text: string) =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)

export function SettingsPage() {
  const project = useProject()
  const { draft, mayManage, refusal } = useSettingsDraft('settings', ['name', 'language', 'timezone', 'nameFields'])
  const problem = refusal ?? (draft.values.name.trim() ? undefined : 'The project needs a name')
  return (
    <EditorFrame title="General" draft={draft} consequence="Saving applies to all email sent from now on" {...(problem && { problem })}>
      <PageBody>
        <div className="space-y-4">
          {refusal && <Banner>{refusal}.</Banner>}
          <Card>
            <fieldset disabled={!mayManage} className="grid grid-cols-1 gap-4 lg:grid-cols-2">
              <Field name="name" label="Project name">
                <Input
                  value={draft.values.name}
                  onChange={(event) => draft.set({ name: event.target.value })}
                  autoComplete="off"
                  maxLength={100}
                />
              </Field>
              <Field name="language" label="Language" hint="Used for the unsubscribe footer and pages when a contact has no language.">
                <Select
                  options={LANGUAGES}
                  value={draft.values.language}
                  // The options are the languages.
                  onChange={(event) => draft.set({ language: event.target.value as Project['language'] })}
                />
              </Field>
              <Field name="timezone" label="Time zone" hint="Days of the overview and the analytics are days of this zone.">
                <Input
                  value={draft.values.timezone}
                  list="time-zones"
                  autoComplete="off"
                  onChange={(event) => draft.set({ timezone: event.target.value })}
                />
              </Field>
              <Field
                name="nameFields"
                label="Names of contacts"
                hint="Fields that hold the name, the best first, separated by commas. Join fields by “ + ”: firstName + lastName. Lists show and find contacts by it."
              >
                <Input
                  defaultValue={draft.values.nameFields.join(', ')}
                  autoComplete="off"
                  spellCheck={false}
                  onChange={(event) => draft.set({ nameFields: readNames(event.target.value) })}
                />
              </Field>
              <datalist id="time-zones">
                {ZONES.map((zone) => (
                  <option key={zone} value={zone} />
                ))}
              </datalist>
            </fieldset>
          </Card>
          {project.role === 'OWNER' && <DangerZone />}
        </div>
      </PageBody>
    </EditorFrame>
  )
}
