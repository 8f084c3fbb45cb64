import { Input } from '../ui/form/input.tsx'
import { NamedContact } from './named-address.tsx'

type ContactChoicesProps = {
  /** Name of the search field. */
  label: string
  search: string
  onSearch: (search: string) => void
  contacts: { id: string; email: string; data?: Record<string, unknown> | null }[] | undefined
  /** The id of a contact. */
  chosen: string | undefined
  onChoose: (id: string | undefined) => void
  /** Text of the choice of no contact; without it there is none. */
  none?: string | undefined
}

const ROW = 'flex min-h-8 w-full items-center rounded-md px-2 text-left hover:bg-sunken aria-pressed:bg-accent-soft pointer-coarse:min-h-11'

/** Contacts to choose one of, found by a part of the name or address. */
export function ContactChoices({ label, search, onSearch, contacts, chosen, onChoose, none }: ContactChoicesProps) {
  return (
    <>
      <Input aria-label={label} placeholder={label} value={search} onChange={(event) => onSearch(event.target.value)} />
      <ul className="max-h-60 overflow-y-auto">
        {none && (
          <li>
            <button type="button" className={ROW} aria-pressed={chosen === undefined} onClick={() => onChoose(undefined)}>
              {none}
            </button>
          </li>
        )}
        {contacts?.map((contact) => (
          <li key={contact.id}>
            <button type="button" className={ROW} aria-pressed={chosen === contact.id} onClick={() => onChoose(contact.id)}>
              <NamedContact contact={contact} />
            </button>
          </li>
        ))}
      </ul>
      {contacts?.length === 0 && <p className="px-2 py-1 text-muted">No contact matches.</p>}
    </>
  )
}
