import type { Workflow } from '@sterna/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Redo2, Undo2 } from 'lucide-react'
import { useEffect, useState } from 'react'
import { executionCountQuery, storeWorkflow, workflowQuery, workflowStatsQuery, workflowVersionQuery } from '../../../data/workflows.ts'
import { EditorFrame } from '../../../editor/editor-frame.tsx'
import { useDraft } from '../../../editor/use-draft.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { ListLink } from '../../../projects/record-page.tsx'
import { IconButton } from '../../../ui/form/button.tsx'
import { showKeys } from '../../../ui/shortcuts/shortcuts.ts'
import { countOf } from '../../../ui/text/count.tsx'
import { DifferenceCanvas } from '../canvas/difference-canvas.tsx'
import { positioned } from '../canvas/layout/positioned.ts'
import { type Graph, graphOf } from '../graph/graph.ts'
import { InvalidInputs } from '../steps/fields/invalid-inputs.ts'
import { WorkflowActions, WorkflowTabs } from '../workflow/workflow-header.tsx'
import { BuildCanvas } from './build-canvas.tsx'
import { StepList } from './step-list.tsx'
import { type Editing, EditingProvider, useEditing } from './use-editing.ts'
import { useStepView, ViewSwitch } from './view-switch.tsx'

const PROBLEMS = { one: 'step is not complete', many: 'steps are not complete' }

/** A change of settings is no change of the steps: the revision is the version of the graph. */
const savedOf = (workflow: Workflow) => ({ values: graphOf(workflow), revision: String(workflow.version) })

export function StepsEditor({ workflow }: { workflow: Workflow }) {
  const project = useProject()
  const draft = useGraphDraft(workflow)
  const editing = useEditing(workflow, draft)
  const view = useStepView()
  useRestoring(workflow, editing)
  const [invalid, setInvalid] = useState<ReadonlySet<string>>(new Set())
  const stats = useQuery(workflowStatsQuery(project.id, workflow.id)).data
  const waiting = useQuery(executionCountQuery(project.id, workflow.id, ['WAITING'])).data ?? 0
  const { problems, undo, redo, canUndo, canRedo } = editing
  const problem = problems.size > 0 ? countOf(problems.size, PROBLEMS) : invalid.size > 0 ? 'a field has no valid value yet' : undefined
  const consequence = consequenceOf(workflow, waiting)
  return (
    <InvalidInputs value={(id, isInvalid) => setInvalid((current) => withMember(current, id, isInvalid))}>
      <EditingProvider value={editing}>
        <div className={view === 'canvas' ? 'flex h-[calc(100dvh-3rem)] flex-col lg:h-dvh' : ''}>
          <EditorFrame
            title={workflow.name}
            parent={<ListLink kind="Workflow" />}
            draft={draft}
            consequence={consequence}
            within={`/app/p/${project.id}/workflows/${workflow.id}`}
            {...(problem && { problem })}
            actions={
              <>
                <ViewSwitch />
                <IconButton label="Undo" hint={showKeys('mod+z')} className="max-sm:hidden" disabled={!canUndo} onClick={undo}>
                  <Undo2 />
                </IconButton>
                <IconButton label="Redo" hint={showKeys('mod+y')} className="max-sm:hidden" disabled={!canRedo} onClick={redo}>
                  <Redo2 />
                </IconButton>
                <WorkflowActions
                  workflow={workflow}
                  onDeleted={draft.discard}
                  {...(draft.isDirty && { refusal: 'Save the steps first' })}
                />
              </>
            }
          >
            <WorkflowTabs id={workflow.id} />
            {draft.isDirty && <p className="border-line border-b px-4 py-2 text-muted text-ui sm:px-6 lg:px-8">{consequence}</p>}
            {draft.theirs && view === 'canvas' ? (
              <DifferenceCanvas
                workflow={workflow}
                before={draft.theirs}
                after={draft.values}
                caption="Your steps beside those that somebody else has saved: added by you, changed, or only in theirs."
              />
            ) : view === 'canvas' ? (
              <BuildCanvas />
            ) : (
              <StepList stats={stats} />
            )}
          </EditorFrame>
        </div>
      </EditingProvider>
    </InvalidInputs>
  )
}

/** A link in the list of versions loads the steps of an older one, which are then saved, or undone, like any other change. */
function useRestoring(workflow: Workflow, { restore: put }: Pick<Editing, 'restore'>) {
  const project = useProject()
  const navigate = useNavigate()
  const { restore } = useSearch({ from: '/app/p/$projectId/workflows/$workflowId' })
  const old = useQuery({ ...workflowVersionQuery(project.id, workflow.id, restore ?? 0), enabled: restore !== undefined }).data
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each version that is asked for
  useEffect(() => {
    if (!old || restore === undefined) return
    put(graphOf(old))
    void navigate({ to: '.', search: {} as never, replace: true })
  }, [old, restore])
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
      const graph = positioned({ steps, transitions })
      const changed = await api.workflows.updateGraph(workflow.id, { ...graph, version: Number(revision) })
      await storeWorkflow(queries, project.id, changed)
      return savedOf(changed)
    },
    reload: async () => savedOf(await queries.fetchQuery({ ...query, staleTime: 0 })),
  })
}
