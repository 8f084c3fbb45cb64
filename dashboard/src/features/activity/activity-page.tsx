import type { Activity } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { ActivityIcon, Pause, Play } from 'lucide-react'
import { useState } from 'react'
import { upcomingQuery } from '../../data/activity.ts'
import { ACTIVITY_WORDS, describeUpcoming, isByMachine, pathOf, subjectOf } from '../../figures/activity.ts'
import { ActivityKind } from '../../figures/activity-kind.tsx'
import type { Filter } from '../../list/filters.ts'
import { ListPage } from '../../list/list-page.tsx'
import { useList } from '../../list/use-list.ts'
import { ContactLink } from '../../people/contact-link.tsx'
import { findByAddress } from '../../people/people.ts'
import { useProject } from '../../projects/current.ts'
import { Fact, Facts } from '../../ui/dialog/peek-panel.tsx'
import { Button, buttonClass } from '../../ui/form/button.tsx'
import { FirstRun } from '../../ui/page/first-run.tsx'
import { PathLink } from '../../ui/page/path-link.tsx'
import type { Column } from '../../ui/table/data-table.tsx'
import { CodeBlock, CopyText } from '../../ui/text/copy-field.tsx'
import { curl } from '../../ui/text/curl.ts'
import { Time } from '../../ui/text/time.tsx'
import { activityQuery } from './activity-query.ts'

const NOUN = { one: 'activity', many: 'activities' }
const LIVE_MS = 5_000
/** With a person or dates the server counts up to here. */
const EXACT_UP_TO = 10_000
const FILTERS: Filter[] = [
  { name: 'kind', label: 'Kind', kind: 'choices', options: ACTIVITY_WORDS },
  { name: 'person', label: 'Contact', kind: 'text', hint: 'ada@example.com' },
  { name: 'time', label: 'Time', kind: 'range' },
]
const rowId = ({ id }: Activity) => id

const COLUMNS: Column<Activity>[] = [
  {
    id: 'type',
    heading: 'What',
    cell: (activity) => (
      <span className="inline-flex min-w-0 items-center gap-2">
        <ActivityKind type={activity.type} />
        <span className="truncate">
          {ACTIVITY_WORDS[activity.type] ?? activity.type}
          {isByMachine(activity) && <span className="font-normal text-muted"> by a machine</span>}
        </span>
      </span>
    ),
  },
  {
    id: 'subject',
    heading: 'About',
    width: 'sm:w-[30%]',
    cell: (activity) => {
      const subject = subjectOf(activity)
      return <span title={subject}>{subject}</span>
    },
  },
  {
    id: 'contact',
    heading: 'Contact',
    width: 'sm:w-[24%]',
    cell: ({ contactId, contactEmail }) =>
      contactId && contactEmail ? <ContactLink contact={{ id: contactId, email: contactEmail }} /> : <span className="text-muted">–</span>,
  },
  { id: 'time', heading: 'Time', width: 'w-28', cell: ({ timestamp }) => <Time value={timestamp} /> },
]

/** Everything as it happens. */
export function ActivityPage() {
  const [isFollowing, setFollowing] = useState(true)
  const list = useList<Activity>({
    name: 'activity',
    filters: FILTERS,
    load: async (api, request) => {
      const { person } = request.filters
      const found = person ? await findByAddress(api, person) : undefined
      if (person && !found) return { data: [], total: 0, hasMore: false, cursor: null }
      return api.activity.list(activityQuery(request, found?.id))
    },
    rowId,
    ...(isFollowing && { live: LIVE_MS }),
    isEstimate: (total, { filters }) => total >= EXACT_UP_TO && (filters.person !== undefined || filters.time !== undefined),
  })
  return (
    <ListPage
      title="Activity"
      noun={NOUN}
      list={list}
      columns={COLUMNS}
      rowLabel={(activity) => [ACTIVITY_WORDS[activity.type], subjectOf(activity)].filter(Boolean).join(': ')}
      peek={(_, activity) =>
        activity ? <ActivityDetails activity={activity} /> : <p className="text-muted text-ui">This activity is not on this page.</p>
      }
      byTime
      actions={
        <Button size="sm" onClick={() => setFollowing(!isFollowing)}>
          {isFollowing ? <Pause aria-hidden="true" /> : <Play aria-hidden="true" />}
          {isFollowing ? 'Pause' : 'Follow'}
        </Button>
      }
      call={curl('GET', '/activity')}
      above={<Upcoming />}
      firstRun={
        <FirstRun icon={ActivityIcon} title="No activity yet">
          Emails, events, subscriptions, campaigns and workflows show up here as they happen.
        </FirstRun>
      }
    />
  )
}

/** Activities that are due next, pinned above the past ones. */
function Upcoming() {
  const project = useProject()
  const due = useQuery(upcomingQuery(project.id)).data
  if (!due?.length) return null
  return (
    <section aria-labelledby="upcoming" className="border-line border-b bg-surface px-4 py-2.5 sm:px-6 lg:px-8">
      <h2 id="upcoming" className="text-muted text-xs">
        Due next
      </h2>
      <ul className="mt-1 space-y-0.5 text-ui">
        {due.map((each) => {
          const path = pathOf(each)
          return (
            <li key={each.id} className="flex min-h-6 items-center gap-3">
              <span className="w-20 shrink-0 text-muted">
                <Time value={each.timestamp} />
              </span>
              {path ? (
                <PathLink
                  to={`/app/p/${project.id}${path}`}
                  className="min-w-0 truncate rounded-sm py-0.5 hover:text-accent hover:underline"
                >
                  {describeUpcoming(each)}
                </PathLink>
              ) : (
                <span className="min-w-0 truncate">{describeUpcoming(each)}</span>
              )}
            </li>
          )
        })}
      </ul>
    </section>
  )
}

function ActivityDetails({ activity }: { activity: Activity }) {
  const project = useProject()
  const path = pathOf(activity)
  return (
    <div className="space-y-4">
      {path && (
        <PathLink to={`/app/p/${project.id}${path}`} className={buttonClass('secondary', 'sm')}>
          Open it
        </PathLink>
      )}
      <Facts>
        <Fact label="What">{ACTIVITY_WORDS[activity.type] ?? activity.type}</Fact>
        {activity.contactId && activity.contactEmail && (
          <Fact label="Contact">
            <ContactLink contact={{ id: activity.contactId, email: activity.contactEmail }} />
          </Fact>
        )}
        <Fact label="Time">
          <Time value={activity.timestamp} />
        </Fact>
        <Fact label="Id">
          <CopyText value={activity.id} label="Id" mono />
        </Fact>
      </Facts>
      <CodeBlock title="Details" label="Data" code={JSON.stringify(activity.metadata, null, 2)} />
    </div>
  )
}
