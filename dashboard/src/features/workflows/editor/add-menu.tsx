import { ClipboardPaste, CornerDownRight } from 'lucide-react'
import { MenuItem, MenuLabel, MenuSeparator } from '../../../ui/dialog/menu.tsx'
import { type Place, targetsOf, transitionAt } from '../graph/graph.ts'
import { addableSteps, STEP_VIEWS } from '../steps/views.ts'
import { nameOfCopied } from './clipboard.ts'
import { useEditor } from './use-editing.ts'

/** The entries of the menu of a place: new steps, copied ones, and existing steps to continue at. */
export function AddMenuItems({ place }: { place: Place }) {
  const { graph, add, paste, run } = useEditor()
  const isOpenEnd = transitionAt(graph, place) === undefined
  const copied = nameOfCopied()
  const targets = isOpenEnd ? targetsOf(graph, place) : []
  return (
    <>
      {addableSteps({ isOpenEnd }).map((addable) => {
        const { Icon, word } = STEP_VIEWS[addable.type]
        return (
          <MenuItem key={addable.type} onSelect={() => add(place, addable)}>
            <Icon aria-hidden="true" />
            {word}
          </MenuItem>
        )
      })}
      {copied !== undefined && (
        <>
          <MenuSeparator />
          <MenuItem onSelect={() => paste(place)}>
            <ClipboardPaste aria-hidden="true" />
            <span className="truncate">Paste “{copied}”</span>
          </MenuItem>
        </>
      )}
      {targets.length > 0 && (
        <>
          <MenuSeparator />
          <MenuLabel>Continue at</MenuLabel>
        </>
      )}
      {targets.map((step) => (
        <MenuItem key={step.id} onSelect={() => run({ do: 'connect', place, to: step.id })}>
          <CornerDownRight aria-hidden="true" />
          <span className="truncate">{step.name}</span>
        </MenuItem>
      ))}
    </>
  )
}
