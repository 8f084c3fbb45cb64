import type { Segment } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { Shapes } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { ConditionSentence } from '../../../conditions/sentence/condition-sentence.tsx'
import { segmentQuery } from '../../../data/segments.ts'
import { useProject } from '../../../projects/current.ts'
import { RecordPage } from '../../../projects/record-page.tsx'
import { MoreActions } from '../../../ui/dialog/menu.tsx'
import { LinkTabs } from '../../../ui/page/link-tabs.tsx'
import { DeleteSegment, SegmentMenu } from './segment-menu.tsx'

const MISSING = { icon: Shapes, reason: 'It was deleted, or the link is wrong.' }

/** The segment of a page, or why there is none. */
export function SegmentRecord({ id, children }: { id: string; children: (segment: Segment) => ReactNode }) {
  const project = useProject()
  const query = useQuery(segmentQuery(project.id, id))
  return (
    <RecordPage kind="Segment" id={id} query={query} labelOf={({ name }) => name} missing={MISSING}>
      {children}
    </RecordPage>
  )
}

/** The pages of a segment, and below them its condition. */
export function SegmentTabs({ segment, withSentence = true }: { segment: Segment; withSentence?: boolean }) {
  const project = useProject()
  const base = `/app/p/${project.id}/segments/${segment.id}`
  return (
    <>
      <LinkTabs
        label="Segment"
        tabs={[
          { path: base, label: 'Members' },
          { path: `${base}/settings`, label: segment.type === 'STATIC' ? 'Settings' : 'Condition' },
          { path: `${base}/explain`, label: 'Check someone' },
          { path: `${base}/history`, label: 'History' },
        ]}
      />
      {withSentence && segment.condition && (
        <p className="max-w-[1440px] px-4 pt-3 text-ui sm:px-6 lg:px-8">
          <span className="text-muted">Who: </span>
          <ConditionSentence condition={segment.condition} />
        </p>
      )}
    </>
  )
}

/** The link to the members, before the title of another page of the segment. */
export function SegmentLink({ segment }: { segment: Segment }) {
  const project = useProject()
  return (
    <Link
      to="/app/p/$projectId/segments/$segmentId"
      params={{ projectId: project.id, segmentId: segment.id }}
      className="inline-block max-w-[9ch] truncate rounded-sm align-bottom hover:text-ink hover:underline sm:max-w-[32ch]"
      title={segment.name}
    >
      {segment.name}
    </Link>
  )
}

export function SegmentActions({ segment }: { segment: Segment }) {
  const project = useProject()
  const navigate = useNavigate()
  const [deleting, setDeleting] = useState(false)
  return (
    <>
      <MoreActions>
        <SegmentMenu segment={segment} onDelete={() => setDeleting(true)} />
      </MoreActions>
      {deleting && (
        <DeleteSegment
          segment={segment}
          onClose={() => setDeleting(false)}
          onDeleted={() => navigate({ to: '/app/p/$projectId/segments', params: { projectId: project.id }, ignoreBlocker: true })}
        />
      )}
    </>
  )
}
