import { useNameOf } from './name-of.ts'

type NamedAddressProps = { contact: { email: string; data?: Record<string, unknown> | null } }

/** A contact in a list: its name above its address, or the address alone. */
export function NamedAddress({ contact }: NamedAddressProps) {
  const name = useNameOf()(contact)
  if (!name) return <span title={contact.email}>{contact.email}</span>
  return (
    <span title={`${name}, ${contact.email}`}>
      <span className="block truncate leading-4">{name}</span>
      <span className="block truncate font-normal text-muted text-xs leading-4">{contact.email}</span>
    </span>
  )
}
