import type { Segment } from '@sterna/sdk'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { CircleCheck, CircleX } from 'lucide-react'
import { useState } from 'react'
import { Explanation } from '../../conditions/explanation.tsx'
import { contactQuery, peopleQuery } from '../../data/contacts.ts'
import { segmentExplanationQuery, segmentNamesQuery } from '../../data/segments.ts'
import { ContactLink } from '../../people/contact-link.tsx'
import { NamedContact } from '../../people/named-address.tsx'
import { EVERYONE } from '../../people/people.ts'
import { useProject } from '../../projects/current.ts'
import { Field } from '../../ui/form/field.tsx'
import { Input } from '../../ui/form/input.tsx'
import { useDebouncedValue } from '../../ui/form/use-debounced-value.ts'
import { Card } from '../../ui/page/card.tsx'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { PageHeader } from '../../ui/page/page.tsx'
import { Time } from '../../ui/text/time.tsx'
import { SegmentActions, SegmentLink, SegmentRecord, SegmentTabs } from './segment/segment-record.tsx'

const ROUTE = '/app/p/$projectId/segments/$segmentId/explain'

export function ExplainPage() {
  const { segmentId } = useParams({ from: ROUTE })
  return <SegmentRecord id={segmentId}>{(segment) => <Explain segment={segment} />}</SegmentRecord>
}

/** Why one contact is in the segment, or not. */
function Explain({ segment }: { segment: Segment }) {
  const { contact } = useSearch({ from: ROUTE })
  return (
    <>
      <PageHeader title="Check someone" parent={<SegmentLink segment={segment} />} actions={<SegmentActions segment={segment} />} />
      <SegmentTabs segment={segment} />
      <div className="grid max-w-[1440px] grid-cols-1 items-start gap-4 px-4 py-6 sm:px-6 lg:grid-cols-[20rem_minmax(0,1fr)] lg:px-8">
        {/* On a phone the answer comes first. */}
        <div className={contact ? 'max-lg:order-last' : ''}>
          <PickContact segment={segment} chosen={contact} />
        </div>
        {contact ? (
          <Answer segment={segment} contactId={contact} />
        ) : (
          <p className="text-muted text-ui">Pick a contact to see why it is in the segment, or not.</p>
        )}
      </div>
    </>
  )
}

const OPTION =
  'flex min-h-8 w-full items-center rounded-md px-2 text-left text-ui hover:bg-sunken aria-pressed:bg-accent-soft pointer-coarse:min-h-11'

function PickContact({ segment, chosen }: { segment: Segment; chosen: string | undefined }) {
  const project = useProject()
  const navigate = useNavigate()
  const [search, setSearch] = useState('')
  const settled = useDebouncedValue(search.trim(), 300)
  const found = useQuery({ ...peopleQuery(project.id, EVERYONE, settled), placeholderData: keepPreviousData }).data
  return (
    <Card>
      <Field name="search" label="Contact">
        <Input
          type="search"
          placeholder="Search by name or address"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
          autoComplete="off"
        />
      </Field>
      <ul className="mt-2">
        {found?.map((contact) => (
          <li key={contact.id}>
            <button
              type="button"
              aria-pressed={contact.id === chosen}
              className={OPTION}
              onClick={() =>
                navigate({
                  to: ROUTE,
                  params: { projectId: project.id, segmentId: segment.id },
                  search: { contact: contact.id },
                  replace: true,
                  resetScroll: false,
                })
              }
            >
              <NamedContact contact={contact} />
            </button>
          </li>
        ))}
      </ul>
      {found?.length === 0 && <p className="px-2 py-1 text-muted text-ui">No contact matches.</p>}
    </Card>
  )
}

function Answer({ segment, contactId }: { segment: Segment; contactId: string }) {
  const project = useProject()
  const contact = useQuery(contactQuery(project.id, contactId)).data
  const names = useQuery(segmentNamesQuery(project.id)).data ?? {}
  const query = useQuery(segmentExplanationQuery(project.id, segment.id, contactId))
  if (query.isLoadingError) return <ErrorState title="Could not check this contact" error={query.error} retry={query.refetch} />
  if (!query.data) return null
  const { matches, explanation, history } = query.data
  return (
    <div className="min-w-0 space-y-4">
      <Card>
        <p className="flex items-start gap-2 text-sm [&>svg]:mt-0.5 [&>svg]:size-4 [&>svg]:shrink-0" role="status">
          {matches ? <CircleCheck className="text-good" aria-hidden="true" /> : <CircleX className="text-danger" aria-hidden="true" />}
          <span className="min-w-0">
            {contact ? <ContactLink contact={contact} /> : 'This contact'} {matches ? 'is' : 'is not'} in {segment.name}.
          </span>
        </p>
        {explanation ? (
          <div className="mt-4">
            <Explanation explanation={explanation} segments={names} />
          </div>
        ) : (
          <p className="mt-2 text-muted text-ui">
            {matches
              ? 'The contact was added to this static segment.'
              : 'The contact was not added to this static segment, or was removed.'}
          </p>
        )}
      </Card>
      <Card title="Entries and exits">
        {history.length === 0 ? (
          <p className="text-muted text-ui">{segment.trackMembership ? 'None yet.' : 'They are not tracked for this segment.'}</p>
        ) : (
          <ol className="space-y-1 text-ui">
            {history.map(({ eventId, type, at }) => (
              <li key={eventId} className="flex gap-2">
                <span className="w-16">{type === 'entry' ? 'Entered' : 'Left'}</span>
                <span className="text-muted">
                  <Time value={at} />
                </span>
              </li>
            ))}
          </ol>
        )}
      </Card>
    </div>
  )
}
