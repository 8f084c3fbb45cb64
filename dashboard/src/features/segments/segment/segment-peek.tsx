import type { Segment } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { ConditionSentence } from '../../../conditions/sentence/condition-sentence.tsx'
import { segmentQuery } from '../../../data/segments.ts'
import { useProject } from '../../../projects/current.ts'
import { RecordPeek } from '../../../projects/record-peek.tsx'
import { Fact, Facts } from '../../../ui/dialog/peek-panel.tsx'
import { CopyText } from '../../../ui/text/copy-field.tsx'
import { Count } from '../../../ui/text/count.tsx'
import { Time } from '../../../ui/text/time.tsx'
import { Usage } from './usage.tsx'

/** A look at a segment beside the list. */
export function SegmentPeek({ id, segment: known }: { id: string; segment: Segment | undefined }) {
  const project = useProject()
  const query = useQuery({ ...segmentQuery(project.id, id), ...(known && { initialData: known }) })
  return (
    <RecordPeek noun="segment" path={`/segments/${id}`} query={query}>
      {(segment) => (
        <>
          <Facts>
            <Fact label="Members">
              <Count value={segment.memberCount} about={segment.countEstimated} />
              {segment.countedAt && (
                <span className="text-muted">
                  , counted <Time value={segment.countedAt} />
                </span>
              )}
            </Fact>
            <Fact label="Who">
              {segment.condition ? <ConditionSentence condition={segment.condition} /> : 'Contacts that were added to it'}
            </Fact>
            {segment.description && <Fact label="Description">{segment.description}</Fact>}
            <Fact label="Tracked">{segment.trackMembership ? 'Entries and exits are recorded' : 'No'}</Fact>
            <Fact label="Id">
              <CopyText value={segment.id} label="Id" mono />
            </Fact>
          </Facts>
          <Usage segmentId={id} />
        </>
      )}
    </RecordPeek>
  )
}
