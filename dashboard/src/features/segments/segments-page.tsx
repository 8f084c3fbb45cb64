import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Shapes } from 'lucide-react'
import { useState } from 'react'
import { CONDITION_EXAMPLES } from '../../conditions/examples.ts'
import { segmentsQuery, segmentUseCountsQuery } from '../../data/segments.ts'
import { periodOf } from '../../figures/period.ts'
import { type Filter, writeRange } from '../../list/filters.ts'
import { ListPage } from '../../list/list-page.tsx'
import { useList } from '../../list/use-list.ts'
import { useProject } from '../../projects/current.ts'
import { FirstRun } from '../../ui/page/first-run.tsx'
import type { Column } from '../../ui/table/data-table.tsx'
import { Count } from '../../ui/text/count.tsx'
import { curl } from '../../ui/text/curl.ts'
import { Time } from '../../ui/text/time.tsx'
import { NewSegment } from './new-segment.tsx'
import { DeleteSegment, SegmentMenu } from './segment/segment-menu.tsx'
import { SegmentPeek } from './segment/segment-peek.tsx'
import { pageOfSegments, recentChanges, type SegmentRow, usedBy } from './segments-list.ts'

const NOUN = { one: 'segment', many: 'segments' }
export const SEGMENT_KINDS = { DYNAMIC: 'By a condition', STATIC: 'Static' }
const FILTERS: Filter[] = [
  { name: 'kind', label: 'Kind', kind: 'choice', options: SEGMENT_KINDS },
  { name: 'tracked', label: 'Entries and exits', kind: 'choice', options: { true: 'Tracked', false: 'Not tracked' } },
  { name: 'used', label: 'Use', kind: 'choice', options: { true: 'Used', false: 'Unused' } },
]
const rowId = ({ id }: SegmentRow) => id

export function SegmentsPage() {
  const project = useProject()
  const [deleting, setDeleting] = useState<SegmentRow>()
  const queries = useQueryClient()
  const list = useList<SegmentRow>({
    name: 'segments',
    filters: FILTERS,
    load: async (_, request) => {
      const [all, uses] = await Promise.all([
        queries.fetchQuery(segmentsQuery(project.id)),
        // Segments are listed even if their uses cannot be read.
        queries.fetchQuery(segmentUseCountsQuery(project.id)).catch(() => undefined),
      ])
      return pageOfSegments(
        all.map((segment) => ({ ...segment, uses: uses?.get(segment.id) })),
        request,
      )
    },
    rowId,
  })
  return (
    <>
      <ListPage
        title="Segments"
        noun={NOUN}
        list={list}
        columns={COLUMNS}
        rowLabel={({ name }) => name}
        rowPath={({ id }) => `/app/p/${project.id}/segments/${id}`}
        peek={(id, segment) => <SegmentPeek key={id} id={id} segment={segment} />}
        rowMenu={(segment) => <SegmentMenu segment={segment} onDelete={() => setDeleting(segment)} />}
        searchHint="Search by name"
        defaultSort={{ sort: 'createdAt', dir: 'desc' }}
        byTime={false}
        actions={<NewSegment />}
        call={curl('GET', '/segments')}
        firstRun={
          <FirstRun
            icon={Shapes}
            title="No segments yet"
            action={<NewSegment label="Make your first segment" />}
            call={{
              title: 'Or by the API',
              code: curl('POST', '/segments', { body: { name: CONDITION_EXAMPLES[0]!.name, condition: CONDITION_EXAMPLES[0]!.condition } }),
            }}
          >
            Save a question about your people, such as “opened nothing for 90 days”. Contacts that match are its members, at any moment. Six
            to begin with: {CONDITION_EXAMPLES.map(({ name }) => name.charAt(0).toLowerCase() + name.slice(1)).join('; ')}.
          </FirstRun>
        }
      />
      {deleting && <DeleteSegment segment={deleting} onClose={() => setDeleting(undefined)} />}
    </>
  )
}

const COLUMNS: Column<SegmentRow>[] = [
  { id: 'name', heading: 'Name', sort: 'name', cell: ({ name }) => <span title={name}>{name}</span> },
  { id: 'kind', heading: 'Kind', width: 'w-36', cell: ({ type }) => SEGMENT_KINDS[type] },
  {
    id: 'members',
    heading: 'Members',
    sort: 'members',
    firstDir: 'desc',
    width: 'w-32',
    numeric: true,
    cell: ({ memberCount, countEstimated, countedAt }) => (
      <>
        <Count value={memberCount} about={countEstimated} {...(countedAt && { asOf: countedAt })} />
        <span className="sm:hidden"> members</span>
      </>
    ),
  },
  {
    id: 'change',
    heading: 'In 7 days',
    width: 'w-28',
    from: 'lg',
    numeric: true,
    cell: (segment) => <Changes segment={segment} />,
  },
  { id: 'usedBy', heading: 'Used by', width: 'w-48', from: 'md', cell: ({ uses }) => <span title={usedBy(uses)}>{usedBy(uses)}</span> },
  {
    id: 'updatedAt',
    heading: 'Last edited',
    sort: 'updatedAt',
    firstDir: 'desc',
    width: 'w-32',
    from: 'sm',
    cell: ({ updatedAt }) => <Time value={updatedAt} />,
  },
]

/** Days of the changes, today included. The server counts them by UTC days. */
const DAYS = 7

/** Entries and exits; each number opens its list. */
function Changes({ segment: { id, uses } }: { segment: SegmentRow }) {
  const project = useProject()
  const changes = recentChanges(uses)
  if (!changes) return <span className="text-muted">Not tracked</span>
  if (changes.length === 0) return 'No change'
  const { from } = periodOf(DAYS, 'UTC', Date.now())
  return (
    <span className="inline-flex gap-x-1.5">
      {changes.map(({ type, text, label }) => (
        <Link
          key={type}
          to="/app/p/$projectId/segments/$segmentId/history"
          params={{ projectId: project.id, segmentId: id }}
          search={{ type, when: writeRange({ from }) }}
          aria-label={label}
          className="relative z-10 rounded-sm hover:text-accent hover:underline hover:underline-offset-4"
        >
          {text}
        </Link>
      ))}
    </span>
  )
}
