import type { Result, Segment } from '@sterna/sdk'
import { Link, useParams } from '@tanstack/react-router'
import { History } from 'lucide-react'
import type { Filter } from '../../list/filters.ts'
import { ListPage } from '../../list/list-page.tsx'
import { useList } from '../../list/use-list.ts'
import { useProject } from '../../projects/current.ts'
import { buttonClass } from '../../ui/form/button.tsx'
import { FirstRun } from '../../ui/page/first-run.tsx'
import type { Column } from '../../ui/table/data-table.tsx'
import { curl } from '../../ui/text/curl.ts'
import { Time } from '../../ui/text/time.tsx'
import { SegmentActions, SegmentLink, SegmentRecord, SegmentTabs } from './segment/segment-record.tsx'
import { historyQuery } from './segments-list.ts'

type Change = Result<'GET /segments/{id}/history'>['data'][number]

const NOUN = { one: 'change', many: 'changes' }
const TYPES = { entry: 'Entered', exit: 'Left' }
const FILTERS: Filter[] = [
  { name: 'type', label: 'Change', kind: 'choice', options: TYPES },
  { name: 'when', label: 'When', kind: 'range' },
]
const rowId = ({ id }: Change) => id

export function HistoryPage() {
  const { segmentId } = useParams({ from: '/app/p/$projectId/segments/$segmentId/history' })
  return <SegmentRecord id={segmentId}>{(segment) => <Changes segment={segment} />}</SegmentRecord>
}

/** Entries and exits while the segment was tracked. */
function Changes({ segment }: { segment: Segment }) {
  const project = useProject()
  const list = useList<Change>({
    name: 'segment-history',
    scope: segment.id,
    filters: FILTERS,
    load: (api, request) => api.segments.history(segment.id, historyQuery(request)),
    rowId,
  })
  return (
    <ListPage
      title="History"
      parent={<SegmentLink segment={segment} />}
      noun={NOUN}
      list={list}
      columns={COLUMNS}
      rowLabel={({ contact, type }) => `${contact?.email ?? 'Deleted contact'} ${TYPES[type].toLowerCase()}`}
      rowPath={({ contact }) =>
        contact
          ? `/app/p/${project.id}/segments/${segment.id}/explain?contact=${contact.id}`
          : `/app/p/${project.id}/segments/${segment.id}/history`
      }
      actions={<SegmentActions segment={segment} />}
      above={<SegmentTabs segment={segment} />}
      call={curl('GET', `/segments/${segment.id}/history?limit=${list.request.limit}`)}
      firstRun={
        <FirstRun
          icon={History}
          title={segment.trackMembership ? 'No entries or exits yet' : 'Entries and exits are not tracked'}
          {...(!segment.trackMembership && { action: <TurnOn segment={segment} /> })}
        >
          {segment.trackMembership
            ? 'Every contact that enters or leaves from now on is listed here, within a second or, for time windows, a minute.'
            : 'Turn tracking on to record an event whenever a contact enters or leaves. Events can start workflows.'}
        </FirstRun>
      }
    />
  )
}

function TurnOn({ segment }: { segment: Segment }) {
  const project = useProject()
  return (
    <Link
      to="/app/p/$projectId/segments/$segmentId/settings"
      params={{ projectId: project.id, segmentId: segment.id }}
      className={buttonClass('primary', 'sm')}
    >
      Open the settings
    </Link>
  )
}

const COLUMNS: Column<Change>[] = [
  { id: 'contact', heading: 'Contact', cell: ({ contact }) => contact?.email ?? <span className="text-muted">Deleted contact</span> },
  { id: 'type', heading: 'Change', width: 'w-32', cell: ({ type }) => TYPES[type] },
  { id: 'at', heading: 'When', width: 'w-32', cell: ({ at }) => <Time value={at} /> },
]
