import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { ChevronDown } from 'lucide-react'
import { useState } from 'react'
import { ContactChoices } from '../../projects/contact-choices.tsx'
import { useProject } from '../../projects/current.ts'
import { Button } from '../../ui/button.tsx'
import { Popover } from '../../ui/popover.tsx'
import { useDebouncedValue } from '../../ui/use-debounced-value.ts'
import { peopleQuery, personQuery } from './queries.ts'

type PersonPickerProps = {
  /** The id of a contact. */
  person: string | undefined
  onPerson: (id: string | undefined) => void
  /** Shown while no contact is chosen. It can be chosen again if `canClear` is set. */
  placeholder: string
  canClear?: boolean
}

/** Finds a contact by a part of the address. */
export function PersonPicker({ person, onPerson, placeholder, canClear = false }: PersonPickerProps) {
  const project = useProject()
  const [open, setOpen] = useState(false)
  const [search, setSearch] = useState('')
  const settled = useDebouncedValue(search.trim(), 300)
  const people = useQuery({ ...peopleQuery(project.id, settled), enabled: open, placeholderData: keepPreviousData })
  const chosen = useQuery({ ...personQuery(project.id, person ?? ''), enabled: person !== undefined })
  const name = person === undefined ? placeholder : (chosen.data?.email ?? (chosen.isError ? 'No such contact' : '…'))
  function choose(id: string | undefined) {
    onPerson(id)
    setOpen(false)
  }
  return (
    <Popover
      label="Choose a contact"
      open={open}
      onOpenChange={setOpen}
      trigger={
        <Button className="min-w-0 max-w-full shrink" aria-label={`Contact: ${name}`}>
          <span className="truncate">{name}</span>
          <ChevronDown aria-hidden="true" />
        </Button>
      }
    >
      <div className="space-y-1 p-1">
        <ContactChoices
          label="Search contacts"
          search={search}
          onSearch={setSearch}
          contacts={people.data}
          chosen={person}
          onChoose={choose}
          none={canClear ? placeholder : undefined}
        />
      </div>
    </Popover>
  )
}
