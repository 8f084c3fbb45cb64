import { Plus, X } from 'lucide-react'
import { useState } from 'react'
import { Button, IconButton } from '../../../../ui/form/button.tsx'
import { Input } from '../../../../ui/form/input.tsx'

type Entry = [key: string, value: string]
type PairsProps = {
  legend: string /** Names a row for screen readers. */
  name: string
  entries: Entry[]
  onChange: (entries: Entry[]) => void
}

/** Rows of a name and a value. A row whose name is still empty is kept here only. */
export function Pairs({ legend, name, entries, onChange }: PairsProps) {
  const [rows, setRows] = useState<Entry[]>(entries)
  function change(next: Entry[]) {
    setRows(next)
    onChange(next.filter(([key]) => key.trim() !== ''))
  }
  const edit = (index: number, entry: Entry) => change(rows.map((row, at) => (at === index ? entry : row)))
  return (
    <fieldset className="space-y-2">
      <legend className="font-medium text-ui">{legend}</legend>
      {rows.map(([key, value], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity, and their names are typed
        <div key={index} className="flex gap-2">
          <Input
            aria-label={`${name} ${index + 1}, name`}
            placeholder="Name"
            value={key}
            autoComplete="off"
            onChange={(event) => edit(index, [event.target.value, value])}
          />
          <Input
            aria-label={`${name} ${index + 1}, value`}
            placeholder="Value"
            value={value}
            autoComplete="off"
            onChange={(event) => edit(index, [key, event.target.value])}
          />
          <IconButton
            label={`Remove ${key || `${name.toLowerCase()} ${index + 1}`}`}
            onClick={() => change(rows.filter((_, at) => at !== index))}
          >
            <X />
          </IconButton>
        </div>
      ))}
      <Button size="sm" onClick={() => setRows([...rows, ['', '']])}>
        <Plus aria-hidden="true" />
        Add a {name.toLowerCase()}
      </Button>
    </fieldset>
  )
}
