import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { fieldValuesQuery } from '../../data/contacts.ts'
import { useProject } from '../../projects/current.ts'
import { Input, Select } from '../../ui/form/input.tsx'
import { inputTextOf, type Row, withInput, withUnit } from './filter.ts'
import type { ConditionLine } from './tree.ts'

type ValueInputProps = {
  filter: ConditionLine
  row: Row
  /** `what` names the input that is typed into. */
  onChange: (filter: ConditionLine, what?: string) => void
  invalid: boolean
  describedBy: string
}

const YES_NO = { true: 'yes', false: 'no' }
const UNITS = { minutes: 'minutes', hours: 'hours', days: 'days' }
const DAY = 'YYYY-MM-DD'.length

/** The input for the value of a line, by the type of its field and its operator. */
export function ValueInput(props: ValueInputProps) {
  const { filter, row, onChange, invalid, describedBy } = props
  const name = `Value of ${row.field.label}`
  const common = { 'aria-label': name, 'aria-invalid': invalid || undefined, 'aria-describedby': describedBy }
  const text = inputTextOf(filter)
  if (row.kind === 'none') return null
  if (row.kind === 'boolean')
    return (
      <div className="@max-xl:col-span-2">
        <Select
          {...common}
          options={text === '' ? { '': 'Choose', ...YES_NO } : YES_NO}
          value={text}
          onChange={(event) => onChange(withInput(filter, event.target.value, row.kind))}
        />
      </div>
    )
  if (row.kind === 'period')
    return (
      <div className="flex gap-2 @max-xl:col-span-2">
        <div className="w-20 shrink-0">
          <NumberInput {...props} common={{ ...common, 'aria-label': `Length of the period of ${row.field.label}` }} />
        </div>
        <div className="min-w-0 flex-1">
          <Select
            aria-label={`Unit of the period of ${row.field.label}`}
            options={filter.unit === undefined ? { '': 'Choose', ...UNITS } : UNITS}
            value={filter.unit ?? ''}
            onChange={(event) => onChange(withUnit(filter, event.target.value))}
          />
        </div>
      </div>
    )
  return (
    <div className="@max-xl:col-span-2">
      {row.kind === 'number' ? (
        <NumberInput {...props} common={common} />
      ) : row.kind === 'date' && (text === '' || text.length === DAY) ? (
        <Input
          type="date"
          {...common}
          value={text}
          onChange={(event) => onChange(withInput(filter, event.target.value, row.kind), 'value')}
        />
      ) : (
        <TextInput {...props} common={common} />
      )}
    </div>
  )
}

type InputProps = ValueInputProps & { common: { 'aria-label': string } }

/** Keeps what is typed until it is another number: `1.` is on the way to `1.5`. */
function NumberInput({ filter, row, onChange, common }: InputProps) {
  const [typed, setTyped] = useState(inputTextOf(filter))
  const isTyped = withInput({ field: '', operator: '' }, typed, row.kind).value === filter.value
  return (
    <Input
      {...common}
      inputMode="decimal"
      autoComplete="off"
      value={isTyped ? typed : inputTextOf(filter)}
      onChange={(event) => {
        setTyped(event.target.value)
        onChange(withInput(filter, event.target.value, row.kind), 'value')
      }}
    />
  )
}

/** A text, with the values that contacts have. They are read when the input is used: a condition may have a hundred. */
function TextInput({ filter, row, onChange, common }: InputProps) {
  const id = useId()
  const [isUsed, setIsUsed] = useState(false)
  const hasValues = filter.field.startsWith('data.')
  return (
    <>
      <Input
        {...common}
        autoComplete="off"
        {...(hasValues && { list: id })}
        onFocus={() => setIsUsed(true)}
        value={inputTextOf(filter)}
        onChange={(event) => onChange(withInput(filter, event.target.value, row.kind), 'value')}
      />
      {hasValues && isUsed && <Offered id={id} field={filter.field} />}
    </>
  )
}

function Offered({ id, field }: { id: string; field: string }) {
  const project = useProject()
  const values = useQuery(fieldValuesQuery(project.id, field)).data?.values ?? []
  return <datalist id={id}>{values.map((each) => typeof each === 'string' && <option key={each} value={each} />)}</datalist>
}
