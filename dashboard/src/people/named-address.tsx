import { useNameOf } from './name-of.ts'

/** A name above its address, or the address alone. */
export function NamedAddress({ name, email }: { name: string | null | undefined; email: string }) {
  if (!name)
    return (
      <span className="block min-w-0 truncate" title={email}>
        {email}
      </span>
    )
  return (
    <span className="block min-w-0" title={`${name}, ${email}`}>
      <span className="block truncate leading-4">{name}</span>
      <span className="block truncate font-normal text-muted text-xs leading-4">{email}</span>
    </span>
  )
}

type NamedContactProps = { contact: { email: string; data?: Record<string, unknown> | null } }

/** A contact in a list. */
export function NamedContact({ contact }: NamedContactProps) {
  return <NamedAddress name={useNameOf()(contact)} email={contact.email} />
}
