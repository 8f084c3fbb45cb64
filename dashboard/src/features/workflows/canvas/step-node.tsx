import type { NodeProps } from '@xyflow/react'
import { TriangleAlert } from 'lucide-react'
import { memo, useContext } from 'react'
import { FigureLinks } from '../steps/step-counts.tsx'
import { STEP_VIEWS } from '../steps/views.ts'
import { CanvasContext } from './canvas-context.ts'
import type { StepData, StepLook, StepNodeData } from './nodes.ts'

const LOOKS: Record<StepLook, string> = {
  plain: 'border-line bg-surface',
  lost: 'border-danger border-dashed bg-danger-soft opacity-70',
  moving: 'border-accent border-dashed bg-accent-soft',
  added: 'border-good bg-good-soft',
  changed: 'border-warning bg-warning-soft',
  removed: 'border-danger border-dashed bg-danger-soft',
  on: 'border-accent bg-surface',
  here: 'border-accent bg-accent-soft',
  off: 'border-line bg-surface opacity-50',
}
const WORDS: Partial<Record<StepLook, string>> = {
  lost: 'will be deleted',
  moving: 'is moved',
  added: 'added',
  changed: 'changed',
  removed: 'removed',
  here: 'is here',
}

/** A step on the canvas. Rendered again only when its data changes, not when it is placed elsewhere. */
export const StepNode = memo(
  ({ data }: NodeProps<StepNodeData>) => <StepBody {...data} />,
  (before, after) => before.data === after.data,
)

function StepBody({ step, title, text, look, note, noteTone, isChosen, isEntry, figures }: StepData) {
  const { choose, workflowId } = useContext(CanvasContext)!
  const { Icon } = STEP_VIEWS[step.type]
  return (
    <div
      className={`pointer-events-auto flex size-full flex-col justify-center rounded-xl border px-3 shadow-sm ${LOOKS[look]} ${isChosen ? 'ring-2 ring-accent' : note && noteTone === 'warning' && look === 'plain' ? 'border-warning' : ''}`}
    >
      <div className="relative flex items-center gap-3">
        <span className="flex size-8 shrink-0 items-center justify-center rounded-lg bg-accent-soft text-accent">
          <Icon className="size-4" aria-hidden="true" />
        </span>
        <button
          type="button"
          data-step={step.id}
          tabIndex={isEntry ? 0 : -1}
          aria-pressed={isChosen}
          onClick={() => choose(step.id)}
          className="nopan min-w-0 flex-1 rounded-sm text-left after:absolute after:-inset-x-3 after:-inset-y-4"
        >
          <span className="block truncate font-medium text-ui">{title}</span>
          <span className="block truncate text-muted text-xs">{text}</span>
          <span className="sr-only">{[WORDS[look], note].filter(Boolean).join('. ')}</span>
        </button>
        {WORDS[look] && (
          <span aria-hidden="true" className="shrink-0 rounded-sm bg-surface px-1.5 text-xs">
            {WORDS[look]}
          </span>
        )}
      </div>
      {note && (
        <p className={`mt-1 flex items-center gap-1 text-xs ${noteTone === 'warning' ? 'text-warning' : 'text-muted'}`} title={note}>
          {noteTone === 'warning' && <TriangleAlert className="size-3.5 shrink-0" aria-hidden="true" />}
          <span className="truncate">{note}</span>
        </p>
      )}
      {figures && (
        <div className="nopan relative z-10 mt-0.5 flex flex-wrap gap-x-3 text-xs">
          <FigureLinks step={step} workflowId={workflowId} figures={figures} />
        </div>
      )}
    </div>
  )
}
