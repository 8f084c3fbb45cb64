import { useQuery } from '@tanstack/react-query'
import { fieldsQuery } from '../../data/contacts.ts'
import { useProject } from '../../projects/current.ts'
import { Field } from '../../ui/form/field.tsx'
import { Input } from '../../ui/form/input.tsx'
import { formatPercent } from '../../ui/text/count.tsx'

type Attrs = Record<string, unknown>

/** The chosen variable: what is shown if a person has no value, and how it is written. */
export function VariableSettings({ attrs, onAttrs }: { attrs: Attrs; onAttrs: (patch: Attrs) => void }) {
  const project = useProject()
  const path = String(attrs.path)
  const field = useQuery(fieldsQuery(project.id)).data?.find((each) => each.field === path)
  const text = (name: string, maxLength: number) => ({
    value: String(attrs[name] ?? ''),
    maxLength,
    autoComplete: 'off',
    onChange: (event: { target: { value: string } }) => onAttrs({ [name]: event.target.value || undefined }),
  })
  return (
    <div className="space-y-3 p-3">
      <p className="text-ui">
        <strong className="font-semibold">Variable</strong> <code className="font-mono">{path}</code>
      </p>
      <Field
        name="fallback"
        label="Fallback"
        hint={
          field
            ? `${formatPercent(field.coverage)} of contacts have a value. The others get the fallback.`
            : 'Shown to people without a value.'
        }
      >
        <Input {...text('fallback', 500)} />
      </Field>
      <Field name="filter" label="Filter" hint="Of the template language, such as upcase or date: '%d %b %Y'.">
        <Input {...text('filter', 200)} spellCheck={false} className="font-mono" />
      </Field>
    </div>
  )
}
