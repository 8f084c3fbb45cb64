import { ClipboardCopy, Ellipsis, MoveVertical, Trash2 } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { Menu, MenuItem } from '../../../ui/dialog/menu.tsx'
import { toast } from '../../../ui/dialog/toast.tsx'
import { Button, IconButton } from '../../../ui/form/button.tsx'
import { applyCommand, lostSteps } from '../commands/commands.ts'
import { type Extent, extentOf } from '../commands/fragment.ts'
import { type Graph, type Step, stepById } from '../graph/graph.ts'
import { type Pending, useEditor } from './use-editing.ts'

/** Copy, move and delete one step, or everything from it on. */
export function StepActions({ step }: { step: Step }) {
  const { graph, copy, pending, setPending } = useEditor()
  const follows = extentOf(graph, step.id, 'rest').ids.size > extentOf(graph, step.id, 'step').ids.size
  const copySteps = (extent: Extent) => {
    copy(step.id, extent)
    toast(`“${step.name}” is copied. Paste it at any + of this or another workflow.`)
  }
  if (pending?.stepId === step.id) return <PendingAction pending={pending} step={step} />
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Button size="sm" onClick={() => copySteps('step')}>
        <ClipboardCopy aria-hidden="true" />
        Copy
      </Button>
      <Button size="sm" onClick={() => setPending({ do: 'move', stepId: step.id, extent: 'step' })}>
        <MoveVertical aria-hidden="true" />
        Move…
      </Button>
      <Button size="sm" onClick={() => setPending({ do: 'remove', stepId: step.id, extent: 'step' })}>
        <Trash2 aria-hidden="true" />
        Delete…
      </Button>
      {follows && (
        <Menu
          align="end"
          trigger={
            <IconButton label={`From ${step.name} on`}>
              <Ellipsis />
            </IconButton>
          }
        >
          <MenuItem onSelect={() => copySteps('rest')}>Copy everything from here on</MenuItem>
          <MenuItem onSelect={() => setPending({ do: 'move', stepId: step.id, extent: 'rest' })}>Move everything from here on…</MenuItem>
          <MenuItem onSelect={() => setPending({ do: 'remove', stepId: step.id, extent: 'rest' })}>
            Delete everything from here on…
          </MenuItem>
        </Menu>
      )}
    </div>
  )
}

/** The consequences, before the action. */
function PendingAction({ pending, step }: { pending: Pending; step: Step }) {
  const { graph, remove, setPending } = useEditor()
  const main = useRef<HTMLButtonElement>(null)
  useEffect(() => main.current?.focus({ preventScroll: true }), [])
  const isMove = pending.do === 'move'
  return (
    <div className="space-y-2 rounded-lg bg-warning-soft p-3 text-ui">
      <p role="status">{isMove ? 'Choose a + to move it there. It keeps its figures.' : describeRemoval(graph, step, pending.extent)}</p>
      <div className="flex gap-2">
        {!isMove && (
          <Button ref={main} size="sm" variant="danger" onClick={() => remove(pending)}>
            Delete
          </Button>
        )}
        <Button {...(isMove && { ref: main })} size="sm" onClick={() => setPending(undefined)}>
          Cancel
        </Button>
      </div>
    </div>
  )
}

/** The steps that are deleted with a step, and the step that follows the one before it. */
function describeRemoval(graph: Graph, step: Step, extent: Extent): string {
  const command = { do: 'remove', stepId: step.id, extent } as const
  const others = lostSteps(graph, command).filter(({ id }) => id !== step.id)
  const after = applyCommand(graph, command)
  const into = graph.transitions.find(({ toStepId }) => toStepId === step.id)
  const next = stepById(after, after.transitions.find(({ id }) => id === into?.id)?.toStepId)
  const gone = others.length > 0 ? ` Also deleted: ${others.map(({ name }) => `“${name}”`).join(', ')}.` : ''
  const before = into && stepById(graph, into.fromStepId)
  const then = before ? (next ? ` “${before.name}” then leads to “${next.name}”.` : ` “${before.name}” then ends the branch.`) : ''
  return `Delete “${step.name}”?${gone}${then}`
}
