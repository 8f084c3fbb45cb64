import type { Contact } from '@sterna/sdk'
import { Braces, Pencil, Plus, X } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { Button, IconButton } from '../../../ui/form/button.tsx'
import { Input } from '../../../ui/form/input.tsx'
import { Card } from '../../../ui/page/card.tsx'
import { MAX_ROWS } from '../../../ui/table/bounded-list.ts'
import { CodeBlock } from '../../../ui/text/copy-field.tsx'
import { readValue, writeValue } from './field-input.ts'
import { changeWithUndo, useChangeContact } from './use-change-contact.ts'
import { Value } from './value.tsx'

/** The fields of a contact, each edited in place. */
export function ContactData({ contact }: { contact: Contact }) {
  const [isAdding, setIsAdding] = useState(false)
  const [asJson, setAsJson] = useState(false)
  const data = contact.data ?? {}
  const fields = Object.keys(data).sort()
  return (
    <Card
      title="Data"
      actions={
        <span className="flex gap-1">
          <IconButton label={asJson ? 'Show as rows' : 'Show as JSON'} aria-pressed={asJson} onClick={() => setAsJson(!asJson)}>
            <Braces />
          </IconButton>
          <IconButton label="Add a field" onClick={() => setIsAdding(true)}>
            <Plus />
          </IconButton>
        </span>
      }
    >
      {asJson ? (
        <CodeBlock title="data" label="Data" code={JSON.stringify(data, null, 2)} />
      ) : (
        <ul className="divide-y divide-line text-ui">
          {fields.slice(0, MAX_ROWS).map((field) => (
            <FieldRow key={field} contact={contact} field={field} value={data[field]} />
          ))}
          {fields.length > MAX_ROWS && (
            <li className="py-2 text-muted">
              The first {MAX_ROWS} of {fields.length} fields.{' '}
              <button type="button" className="link" onClick={() => setAsJson(true)}>
                Show all as JSON
              </button>
            </li>
          )}
          {fields.length === 0 && !isAdding && <li className="text-muted">No data. Fields appear with the first value you store.</li>}
        </ul>
      )}
      {isAdding && <AddField contact={contact} onDone={() => setIsAdding(false)} />}
    </Card>
  )
}

function FieldRow({ contact, field, value }: { contact: Contact; field: string; value: unknown }) {
  const [isEditing, setIsEditing] = useState(false)
  const change = useChangeContact(contact.id)

  function save(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const typed = String(new FormData(event.currentTarget).get('value'))
    change.mutate({ data: { [field]: readValue(typed) } }, { onSuccess: () => setIsEditing(false) })
  }
  function remove() {
    return changeWithUndo(change, { changes: { data: { [field]: null } }, undo: { data: { [field]: value } } }, `${field} was removed`)
  }

  if (isEditing) {
    return (
      <li className="py-2">
        <form onSubmit={save} onKeyDown={(event) => event.key === 'Escape' && setIsEditing(false)} className="flex items-center gap-2">
          <span className="max-w-24 shrink-0 truncate text-muted">{field}</span>
          <Input name="value" aria-label={`Value of ${field}`} defaultValue={writeValue(value)} autoFocus autoComplete="off" />
          <Button type="submit" size="sm" variant="primary" busy={change.isPending}>
            Save
          </Button>
        </form>
      </li>
    )
  }
  return (
    <li className="group/field flex min-h-9 items-center gap-2">
      <span className="w-28 shrink-0 truncate text-muted" title={field}>
        {field}
      </span>
      <span className="min-w-0 flex-1 truncate">
        <Value value={value} />
      </span>
      <span className="flex opacity-0 focus-within:opacity-100 group-hover/field:opacity-100 pointer-coarse:opacity-100">
        <IconButton label={`Edit ${field}`} className="size-7" onClick={() => setIsEditing(true)}>
          <Pencil />
        </IconButton>
        <IconButton label={`Remove ${field}`} className="size-7" onClick={remove}>
          <X />
        </IconButton>
      </span>
    </li>
  )
}

function AddField({ contact, onDone }: { contact: Contact; onDone: () => void }) {
  const change = useChangeContact(contact.id)
  function add(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const values = new FormData(event.currentTarget)
    const field = String(values.get('field')).trim()
    change.mutate({ data: { [field]: readValue(String(values.get('value'))) } }, { onSuccess: onDone })
  }
  return (
    <form onSubmit={add} onKeyDown={(event) => event.key === 'Escape' && onDone()} className="mt-3 space-y-2 border-line border-t pt-3">
      <Input name="field" aria-label="Name of the field" placeholder="plan" required autoFocus autoComplete="off" />
      <Input name="value" aria-label="Value" placeholder="pro, 5, true, 2026-01-31" required autoComplete="off" />
      <div className="flex justify-end gap-2">
        <Button size="sm" onClick={onDone}>
          Cancel
        </Button>
        <Button type="submit" size="sm" variant="primary" busy={change.isPending}>
          Add field
        </Button>
      </div>
    </form>
  )
}
