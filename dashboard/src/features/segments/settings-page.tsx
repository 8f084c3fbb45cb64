import type { Segment } from '@sterna/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { ConditionEditor } from '../../conditions/condition-editor.tsx'
import { segmentQuery, storeSegment } from '../../data/segments.ts'
import { EditorFrame } from '../../editor/editor-frame.tsx'
import { type Draft, useDraft } from '../../editor/use-draft.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { Card } from '../../ui/page/card.tsx'
import { CopyText } from '../../ui/text/copy-field.tsx'
import { NameFields } from './name-fields.tsx'
import { SegmentActions, SegmentLink, SegmentRecord, SegmentTabs } from './segment/segment-record.tsx'
import { Usage } from './segment/usage.tsx'
import { type SegmentValues, segmentChangesOf, segmentConsequenceOf, segmentProblemOf, segmentValuesOf } from './segment-values.ts'

const savedOf = (segment: Segment) => ({ values: segmentValuesOf(segment), revision: segment.updatedAt })

export function SegmentSettingsPage() {
  const { segmentId } = useParams({ from: '/app/p/$projectId/segments/$segmentId/settings' })
  return <SegmentRecord id={segmentId}>{(segment) => <SegmentEditor key={segment.id} segment={segment} />}</SegmentRecord>
}

function SegmentEditor({ segment }: { segment: Segment }) {
  const draft = useSegmentDraft(segment)
  const isStatic = segment.type === 'STATIC'
  const problem = segmentProblemOf(draft.values, isStatic)
  const consequence = segmentConsequenceOf(segmentValuesOf(segment), draft.values)
  return (
    <EditorFrame
      title={isStatic ? 'Settings' : 'Condition'}
      parent={<SegmentLink segment={segment} />}
      draft={draft}
      consequence={consequence}
      {...(problem && { problem })}
      actions={<SegmentActions segment={segment} />}
    >
      <SegmentTabs segment={segment} withSentence={false} />
      <div className="max-w-[1440px] space-y-4 px-4 py-6 sm:px-6 lg:px-8">
        {draft.isDirty && <p className="text-muted text-ui">{consequence}</p>}
        {!isStatic && (
          <Card title="Who is in it">
            <ConditionEditor text={draft.values.condition} onText={(condition) => draft.set({ condition })} exceptSegment={segment.id} />
          </Card>
        )}
        <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-2">
          <Card title="Settings">
            <div className="space-y-3">
              <NameFields draft={draft} />
              <Tracking segment={segment} draft={draft} />
            </div>
          </Card>
          <Card title="Used by">
            <Usage segmentId={segment.id} />
          </Card>
        </div>
      </div>
    </EditorFrame>
  )
}

function Tracking({ segment, draft }: { segment: Segment; draft: Draft<SegmentValues> }) {
  const { trackMembership } = draft.values
  return (
    <div className="space-y-2 rounded-lg border border-line p-3 text-ui">
      <label className="flex gap-2">
        <input
          type="checkbox"
          checked={trackMembership}
          onChange={() => draft.set({ trackMembership: !trackMembership })}
          className="mt-0.5 size-4 shrink-0 accent-accent"
        />
        <span>
          <span className="font-medium">Track entries and exits</span>
          <span className="block text-muted">Records an event whenever a contact enters or leaves. Events can start workflows.</span>
        </span>
      </label>
      <p className="flex min-w-0 flex-col gap-0.5 pl-6 text-muted">
        <CopyText value={`segment.${segment.slug}.entry`} label="Event name" mono />
        <CopyText value={`segment.${segment.slug}.exit`} label="Event name" mono />
      </p>
    </div>
  )
}

function useSegmentDraft(segment: Segment) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const query = segmentQuery(project.id, segment.id)
  return useDraft<SegmentValues>({
    name: `segment/${segment.id}`,
    saved: savedOf(segment),
    save: async (values, revision) => {
      const changed = await api.segments.update(segment.id, segmentChangesOf(segmentValuesOf(segment), values), { ifMatch: revision })
      await storeSegment(queries, project.id, changed)
      return savedOf(changed)
    },
    reload: async () => savedOf(await queries.fetchQuery({ ...query, staleTime: 0 })),
  })
}
