import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { ChevronDown } from 'lucide-react'
import { useState } from 'react'
import { ContactChoices } from '../projects/contact-choices.tsx'
import { useProject } from '../projects/current.ts'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { TextArea } from '../ui/input.tsx'
import { Popover } from '../ui/popover.tsx'
import { useDebouncedValue } from '../ui/use-debounced-value.ts'
import { type FindPeople, peopleQuery, personQuery } from './queries.ts'

type PersonPickerProps = {
  /** Whom it offers. */
  people: FindPeople
  /** The id of a contact; undefined is a made-up person. */
  person: string | undefined
  onPerson: (id: string | undefined) => void
  /** JSON that overrides the data of the person. */
  sample: string
  onSample: (sample: string) => void
  sampleError: boolean
}

/** For whom the preview is rendered. */
export function PersonPicker({ people: offered, person, onPerson, sample, onSample, sampleError }: PersonPickerProps) {
  const project = useProject()
  const [open, setOpen] = useState(false)
  const [search, setSearch] = useState('')
  const settled = useDebouncedValue(search.trim(), 300)
  const people = useQuery({ ...peopleQuery(project.id, offered, settled), enabled: open, placeholderData: keepPreviousData })
  const chosen = useQuery({ ...personQuery(project.id, person ?? ''), enabled: person !== undefined })
  const name = person === undefined ? 'Sample person' : (chosen.data?.email ?? (chosen.isError ? 'No such contact' : '…'))

  function choose(id: string | undefined) {
    onPerson(id)
    setOpen(false)
  }
  return (
    <Popover
      label="Preview as"
      open={open}
      onOpenChange={setOpen}
      trigger={
        <Button size="sm" className="min-w-0 max-w-60 shrink" aria-label={`Preview as ${name}`}>
          <span className="truncate">As {name}</span>
          <ChevronDown aria-hidden="true" />
        </Button>
      }
    >
      <div className="space-y-1 p-1">
        <ContactChoices
          label="Search people"
          search={search}
          onSearch={setSearch}
          contacts={people.data}
          chosen={person}
          onChoose={choose}
          none="Sample person"
        />
        <div className="border-line border-t pt-2">
          <Field
            name="sample"
            label="With this data"
            hint={sampleError ? 'Must be a JSON object.' : 'JSON. A field that is null is taken away.'}
          >
            <TextArea
              rows={3}
              className="font-mono"
              spellCheck={false}
              placeholder={'{ "plan": null }'}
              value={sample}
              aria-invalid={sampleError || undefined}
              onChange={(event) => onSample(event.target.value)}
            />
          </Field>
        </div>
      </div>
    </Popover>
  )
}
