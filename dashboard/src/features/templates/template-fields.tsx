import type { TemplateValues } from '../../content/template/template-values.ts'
import { TYPE_HINTS, TYPE_NAMES } from '../../content/values/content-values.ts'
import type { Draft } from '../../editor/use-draft.ts'
import { Field } from '../../ui/form/field.tsx'
import { Input, Select } from '../../ui/form/input.tsx'

type TextName = Exclude<keyof TemplateValues, 'type' | 'body' | 'design'>

/** Everything but the body. The details that rarely change are folded away. */
export function TemplateFields({ draft }: { draft: Draft<TemplateValues> }) {
  const text = (name: TextName, maxLength: number) => ({
    value: draft.values[name],
    onChange: (event: { target: { value: string } }) => draft.set({ [name]: event.target.value }),
    maxLength,
    autoComplete: 'off',
  })
  return (
    <div className="space-y-3 px-4 py-4 sm:px-6 lg:px-8">
      <div className="grid grid-cols-1 gap-3 md:grid-cols-2 xl:grid-cols-[minmax(0,2fr)_minmax(0,3fr)_minmax(0,2fr)]">
        <Field name="name" label="Name">
          <Input {...text('name', 255)} />
        </Field>
        <Field name="subject" label="Subject">
          <Input {...text('subject', 998)} />
        </Field>
        <Field name="type" label="Type" hint={TYPE_HINTS[draft.values.type]}>
          <Select
            options={TYPE_NAMES}
            value={draft.values.type}
            // The options are the types.
            onChange={(event) => draft.set({ type: event.target.value as TemplateValues['type'] })}
          />
        </Field>
      </div>
      <Field
        name="previewText"
        label="Preview text"
        hint="Shown after the subject in the inbox. If empty, the beginning of the body is shown."
      >
        <Input {...text('previewText', 500)} />
      </Field>
      <details>
        <summary className="w-fit rounded-sm py-1 text-muted text-ui hover:text-ink">{summaryOf(draft.values)}</summary>
        <div className="mt-3 grid grid-cols-1 gap-3 md:grid-cols-2 xl:grid-cols-4">
          <Field name="fromName" label="From name">
            <Input {...text('fromName', 255)} />
          </Field>
          <Field name="from" label="From address" hint="On a verified domain. If empty, each call has to name a sender.">
            <Input {...text('from', 320)} type="email" />
          </Field>
          <Field name="replyTo" label="Reply to">
            <Input {...text('replyTo', 320)} type="email" />
          </Field>
          <Field name="description" label="Description" hint="For your team only.">
            <Input {...text('description', 1_000)} />
          </Field>
        </div>
      </details>
    </div>
  )
}

function summaryOf({ from, fromName, replyTo }: TemplateValues): string {
  const sender = [fromName, from].filter(Boolean).join(', ')
  return `Sender and description: ${sender ? `from ${sender}` : 'no sender; each call names its own'}${replyTo ? `, replies to ${replyTo}` : ''}`
}
