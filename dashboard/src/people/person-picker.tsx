import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { ChevronDown } from 'lucide-react'
import { type ReactElement, type ReactNode, useState } from 'react'
import { contactQuery, type FindPeople, peopleQuery } from '../data/contacts.ts'
import { useProject } from '../projects/current.ts'
import { Popover } from '../ui/dialog/popover.tsx'
import { Button } from '../ui/form/button.tsx'
import { useDebouncedValue } from '../ui/form/use-debounced-value.ts'
import { ContactChoices } from './contact-choices.tsx'
import { EVERYONE } from './people.ts'

type PersonPickerProps = {
  /** Name of the popover. */
  label?: string
  /** The id of a contact. */
  person: string | undefined
  onPerson: (id: string | undefined) => void
  /** Shown while no contact is chosen. It can be chosen again if `canClear` is set. */
  placeholder: string
  canClear?: boolean
  /** The contacts that it offers. */
  people?: FindPeople
  /** The button that opens it, by the name of the chosen contact. */
  button?: (name: string) => ReactElement
  /** Below the contacts. */
  children?: ReactNode
}

/** Finds a contact by a part of the name or address. */
export function PersonPicker(props: PersonPickerProps) {
  const { label = 'Choose a contact', person, onPerson, placeholder, canClear, people = EVERYONE, button = formButton, children } = props
  const project = useProject()
  const [open, setOpen] = useState(false)
  const [search, setSearch] = useState('')
  const settled = useDebouncedValue(search.trim(), 300)
  const found = useQuery({ ...peopleQuery(project.id, people, settled), enabled: open, placeholderData: keepPreviousData })
  const chosen = useQuery({ ...contactQuery(project.id, person ?? ''), enabled: person !== undefined })
  const name = person === undefined ? placeholder : (chosen.data?.email ?? (chosen.isError ? 'No such contact' : '…'))

  function choose(id: string | undefined) {
    onPerson(id)
    setOpen(false)
  }
  return (
    <Popover label={label} open={open} onOpenChange={setOpen} trigger={button(name)}>
      <div className="space-y-1 p-1">
        <ContactChoices
          label="Search contacts"
          search={search}
          onSearch={setSearch}
          contacts={found.data}
          chosen={person}
          onChoose={choose}
          none={canClear ? placeholder : undefined}
        />
        {children}
      </div>
    </Popover>
  )
}

const formButton = (name: string) => (
  <Button className="min-w-0 max-w-full shrink" aria-label={`Contact: ${name}`}>
    <span className="truncate">{name}</span>
    <ChevronDown aria-hidden="true" />
  </Button>
)
