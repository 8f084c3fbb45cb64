import { Link } from '@tanstack/react-router'
import { useProject } from '../projects/current.ts'
import { useNameOf } from './name-of.ts'

/** A contact looks and links the same everywhere. An event can outlive its contact. */
export function ContactLink({ contact }: { contact: { id: string; email: string; data?: Record<string, unknown> | null } | null }) {
  const nameOf = useNameOf()
  const { id: projectId } = useProject()
  if (!contact) return <span className="text-muted">Deleted contact</span>
  return (
    <Link
      to="/app/p/$projectId/contacts/$contactId"
      params={{ projectId, contactId: contact.id }}
      className="relative z-10 inline-block min-h-6 max-w-full truncate rounded-sm py-0.5 align-middle hover:text-accent hover:underline hover:underline-offset-4"
      title={contact.email}
    >
      {nameOf(contact) ?? contact.email}
    </Link>
  )
}
