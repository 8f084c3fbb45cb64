import type { Contact } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { UserX } from 'lucide-react'
import { useState } from 'react'
import { contactQuery, contactSegmentsQuery } from '../../../data/contacts.ts'
import { useNameOf } from '../../../people/name-of.ts'
import { SendEmail } from '../../../people/send-email.tsx'
import { useProject } from '../../../projects/current.ts'
import { ListLink, RecordPage } from '../../../projects/record-page.tsx'
import { MoreActions } from '../../../ui/dialog/menu.tsx'
import { Fact, Facts } from '../../../ui/dialog/peek-panel.tsx'
import { Card } from '../../../ui/page/card.tsx'
import { Page } from '../../../ui/page/page.tsx'
import { CopyText } from '../../../ui/text/copy-field.tsx'
import { Time } from '../../../ui/text/time.tsx'
import { ContactData } from './contact-data.tsx'
import { ContactMenu, DeleteContact } from './contact-menu.tsx'
import { StartWorkflow } from './start-workflow.tsx'
import { Subscription, SuppressionBanner } from './subscription.tsx'
import { Timeline } from './timeline.tsx'

const ROUTE = '/app/p/$projectId/contacts/$contactId'
const MISSING = { icon: UserX, reason: 'It was deleted, or the link is wrong.' }

export function ContactPage() {
  const { contactId } = useParams({ from: ROUTE })
  const project = useProject()
  const query = useQuery(contactQuery(project.id, contactId))
  return (
    <RecordPage kind="Contact" id={contactId} query={query} labelOf={({ email }) => email} missing={MISSING}>
      {(contact) => <ContactView contact={contact} />}
    </RecordPage>
  )
}

function ContactView({ contact }: { contact: Contact }) {
  const contactId = contact.id
  const { kind } = useSearch({ from: ROUTE })
  const project = useProject()
  const navigate = useNavigate()
  const [deleting, setDeleting] = useState(false)
  const [starting, setStarting] = useState(false)
  return (
    <Page
      title={useNameOf()(contact) ?? contact.email}
      parent={<ListLink kind="Contact" />}
      width="full"
      actions={
        <>
          <SendEmail
            label="Send an email"
            to={{ email: contact.email, contactId }}
            onSent={(emailId) => navigate({ to: '/app/p/$projectId/emails/$emailId', params: { projectId: project.id, emailId } })}
          />
          <MoreActions>
            <ContactMenu contact={contact} onStartWorkflow={() => setStarting(true)} onDelete={() => setDeleting(true)} />
          </MoreActions>
        </>
      }
    >
      <SuppressionBanner contact={contact} />
      <div className="grid grid-cols-1 gap-6 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <section aria-label="Timeline" className="order-last min-w-0 lg:order-first">
          <h2 className="sr-only">Timeline</h2>
          <Timeline
            contactId={contactId}
            kind={kind}
            onKind={(next) =>
              navigate({
                to: ROUTE,
                params: { projectId: project.id, contactId },
                search: next ? { kind: next } : {},
                replace: true,
                resetScroll: false,
              })
            }
          />
        </section>
        <div className="min-w-0 space-y-4">
          <Card>
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
              <Fact label="Updated">
                <Time value={contact.updatedAt} />
              </Fact>
              <Fact label="Id">
                <CopyText value={contact.id} label="Id" mono />
              </Fact>
            </Facts>
          </Card>
          <ContactSegments contactId={contactId} />
          <ContactData contact={contact} />
        </div>
      </div>
      {starting && <StartWorkflow contact={contact} onClose={() => setStarting(false)} />}
      {deleting && (
        <DeleteContact
          contact={contact}
          onClose={() => setDeleting(false)}
          onDeleted={() => navigate({ to: '/app/p/$projectId/contacts', params: { projectId: project.id } })}
        />
      )}
    </Page>
  )
}

/** Not shown while the contact is in none. */
function ContactSegments({ contactId }: { contactId: string }) {
  const project = useProject()
  const segments = useQuery(contactSegmentsQuery(project.id, contactId)).data
  if (!segments?.length) return null
  return (
    <Card title="Segments">
      <ul className="flex flex-wrap gap-1">
        {segments.map(({ id, name }) => (
          <li key={id} className="flex max-w-full items-center rounded-md bg-sunken text-ui">
            <Link
              to="/app/p/$projectId/segments/$segmentId"
              params={{ projectId: project.id, segmentId: id }}
              className="block max-w-52 truncate rounded-md py-0.5 pl-2 hover:text-accent"
              title={`Everyone in ${name}`}
            >
              {name}
            </Link>
            <Link
              to="/app/p/$projectId/segments/$segmentId/explain"
              params={{ projectId: project.id, segmentId: id }}
              search={{ contact: contactId }}
              className="rounded-md px-2 py-0.5 text-muted text-xs hover:text-accent"
              aria-label={`Why is this contact in ${name}?`}
            >
              Why?
            </Link>
          </li>
        ))}
      </ul>
    </Card>
  )
}
