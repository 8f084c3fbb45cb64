import type { Workflow } from '@sterna/sdk'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { createContext, useContext, useMemo, useState } from 'react'
import type { Draft } from '../../../editor/use-draft.ts'
import { useProject } from '../../../projects/current.ts'
import { toast } from '../../../ui/dialog/toast.tsx'
import { fieldIssues } from '../../../ui/notice/explain.ts'
import { useShortcuts } from '../../../ui/shortcuts/shortcuts.ts'
import { applyCommand, type Command } from '../commands/commands.ts'
import { type Extent, fragmentOf } from '../commands/fragment.ts'
import { NO_HISTORY, recordChange, redoChange, undoChange } from '../commands/history.ts'
import { type Graph, newId, type Place, type Step, stepById } from '../graph/graph.ts'
import { issuesByStep } from '../graph/step-issues.ts'
import { type StepTexts, useTextsOf } from '../steps/step-texts.ts'
import { STEP_VIEWS } from '../steps/views.ts'
import { readCopied, writeCopied } from './clipboard.ts'
import { problemsOf, warningsOf } from './problems.ts'

/** A removal that waits for a confirmation, or a move that waits for its place. */
export type Pending = { do: 'remove' | 'move'; stepId: string; extent: Extent }

const ROUTE = '/app/p/$projectId/workflows/$workflowId'

/** The steps of a workflow while they are edited: what both the canvas and the list show and do. */
export function useEditing(workflow: Workflow, draft: Draft<Graph>) {
  const project = useProject()
  const navigate = useNavigate()
  const { step } = useSearch({ from: ROUTE })
  const graph = draft.values
  const { change, undo, redo, canUndo, canRedo } = useHistory(draft)
  const [pending, setPending] = useState<Pending>()
  const [addedId, setAddedId] = useState<string>()
  const problems = useMemo(() => problemsOf(graph), [graph])
  const warnings = useMemo(
    () => new Map([...serverWarnings(workflow, draft.isDirty), ...warningsOf(graph)]),
    [workflow, draft.isDirty, graph],
  )
  const refused = useMemo(() => issuesByStep(draft.error ? fieldIssues(draft.error) : [], graph), [draft.error, graph])

  const choose = (stepId: string | undefined) =>
    void navigate({
      to: '.',
      search: ((before: object) => ({ ...before, step: stepId })) as never,
      replace: true,
      resetScroll: false,
    })
  function run(command: Command, what = '') {
    setPending(undefined)
    const next = applyCommand(graph, command)
    if (next !== graph) change(next, what)
    return next !== graph
  }
  function add(place: Place, { type, config }: Pick<Step, 'type' | 'config'>) {
    const added = { id: newId(), type, name: STEP_VIEWS[type].word, position: { x: 0, y: 0 }, config }
    if (!run({ do: 'insert', place, step: added })) return
    setAddedId(added.id)
    choose(added.id)
  }
  function remove({ stepId, extent }: Omit<Pending, 'do'>) {
    const before = graph.transitions.find(({ toStepId }) => toStepId === stepId)?.fromStepId
    if (run({ do: 'remove', stepId, extent })) choose(before)
  }
  function paste(place: Place) {
    const fragment = readCopied(project.id)
    if (!fragment) return
    if (run({ do: 'paste', place, fragment })) choose(fragment.entry)
    else toast('Nothing can follow these steps: paste them where a branch ends.')
  }
  return {
    workflow,
    graph,
    chosen: stepById(graph, step),
    choose,
    /** The step that was added last. */
    addedId,
    run,
    /** Puts the steps of another version in place of these. */
    restore: (restored: Graph) => change(restored, ''),
    add,
    remove,
    paste,
    copy: (stepId: string, extent: Extent) => writeCopied(project.id, fragmentOf(graph, stepId, extent)),
    pending: pending && stepById(graph, pending.stepId) ? pending : undefined,
    setPending,
    problems,
    warnings,
    refused,
    undo,
    redo,
    canUndo,
    canRedo,
  }
}

export type Editing = ReturnType<typeof useEditing>

const EditingContext = createContext<Editing | null>(null)
export const EditingProvider = EditingContext.Provider
/** The state of the editor that contains the component. */
export const useEditor = (): Editing => useContext(EditingContext)!

export const useStepTexts = (): StepTexts => useTextsOf(useEditor().workflow)

/** Problems that the server found in the saved steps. Unsaved changes may have fixed them. */
const serverWarnings = ({ problems }: Workflow, isDirty: boolean): [string, string][] =>
  isDirty ? [] : problems.flatMap(({ stepId, message }) => (stepId ? [[stepId, message]] : []))

function useHistory(draft: Draft<Graph>) {
  const [history, setHistory] = useState(NO_HISTORY)
  function change(graph: Graph, what: string) {
    setHistory(recordChange(history, draft.values, what, Date.now()))
    draft.set(graph)
  }
  function go(moved: ReturnType<typeof undoChange>) {
    if (!moved) return false
    setHistory(moved.history)
    draft.set(moved.graph)
    return true
  }
  const undo = () => go(undoChange(history, draft.values))
  const redo = () => go(redoChange(history, draft.values))
  // In a text field the keys undo typing.
  const unlessTyping = (run: () => unknown) => (event: KeyboardEvent) => (isTextField(event.target) ? false : run())
  useShortcuts([
    { keys: 'mod+z', label: 'Undo', group: 'Editor', run: (event) => unlessTyping(event.shiftKey ? redo : undo)(event) },
    { keys: 'mod+y', label: 'Redo', group: 'Editor', run: unlessTyping(redo) },
  ])
  return { change, undo, redo, canUndo: history.past.length > 0, canRedo: history.future.length > 0 }
}

const isTextField = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  target.matches('input:not([type=checkbox],[type=radio]), textarea, [contenteditable=true] *, [contenteditable=true]')
