import type { Design } from '@sterna/sdk'
import { useState } from 'react'
import { Field } from '../../ui/form/field.tsx'
import { Input } from '../../ui/form/input.tsx'
import { NumberInput, Segments } from './inputs.tsx'

type Settings = NonNullable<Design['settings']>
type EmailSettingsProps = { settings: Settings; onSettings: (settings: Settings) => void }

const LANGUAGE = /^[a-zA-Z]{2,8}(?:-[a-zA-Z\d]{1,8})*$/

/** Settings of the whole email. */
export function EmailSettings({ settings, onSettings }: EmailSettingsProps) {
  const [lang, setLang] = useState(settings.lang ?? '')
  const set = (patch: Settings) =>
    onSettings(Object.fromEntries(Object.entries({ ...settings, ...patch }).filter(([, value]) => value !== undefined && value !== null)))
  const isWrong = lang !== '' && !LANGUAGE.test(lang)
  return (
    <details className="border-line border-t p-3">
      <summary className="rounded-sm font-medium text-ui">The whole email</summary>
      <div className="mt-3 space-y-3">
        <NumberInput
          label="Width in pixels"
          value={settings.width}
          min={480}
          max={700}
          placeholder="600"
          onValue={(width) => set({ width: width ?? null })}
        />
        <Field
          name="lang"
          label="Language"
          hint={isWrong ? 'Must be a language tag such as en or pt-BR.' : 'Screen readers read it aloud in this language.'}
        >
          <Input
            value={lang}
            placeholder="en"
            maxLength={35}
            autoComplete="off"
            aria-invalid={isWrong || undefined}
            onChange={(event) => {
              setLang(event.target.value)
              if (event.target.value === '' || LANGUAGE.test(event.target.value)) set({ lang: event.target.value || null })
            }}
          />
        </Field>
        <Segments
          label="Direction"
          choices={[
            { value: 'auto', label: 'By language' },
            { value: 'ltr', label: 'Left to right' },
            { value: 'rtl', label: 'Right to left' },
          ]}
          chosen={settings.dir ?? 'auto'}
          onChoose={(dir) => set({ dir: dir === 'auto' ? null : (dir as 'ltr' | 'rtl') })}
        />
      </div>
    </details>
  )
}
