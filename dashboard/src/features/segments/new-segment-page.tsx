import { useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { printCondition, readTreeText } from '../../conditions/builder/condition-text.ts'
import { ConditionEditor } from '../../conditions/condition-editor.tsx'
import { CONDITION_EXAMPLES } from '../../conditions/examples.ts'
import { storeSegment } from '../../data/segments.ts'
import { EditorFrame } from '../../editor/editor-frame.tsx'
import { useDraft } from '../../editor/use-draft.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { ListLink } from '../../projects/record-page.tsx'
import { Card } from '../../ui/page/card.tsx'
import { NameFields } from './name-fields.tsx'
import { BLANK_SEGMENT, newSegmentOf, type SegmentValues, segmentProblemOf } from './segment-values.ts'

const ROUTE = '/app/p/$projectId/segments/new'
const NOTHING_SAVED = { values: BLANK_SEGMENT, revision: '' }

/** A segment with a condition, before it exists. */
export function NewSegmentPage() {
  const draft = useNewSegment()
  const problem = segmentProblemOf(draft.values, false)
  return (
    <EditorFrame
      title="New segment"
      parent={<ListLink kind="Segment" />}
      draft={draft}
      saveLabel="Create segment"
      consequence="The segment has everyone who matches, now and later."
      {...(problem && { problem })}
    >
      <div className="max-w-[1440px] space-y-4 px-4 py-6 sm:px-6 lg:px-8">
        <Card title="Who is in it">
          <ConditionEditor text={draft.values.condition} onText={(condition) => draft.set({ condition })} />
        </Card>
        <Card title="Settings">
          <div className="max-w-2xl space-y-3">
            <NameFields draft={draft} />
          </div>
        </Card>
      </div>
    </EditorFrame>
  )
}

function useNewSegment() {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { name = '', ...beginning } = useSearch({ from: ROUTE })
  const [createdId, setCreatedId] = useState<string>()
  const draft = useDraft<SegmentValues>({
    name: 'segment/new',
    saved: NOTHING_SAVED,
    save: async (values) => {
      const created = await api.segments.create(newSegmentOf(values))
      await storeSegment(queries, project.id, created)
      setCreatedId(created.id)
      return { values, revision: created.updatedAt }
    },
    reload: async () => NOTHING_SAVED,
  })
  // Once nothing is left to save: a draft that is left unsaved is kept for the next new segment.
  const isDone = createdId !== undefined && !draft.isDirty
  // biome-ignore lint/correctness/useExhaustiveDependencies: happens once
  useEffect(() => {
    if (isDone)
      void navigate({ to: '/app/p/$projectId/segments/$segmentId', params: { projectId: project.id, segmentId: createdId }, replace: true })
  }, [isDone])
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was chosen before this page is its beginning only
  useEffect(() => {
    const condition = conditionText(beginning)
    if (name || condition) draft.set({ ...(name && { name }), ...(condition && { condition }) })
  }, [])
  return draft
}

/** An example, or the filters of another page. A text that is no condition is ignored: anyone can edit a URL. */
function conditionText({ example, condition = '' }: { example?: string; condition?: string }): string {
  const read = readTreeText(condition)
  return printCondition(CONDITION_EXAMPLES.find(({ id }) => id === example)?.condition ?? ('tree' in read ? read.tree : undefined))
}
