import type { Workflow } from '@sterna/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Redo2, Undo2 } from 'lucide-react'
import { useMemo, useState } from 'react'
import { executionCountQuery, storeWorkflow, workflowQuery, workflowStatsQuery } from '../../../data/workflows.ts'
import { EditorFrame } from '../../../editor/editor-frame.tsx'
import { type Draft, useDraft } from '../../../editor/use-draft.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { ListLink } from '../../../projects/record-page.tsx'
import { IconButton } from '../../../ui/form/button.tsx'
import { showKeys, useShortcuts } from '../../../ui/shortcuts/shortcuts.ts'
import { countOf } from '../../../ui/text/count.tsx'
import { fieldIssues } from '../../../ui/text/explain.ts'
import { problemsOf } from '../commands/problems.ts'
import { WorkflowActions, WorkflowTabs } from '../workflow-header.tsx'
import type { Graph } from './graph.ts'
import { graphOf } from './graph.ts'
import { InvalidInputs } from './invalid-inputs.ts'
import { issuesByStep } from './step-issues.ts'
import { StepList } from './step-list.tsx'

const ROUTE = '/app/p/$projectId/workflows/$workflowId'
const PROBLEMS = { one: 'step is not complete', many: 'steps are not complete' }

/** A change of settings is no change of the steps: the revision is the version of the graph. */
const savedOf = (workflow: Workflow) => ({ values: graphOf(workflow), revision: String(workflow.version) })

export function StepsEditor({ workflow }: { workflow: Workflow }) {
  const project = useProject()
  const navigate = useNavigate()
  const { step: chosen } = useSearch({ from: ROUTE })
  const draft = useGraphDraft(workflow)
  const history = useHistory(draft)
  const [invalid, setInvalid] = useState<ReadonlySet<string>>(new Set())
  const stats = useQuery(workflowStatsQuery(project.id, workflow.id)).data
  const waiting = useQuery(executionCountQuery(project.id, workflow.id, ['WAITING'])).data ?? 0
  const problems = useMemo(() => problemsOf(draft.values), [draft.values])
  const refused = useMemo(() => issuesByStep(draft.error ? fieldIssues(draft.error) : [], draft.values), [draft.error, draft.values])
  const problem = problems.size > 0 ? countOf(problems.size, PROBLEMS) : invalid.size > 0 ? 'a field holds no valid JSON' : undefined
  return (
    <InvalidInputs value={(id, isInvalid) => setInvalid((current) => withMember(current, id, isInvalid))}>
      <EditorFrame
        title={workflow.name}
        parent={<ListLink kind="Workflow" />}
        draft={draft}
        consequence={consequenceOf(workflow, waiting)}
        {...(problem && { problem })}
        actions={
          <>
            <IconButton label="Undo" hint={showKeys('mod+z')} className="max-sm:hidden" disabled={!history.canUndo} onClick={history.undo}>
              <Undo2 />
            </IconButton>
            <IconButton label="Redo" className="max-sm:hidden" disabled={!history.canRedo} onClick={history.redo}>
              <Redo2 />
            </IconButton>
            <WorkflowActions workflow={workflow} onDeleted={draft.discard} {...(draft.isDirty && { refusal: 'Save the steps first' })} />
          </>
        }
      >
        <WorkflowTabs id={workflow.id} />
        <StepList
          workflow={workflow}
          graph={draft.values}
          onChange={history.change}
          stats={stats}
          problems={problems}
          refused={refused}
          chosen={chosen}
          onChoose={(step) => navigate({ to: '.', search: (step ? { step } : {}) as never, replace: true, resetScroll: false })}
          note={draft.isDirty ? consequenceOf(workflow, waiting) : undefined}
        />
      </EditorFrame>
    </InvalidInputs>
  )
}

const withMember = (set: ReadonlySet<string>, id: string, isIn: boolean): ReadonlySet<string> => {
  if (set.has(id) === isIn) return set
  return isIn ? new Set([...set, id]) : new Set([...set].filter((each) => each !== id))
}

const CONTACTS = { one: 'contact that is in it keeps', many: 'contacts that are in it keep' }

function consequenceOf({ version, enabled }: Workflow, waiting: number): string {
  const rest = waiting > 0 ? ` ${countOf(waiting, CONTACTS)} version ${version}.` : ''
  return `Saving makes version ${version + 1}${enabled ? ', for contacts who enter from then on' : ''}.${rest}`
}

function useGraphDraft(workflow: Workflow) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const query = workflowQuery(project.id, workflow.id)
  return useDraft<Graph>({
    name: `workflow/${workflow.id}/steps`,
    saved: savedOf(workflow),
    save: async ({ steps, transitions }, revision) => {
      const changed = await api.workflows.updateGraph(workflow.id, { steps, transitions, version: Number(revision) })
      await storeWorkflow(queries, project.id, changed)
      return savedOf(changed)
    },
    reload: async () => savedOf(await queries.fetchQuery({ ...query, staleTime: 0 })),
  })
}

const MAX_UNDO = 100
/** Typing in one field is one step back. */
const COALESCE_MS = 1_000

type Past = { graph: Graph; what: string; at: number }

/** Undo and redo. Snapshots share most of their structure. `what` names the field that is typed into. */
function useHistory(draft: Draft<Graph>) {
  const [past, setPast] = useState<Past[]>([])
  const [future, setFuture] = useState<Graph[]>([])
  function change(graph: Graph, what = '') {
    const now = Date.now()
    const last = past.at(-1)
    const isTyping = what !== '' && last?.what === what && now - last.at < COALESCE_MS
    setPast(isTyping ? [...past.slice(0, -1), { ...last, at: now }] : [...past.slice(1 - MAX_UNDO), { graph: draft.values, what, at: now }])
    setFuture([])
    draft.set(graph)
  }
  function undo() {
    const last = past.at(-1)
    if (!last) return false
    setPast(past.slice(0, -1))
    setFuture([...future, draft.values])
    draft.set(last.graph)
  }
  function redo() {
    const next = future.at(-1)
    if (!next) return
    setFuture(future.slice(0, -1))
    setPast([...past, { graph: draft.values, what: '', at: 0 }])
    draft.set(next)
  }
  useShortcuts([
    {
      keys: 'mod+z',
      label: 'Undo',
      group: 'Editor',
      // In a text field it undoes typing.
      run: (event) => (isTextField(event.target) ? false : event.shiftKey ? redo() : undo()),
    },
  ])
  return { change, undo, redo, canUndo: past.length > 0, canRedo: future.length > 0 }
}

const isTextField = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.matches('input:not([type=checkbox],[type=radio]), textarea')
