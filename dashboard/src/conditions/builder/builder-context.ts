import { createContext, useContext } from 'react'
import type { FieldCatalog } from './fields.ts'
import type { Tree } from './tree.ts'

/** Where the focus goes after an edit: to the line with this key, or to the button that adds the first one. */
export type FocusTarget = { line: string; open?: boolean } | 'add'

type Builder = {
  catalog: FieldCatalog
  /** Never changes, so that rows are not rendered again. `what` names the input that is typed into. */
  edit: (change: (tree: Tree) => Tree, what?: string) => void
  /** Moves the focus once the edit is shown. */
  focus: (target: FocusTarget) => void
}

export const BuilderContext = createContext<Builder | null>(null)

export function useBuilder(): Builder {
  const builder = useContext(BuilderContext)
  if (!builder) throw new Error('outside of a ConditionBuilder')
  return builder
}
