import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { fieldsQuery, fieldValuesQuery } from '../../data/contacts.ts'
import type { FilterEditorProps } from '../../list/filters.ts'
import { useProject } from '../../projects/current.ts'
import { Button } from '../../ui/form/button.tsx'
import { Input, Select } from '../../ui/form/input.tsx'
import { showValue } from './contact/value.tsx'
import { readFieldFilter } from './contact-filter.ts'

/** A field and one of its values, offered from the data. */
export function FieldFilter({ value, onChange }: FilterEditorProps) {
  const project = useProject()
  const fields = useQuery(fieldsQuery(project.id))
  const names = fields.data?.map((each) => each.field) ?? []
  const [chosen, setChosen] = useState(readFieldFilter(value)?.field)
  const field = chosen ?? names[0]

  if (fields.isPending) return <p className="p-2 text-muted">Loading…</p>
  if (!field) return <p className="p-2 text-muted">No contact has a field yet.</p>
  return (
    <form
      className="space-y-2"
      onSubmit={(event) => {
        event.preventDefault()
        const typed = String(new FormData(event.currentTarget).get('value'))
        onChange(typed ? `${field}=${typed}` : undefined)
      }}
    >
      <Select
        aria-label="Field"
        value={field}
        onChange={(event) => setChosen(event.target.value)}
        options={Object.fromEntries(names.map((name) => [name, name]))}
      />
      <ValueInput key={field} field={field} initial={readFieldFilter(value)?.value} />
      <Button type="submit" size="sm" variant="primary" className="w-full">
        Apply
      </Button>
    </form>
  )
}

function ValueInput({ field, initial }: { field: string; initial: string | undefined }) {
  const project = useProject()
  const id = useId()
  const values = useQuery(fieldValuesQuery(project.id, field))
  return (
    <>
      <Input name="value" aria-label={`Value of ${field}`} placeholder="is exactly" defaultValue={initial} list={id} autoComplete="off" />
      <datalist id={id}>
        {values.data?.values.map((each) => (
          <option key={showValue(each)} value={showValue(each)} />
        ))}
      </datalist>
    </>
  )
}
