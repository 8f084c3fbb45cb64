import { List, Workflow as WorkflowIcon } from 'lucide-react'
import { useSyncExternalStore } from 'react'
import { IconButton } from '../../../ui/form/button.tsx'

export type View = 'canvas' | 'list'

/** Below this there is no room for a canvas with a form beside it. */
const WIDE = '(min-width: 48rem)'
const STORED = 'sterna.workflow-view'
const listeners = new Set<() => void>()

function subscribe(listener: () => void) {
  const wide = matchMedia(WIDE)
  listeners.add(listener)
  wide.addEventListener('change', listener)
  return () => {
    listeners.delete(listener)
    wide.removeEventListener('change', listener)
  }
}

function currentView(): View {
  if (!matchMedia(WIDE).matches) return 'list'
  try {
    return localStorage.getItem(STORED) === 'list' ? 'list' : 'canvas'
  } catch {
    return 'canvas' // storage is blocked
  }
}

function chooseView(view: View) {
  try {
    localStorage.setItem(STORED, view)
  } catch {
    // Storage is blocked: the view stays as it is.
  }
  for (const listener of listeners) listener()
}

/** A phone shows the list. Elsewhere the choice of the user is kept in the browser. */
export const useStepView = (): View => useSyncExternalStore(subscribe, currentView)

export function ViewSwitch() {
  const view = useStepView()
  return (
    <span className="max-md:hidden">
      {view === 'canvas' ? (
        <IconButton label="Show as list" onClick={() => chooseView('list')}>
          <List />
        </IconButton>
      ) : (
        <IconButton label="Show as canvas" onClick={() => chooseView('canvas')}>
          <WorkflowIcon />
        </IconButton>
      )}
    </span>
  )
}
