import { useQuery } from '@tanstack/react-query'
import { Plus, X } from 'lucide-react'
import { useContext, useEffect, useId, useState } from 'react'
import { fieldsQuery } from '../../../../data/contacts.ts'
import { useProject } from '../../../../projects/current.ts'
import { Button, IconButton } from '../../../../ui/form/button.tsx'
import { Input, Select } from '../../../../ui/form/input.tsx'
import { Suggestions } from '../../../../ui/form/suggestions.tsx'
import { InvalidInputs } from './invalid-inputs.ts'
import { problemOfRow, type TypedRow, typeOfValue, VALUE_TYPES, type ValueType, valueOfRow } from './typed-value.ts'

type TypedValuesProps = { values: Record<string, unknown>; onChange: (values: Record<string, unknown>) => void }

/**
 * Fields of a contact with values of a type. A row whose name is still empty is kept here only. While the text of a row is no value, the last
 * value of the field stays, and the editor cannot save.
 */
export function TypedValues({ values, onChange }: TypedValuesProps) {
  const project = useProject()
  const id = useId()
  const known = useQuery(fieldsQuery(project.id)).data ?? []
  const [rows, setRows] = useState<TypedRow[]>(() => Object.entries(values).map(([name, value]) => ({ name, ...typeOfValue(value) })))
  const report = useContext(InvalidInputs)
  const hasProblem = rows.some(problemOfRow)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the reporting function is new on every render
  useEffect(() => {
    report(id, hasProblem)
    return () => report(id, false)
  }, [id, hasProblem])
  function change(next: TypedRow[]) {
    setRows(next)
    const named = next.filter((row) => row.name.trim() !== '' && !(problemOfRow(row) && values[row.name] === undefined))
    onChange(Object.fromEntries(named.map((row) => [row.name, problemOfRow(row) ? values[row.name] : valueOfRow(row)])))
  }
  const edit = (index: number, patch: Partial<TypedRow>) => change(rows.map((row, at) => (at === index ? { ...row, ...patch } : row)))
  /** A field that contacts have is of their type. */
  function rename(index: number, name: string) {
    const type = known.find(({ field }) => field === name)?.type
    edit(index, { name, ...(type && Object.hasOwn(VALUE_TYPES, type) && rows[index]!.text === '' && { type: type as ValueType }) })
  }
  return (
    <fieldset className="space-y-3">
      <legend className="font-medium text-ui">Fields</legend>
      {rows.map((row, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity, and their names are typed
        <div key={index} className="grid grid-cols-[minmax(0,1fr)_7rem_auto] gap-2">
          <Input
            aria-label={`Field ${index + 1}, name`}
            placeholder="Name"
            value={row.name}
            autoComplete="off"
            list={id}
            onChange={(event) => rename(index, event.target.value)}
          />
          <Select
            aria-label={`Field ${index + 1}, type`}
            options={VALUE_TYPES}
            value={row.type}
            onChange={(event) => edit(index, { type: event.target.value as ValueType })}
          />
          <IconButton label={`Remove ${row.name || `field ${index + 1}`}`} onClick={() => change(rows.filter((_, at) => at !== index))}>
            <X />
          </IconButton>
          <div className="col-span-2 empty:hidden">
            <ValueInput
              row={row}
              label={`Field ${index + 1}, value`}
              problemId={`${id}-${index}`}
              onText={(text) => edit(index, { text })}
            />
          </div>
          <p id={`${id}-${index}`} aria-live="polite" className="col-span-3 text-danger text-ui empty:hidden">
            {problemOfRow(row)}
          </p>
        </div>
      ))}
      <Suggestions id={id} values={known.map(({ field }) => field)} />
      <Button size="sm" onClick={() => setRows([...rows, { name: '', type: 'string', text: '' }])}>
        <Plus aria-hidden="true" />
        Add a field
      </Button>
    </fieldset>
  )
}

type ValueInputProps = {
  row: TypedRow
  label: string /** The element with its problem. */
  problemId: string
  onText: (text: string) => void
}

function ValueInput({ row, label, problemId, onText }: ValueInputProps) {
  const { type, text } = row
  if (type === 'delete') return null
  if (type === 'boolean')
    return (
      <Select
        aria-label={label}
        options={{ true: 'Yes', false: 'No' }}
        value={text === 'false' ? 'false' : 'true'}
        onChange={(event) => onText(event.target.value)}
      />
    )
  const inputType = type === 'number' ? 'number' : type === 'date' ? 'date' : 'text'
  return (
    <Input
      aria-label={label}
      aria-invalid={problemOfRow(row) !== undefined || undefined}
      aria-describedby={problemId}
      placeholder="Value"
      type={inputType}
      {...(type === 'number' && { step: 'any' })}
      value={text}
      autoComplete="off"
      onChange={(event) => onText(event.target.value)}
    />
  )
}
