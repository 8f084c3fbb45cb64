import type { Contact, Segment } from '@sterna/sdk'
import { useParams } from '@tanstack/react-router'
import { UsersRound } from 'lucide-react'
import { EmptyLine } from '../../../conditions/empty-line.tsx'
import type { Filter } from '../../../list/filters.ts'
import { ListPage } from '../../../list/list-page.tsx'
import { useList } from '../../../list/use-list.ts'
import { NamedContact } from '../../../people/named-address.tsx'
import { useProject } from '../../../projects/current.ts'
import { ListLink } from '../../../projects/record-page.tsx'
import { FirstRun } from '../../../ui/page/first-run.tsx'
import type { Column } from '../../../ui/table/data-table.tsx'
import { curl } from '../../../ui/text/curl.ts'
import { Status } from '../../../ui/text/status.tsx'
import { Time } from '../../../ui/text/time.tsx'
import { SegmentActions, SegmentRecord, SegmentTabs } from '../segment/segment-record.tsx'
import { AddMembers } from './add-members.tsx'
import { segmentMembersRequest } from './members-query.ts'
import { RemoveMembers } from './remove-members.tsx'

const NOUN = { one: 'member', many: 'members' }
const EXACT_UP_TO = 10_000
const FILTERS: Filter[] = [
  { name: 'subscribed', label: 'Subscription', kind: 'choice', options: { true: 'Subscribed', false: 'Unsubscribed' } },
]
const rowId = ({ id }: Contact) => id

export function MembersPage() {
  const { segmentId } = useParams({ from: '/app/p/$projectId/segments/$segmentId' })
  return <SegmentRecord id={segmentId}>{(segment) => <Members key={segment.id} segment={segment} />}</SegmentRecord>
}

/** The contacts of a segment: they match its condition now, or were added. */
function Members({ segment }: { segment: Segment }) {
  const project = useProject()
  const isStatic = segment.type === 'STATIC'
  const list = useList<Contact>({
    name: 'segment-members',
    scope: `${segment.id} ${segment.updatedAt}`,
    filters: FILTERS,
    load: (api, request) =>
      api.contacts.list({
        ...segmentMembersRequest(segment.id, request),
        limit: request.limit,
        ...(request.cursor && { cursor: request.cursor }),
      }),
    rowId,
    isEstimate: (total) => total >= EXACT_UP_TO,
  })
  return (
    <ListPage
      title={segment.name}
      parent={<ListLink kind="Segment" />}
      noun={NOUN}
      list={list}
      columns={COLUMNS}
      rowLabel={({ email }) => email}
      rowPath={({ id }) => `/app/p/${project.id}/contacts/${id}`}
      {...(isStatic && {
        bulk: (selection, count) => (
          <RemoveMembers
            segment={segment}
            selection={selection}
            count={count}
            request={list.request}
            rows={list.rows ?? []}
            onDone={list.setSelection}
          />
        ),
      })}
      searchHint="Search by address"
      defaultSort={{ sort: 'createdAt', dir: 'desc' }}
      byTime={list.request.sort !== 'email'}
      actions={
        <>
          <SegmentActions segment={segment} />
          {isStatic && <AddMembers segment={segment} />}
        </>
      }
      above={<SegmentTabs segment={segment} />}
      call={curl('GET', `/segments/${segment.id}/contacts?pageSize=${list.request.limit}`)}
      firstRun={
        isStatic ? (
          <FirstRun
            icon={UsersRound}
            title="No members yet"
            action={<AddMembers segment={segment} label="Add the first members" />}
            call={{
              title: 'Or by the API',
              code: curl('POST', `/segments/${segment.id}/members`, { body: { emails: ['ada@example.com'], createMissing: true } }),
            }}
          >
            Paste addresses or choose a file. You can also select contacts in their list, or copy recipients of a campaign.
          </FirstRun>
        ) : (
          <FirstRun icon={UsersRound} title="No contact matches">
            {segment.condition && <EmptyLine condition={segment.condition} />}
            Contacts that match later become members at once.
          </FirstRun>
        )
      }
    />
  )
}

const COLUMNS: Column<Contact>[] = [
  { id: 'email', heading: 'Contact', sort: 'email', cell: (contact) => <NamedContact contact={contact} /> },
  {
    id: 'subscribed',
    heading: 'Subscription',
    width: 'w-36',
    cell: ({ subscribed }) => <Status kind="contact" status={subscribed ? 'subscribed' : 'unsubscribed'} />,
  },
  {
    id: 'createdAt',
    heading: 'Created',
    sort: 'createdAt',
    firstDir: 'desc',
    width: 'w-32',
    cell: ({ createdAt }) => <Time value={createdAt} />,
  },
]
