import { X } from 'lucide-react'
import { type RefObject, useEffect } from 'react'
import { IconButton } from '../../../ui/form/button.tsx'
import { Kbd } from '../../../ui/shortcuts/kbd.tsx'
import { STEP_VIEWS } from '../steps/views.ts'
import { ProblemList } from './problem-list.tsx'
import { StepForm } from './step-form.tsx'
import { useEditor } from './use-editing.ts'

/** Beside the canvas: the form of the chosen step, or the problems of all steps. */
export function Inspector({ ref }: { ref: RefObject<HTMLElement | null> }) {
  const { chosen, choose, addedId } = useEditor()
  // A new step is to be filled in next.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the choice of another step moves the focus
  useEffect(() => {
    if (chosen && chosen.id === addedId) ref.current?.querySelector<HTMLElement>('input, select, textarea')?.focus()
  }, [chosen?.id, addedId])
  return (
    <aside
      ref={ref}
      aria-label={chosen ? 'Step' : 'Workflow'}
      onKeyDown={(event) => {
        // A popup has closed itself by then.
        if (event.key !== 'Escape' || event.defaultPrevented || !chosen) return
        event.stopPropagation()
        document.querySelector<HTMLElement>(`[data-step="${chosen.id}"]`)?.focus({ preventScroll: true })
      }}
      className="w-88 shrink-0 overflow-y-auto border-line border-l bg-surface xl:w-104"
    >
      {chosen ? (
        <div className="p-4">
          <div className="mb-3 flex items-center justify-between gap-2">
            <h2 className="font-semibold text-sm">{STEP_VIEWS[chosen.type].word}</h2>
            <IconButton label="Close" onClick={() => choose(undefined)}>
              <X />
            </IconButton>
          </div>
          <StepForm key={chosen.id} step={chosen} />
        </div>
      ) : (
        <div className="space-y-4 p-4">
          <ProblemList />
          <KeyHelp />
        </div>
      )}
    </aside>
  )
}

const KEYS: [keys: string[], what: string][] = [
  [['↑', '↓', '←', '→'], 'from step to step'],
  [['Enter', 'Escape'], 'to its form and back'],
  [['+'], 'add a step after it'],
  [['M'], 'move it'],
  [['Delete'], 'delete it; what is deleted with it is shown first'],
  [['mod+c', 'mod+x', 'mod+v'], 'copy, cut, paste'],
  [['mod+z', 'mod+y'], 'undo, redo'],
]

function KeyHelp() {
  return (
    <section aria-labelledby="canvas-keys" className="space-y-2">
      <p className="text-muted text-ui">Choose a step to change it, or a + to add one. A phone shows the same steps as a list.</p>
      <h2 id="canvas-keys" className="font-semibold text-sm">
        Keys
      </h2>
      <dl className="space-y-1 text-ui">
        {KEYS.map(([keys, what]) => (
          <div key={what} className="flex items-baseline gap-2">
            <dt className="flex w-32 shrink-0 flex-wrap gap-1">
              {keys.map((each) => (
                <Kbd key={each} keys={each} />
              ))}
            </dt>
            <dd className="text-muted">{what}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
