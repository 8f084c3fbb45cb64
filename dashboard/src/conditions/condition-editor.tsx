import { type Condition, SternaError } from '@sterna/sdk'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { conditionPreviewQuery } from '../data/segments.ts'
import { useProject } from '../projects/current.ts'
import { Field } from '../ui/form/field.tsx'
import { TextArea } from '../ui/form/input.tsx'
import { useDebouncedValue } from '../ui/form/use-debounced-value.ts'
import { Banner } from '../ui/notice/banner.tsx'
import { explain } from '../ui/notice/explain.ts'
import { ViewTabs } from '../ui/page/view-tabs.tsx'
import { ConditionBuilder, type Problems } from './builder/condition-builder.tsx'
import { printCondition, readConditionText, readTreeText } from './builder/condition-text.ts'
import { filterPathIn, type Tree } from './builder/tree.ts'
import { useFieldCatalog } from './builder/use-catalog.ts'
import { Matches } from './matches.tsx'
import { ConditionSentence } from './sentence/condition-sentence.tsx'

const PREVIEW_AFTER_MS = 400
const VIEWS = { builder: 'Builder', json: 'JSON' }

type ConditionEditorProps = {
  /** JSON, as `printCondition` writes it; empty for a condition without lines. */
  text: string
  onText: (text: string) => void
  /** A segment that the condition cannot refer to: its own. */
  exceptSegment?: string
}

/** A condition, built by lines or written as JSON; beside it the people that match it now. */
export function ConditionEditor({ text, onText, exceptSegment }: ConditionEditorProps) {
  const [view, setView] = useState<keyof typeof VIEWS>('builder')
  const catalog = useFieldCatalog({ exceptSegment })
  const { read, setTree } = useTree(text, onText)
  const complete = readConditionText(text)
  const { aside, refusal } = useMatches(text)
  const problem = 'problem' in read ? read.problem : refusal?.general
  return (
    <div className="grid grid-cols-1 gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
      <div className="min-w-0 space-y-3">
        <ViewTabs label="Ways to edit the condition" tabs={VIEWS} chosen={view} onChoose={setView}>
          {view === 'json' ? (
            <JsonView text={text} onText={onText} invalid={'problem' in complete || refusal !== undefined} />
          ) : (
            'tree' in read && (
              <ConditionBuilder tree={read.tree} onTree={setTree} catalog={catalog} {...(refusal && { problems: refusal.byFilter })} />
            )
          )}
        </ViewTabs>
        {(problem ?? (view === 'json' && 'problem' in complete && complete.problem)) && (
          <Banner tone="danger">{problem ?? ('problem' in complete && complete.problem)}</Banner>
        )}
        {'condition' in complete && !refusal && (
          <p className="text-ui">
            <span className="text-muted">In words:</span> {/* The server has checked it. */}
            <ConditionSentence condition={complete.condition as Condition} />.
          </p>
        )}
      </div>
      {aside}
    </div>
  )
}

/** The tree of a text. Its parts stay the same objects while it is edited here, so that only the rows that changed are rendered. */
function useTree(text: string, onText: (text: string) => void) {
  const last = useRef({ text, read: readTreeText(text) })
  if (last.current.text !== text) last.current = { text, read: readTreeText(text) }
  function setTree(tree: Tree) {
    const printed = printCondition(tree)
    last.current = { text: printed, read: { tree } }
    onText(printed)
  }
  return { read: last.current.read, setTree }
}

type Refusal = { byFilter: Problems; general: string | undefined }

/** Debounced preview of matches and validation errors. */
function useMatches(text: string) {
  const project = useProject()
  const settled = useDebouncedValue(text, PREVIEW_AFTER_MS)
  const asked = readConditionText(settled)
  const preview = useQuery({
    ...conditionPreviewQuery(project.id, 'condition' in asked ? asked.condition : undefined),
    placeholderData: keepPreviousData,
  })
  const refusal = preview.error && settled === text ? refusalOf(preview.error) : undefined
  const aside = (
    <aside
      aria-label="Who matches"
      className="min-w-0 rounded-lg border border-line p-3 text-ui lg:sticky lg:top-18 lg:self-start"
      aria-busy={preview.isFetching}
    >
      {preview.data && !refusal && 'condition' in asked ? (
        <Matches preview={preview.data} condition={asked.condition} />
      ) : (
        <p className="text-muted">{text ? 'Who matches is shown here once every line is complete.' : 'Who matches is shown here.'}</p>
      )}
    </aside>
  )
  return { aside, refusal }
}

/** Errors of a condition name their places, such as `condition.groups.0.filters.1.value`. Errors without a line are general. */
function refusalOf(error: Error): Refusal {
  const issues = error instanceof SternaError ? error.errors : []
  const byFilter = new Map<string, string>()
  const others: string[] = []
  for (const { field, message } of issues) {
    const path = filterPathIn(field)
    if (path) byFilter.set(path, message)
    else others.push(`${field}: ${message}`)
  }
  return { byFilter, general: issues.length === 0 ? explain(error) : others.join(' ') || undefined }
}

function JsonView({ text, onText, invalid }: { text: string; onText: (text: string) => void; invalid: boolean }) {
  return (
    <Field
      name="condition"
      label="Condition"
      hint={
        <>
          JSON: groups of filters, joined by <code className="font-mono">logic</code>; within a group every filter must hold.
        </>
      }
    >
      <TextArea
        rows={12}
        spellCheck={false}
        className="font-mono"
        value={text}
        aria-invalid={invalid || undefined}
        onChange={(event) => onText(event.target.value)}
      />
    </Field>
  )
}
