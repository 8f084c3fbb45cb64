import { type KeyboardEvent, lazy, Suspense, useCallback, useMemo, useRef, useState } from 'react'
import { useShortcuts } from '../../../ui/shortcuts/shortcuts.ts'
import type { StepMarks } from '../canvas/nodes.ts'
import { lostSteps } from '../commands/commands.ts'
import { extentOf } from '../commands/fragment.ts'
import { branchesOf } from '../graph/branches.ts'
import { asidesOf, type Place, stepById, transitionAt } from '../graph/graph.ts'
import { Inspector } from './inspector.tsx'
import { useEditor, useStepTexts } from './use-editing.ts'

const WorkflowCanvas = lazy(() => import('../canvas/workflow-canvas.tsx'))
const PlaceButtons = lazy(async () => ({ default: (await import('./place-buttons.tsx')).PlaceButtons }))

/** The canvas on which a workflow is built, with the form of the chosen step beside it. */
export function BuildCanvas() {
  const editor = useEditor()
  const { workflow, graph, chosen, choose, pending, setPending, run, copy, paste } = editor
  const texts = useStepTexts()
  const marks = useBuildMarks()
  const [openPlace, setOpenPlace] = useState<Place>()
  const panel = useRef<HTMLElement>(null)
  const focusPanel = () => panel.current?.querySelector<HTMLElement>('input, select, textarea, button')?.focus()

  // From anywhere beside the canvas back to the step, also when the element with the focus is gone.
  useShortcuts([
    {
      keys: 'Escape',
      run: () => chosen !== undefined && document.querySelector<HTMLElement>(`[data-step="${chosen.id}"]`)?.focus({ preventScroll: true }),
    },
  ])

  /** Closing a menu without a choice returns to the button that opened it. */
  function onPlace(place: Place | undefined) {
    const closed = openPlace
    setOpenPlace(place)
    if (!place && closed) requestAnimationFrame(() => focusIfLost(`${closed.fromStepId} ${closed.branch ?? ''}`))
  }
  function onStepKey(event: KeyboardEvent, stepId: string): boolean {
    const isModified = event.metaKey || event.ctrlKey
    const step = stepById(graph, stepId)
    if (!step) return false
    const isOwn = step.type !== 'TRIGGER'
    const key = isModified ? `mod+${event.key.toLowerCase()}` : event.key
    if (key === '+') setOpenPlace(placeToAdd(stepId))
    else if (key === 'Enter') {
      choose(stepId)
      requestAnimationFrame(focusPanel)
    } else if (key === 'Escape') pending ? setPending(undefined) : choose(undefined)
    else if (key === 'mod+v') pasteAfter(stepId)
    else if (!isOwn) return false
    else if (key === 'Delete' || key === 'Backspace') ask('remove', stepId)
    else if (key === 'm') ask('move', stepId)
    else if (key === 'mod+c') copy(stepId, event.shiftKey ? 'rest' : 'step')
    else if (key === 'mod+x') cut(stepId)
    else return false
    return true
  }
  function ask(what: 'remove' | 'move', stepId: string) {
    choose(stepId)
    setPending({ do: what, stepId, extent: 'step' })
  }
  function cut(stepId: string) {
    copy(stepId, 'step')
    editor.remove({ stepId, extent: 'step' })
  }
  function pasteAfter(stepId: string) {
    const place = placeToAdd(stepId)
    if (place) paste(place)
  }
  /** The first open end below a step, else its first branch. */
  function placeToAdd(stepId: string): Place | undefined {
    const places = branchesOf(stepById(graph, stepId)!).map(({ branch }) => ({ fromStepId: stepId, branch }))
    return places.find((place) => place.branch !== 'timeout' && !transitionAt(graph, place)) ?? places[0]
  }
  const nameOf = useCallback((id: string) => stepById(graph, id)?.name ?? '', [graph])
  return (
    <div className="flex min-h-0 flex-1">
      <div className="min-w-0 flex-1">
        <Suspense
          fallback={
            <p role="status" className="p-6 text-muted text-ui">
              Loading…
            </p>
          }
        >
          <WorkflowCanvas
            label="Steps of the workflow"
            workflowId={workflow.id}
            graph={graph}
            texts={texts}
            chosen={chosen?.id}
            onChoose={choose}
            marks={marks}
            onStepKey={onStepKey}
            onPlace={onPlace}
            onMoveTo={(place) => pending && run({ ...pending, do: 'move', place })}
          >
            {(layout) => (
              <PlaceButtons
                layout={layout}
                nameOf={nameOf}
                asides={asidesOf(graph)}
                openPlace={openPlace}
                isMoving={pending?.do === 'move'}
              />
            )}
          </WorkflowCanvas>
        </Suspense>
      </div>
      <Inspector ref={panel} />
    </div>
  )
}

/** The focus is on nothing after its element went away. */
function focusIfLost(place: string) {
  if (document.activeElement === document.body)
    document.querySelector<HTMLElement>(`[data-place="${place}"]`)?.focus({ preventScroll: true })
}

/** Problems at their steps, and what a removal or a move concerns. */
function useBuildMarks(): StepMarks {
  const { graph, problems, warnings, refused, pending } = useEditor()
  return useMemo(() => {
    const concerned = new Set(
      pending?.do === 'remove'
        ? lostSteps(graph, { ...pending, do: 'remove' }).map(({ id }) => id)
        : pending
          ? extentOf(graph, pending.stepId, pending.extent).ids
          : [],
    )
    return {
      lookOf: (id) => (concerned.has(id) ? (pending?.do === 'remove' ? 'lost' : 'moving') : undefined),
      noteOf: (id) => {
        const words = refused.get(id) ?? problems.get(id) ?? warnings.get(id)
        return words === undefined ? undefined : { tone: 'warning', words }
      },
    }
  }, [graph, problems, warnings, refused, pending])
}
