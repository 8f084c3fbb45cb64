import type { Contact } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { contactQuery } from '../../../data/contacts.ts'
import { useProject } from '../../../projects/current.ts'
import { Fact, Facts } from '../../../ui/dialog/peek-panel.tsx'
import { buttonClass } from '../../../ui/form/button.tsx'
import { ErrorState } from '../../../ui/page/error-state.tsx'
import { CopyText } from '../../../ui/text/copy-field.tsx'
import { Time } from '../../../ui/text/time.tsx'
import { Subscription } from './subscription.tsx'
import { Timeline } from './timeline.tsx'
import { Value } from './value.tsx'

/** Fields in the panel; the page of the contact has all of them. */
const MAX_FIELDS = 50

/** A look at a contact beside the list. */
export function ContactPeek({ id, contact: known }: { id: string; contact: Contact | undefined }) {
  const project = useProject()
  const query = useQuery({ ...contactQuery(project.id, id), ...(known && { initialData: known }) })
  if (query.isLoadingError) return <ErrorState title="Could not load this contact" error={query.error} retry={query.refetch} />
  if (!query.data) return null
  const contact = query.data
  return (
    <div className="space-y-4">
      <Link
        to="/app/p/$projectId/contacts/$contactId"
        params={{ projectId: project.id, contactId: id }}
        className={buttonClass('secondary', 'sm')}
      >
        Open contact
      </Link>
      <Facts>
        <Fact label="Address">
          <CopyText value={contact.email} label="Address" />
        </Fact>
        <Fact label="Subscription">
          <Subscription contact={contact} />
        </Fact>
        <Fact label="Created">
          <Time value={contact.createdAt} />
        </Fact>
        {Object.entries(contact.data ?? {})
          .slice(0, MAX_FIELDS)
          .map(([field, value]) => (
            <Fact key={field} label={field}>
              <Value value={value} />
            </Fact>
          ))}
      </Facts>
      <section aria-label="Timeline" className="border-line border-t">
        <Timeline contactId={id} />
      </section>
    </div>
  )
}
