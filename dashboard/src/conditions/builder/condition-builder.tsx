import { Plus } from 'lucide-react'
import { type RefObject, useCallback, useEffect, useMemo, useRef } from 'react'
import { Button } from '../../ui/form/button.tsx'
import { BuilderContext, type FocusTarget, useBuilder } from './builder-context.ts'
import type { FieldCatalog } from './fields.ts'
import { Groups } from './group.tsx'
import { addGroup, blankFilter, countFilters, keyOf, type Tree } from './tree.ts'

/** Refusals of the server, by the paths of filters below the condition: `groups.0.filters.1`. */
export type Problems = ReadonlyMap<string, string>
const NO_PROBLEMS: Problems = new Map()

/** The maximum of the server. */
const MAX_FILTERS = 100

type ConditionBuilderProps = {
  tree: Tree
  /** `what` names the input that is typed into, for an editor with undo. */
  onTree: (tree: Tree, what?: string) => void
  catalog: FieldCatalog
  problems?: Problems
}

/** A condition as lines of field, comparison and value, in groups. Parts that it cannot show stay as they are. */
export function ConditionBuilder({ tree, onTree, catalog, problems = NO_PROBLEMS }: ConditionBuilderProps) {
  const root = useRef<HTMLDivElement>(null)
  const latest = useRef({ tree, onTree })
  latest.current = { tree, onTree }
  const edit = useCallback((change: (tree: Tree) => Tree, what?: string) => {
    const next = change(latest.current.tree)
    latest.current.tree = next
    latest.current.onTree(next, what)
  }, [])
  const focus = useFocusAfterEdit(root)
  const builder = useMemo(() => ({ catalog, edit, focus }), [catalog, edit, focus])
  return (
    <BuilderContext value={builder}>
      <div ref={root}>
        {tree.groups.length === 0 ? (
          <AddFirstLine />
        ) : (
          <Groups tree={tree} path="" problems={problems} isFull={countFilters(tree) >= MAX_FILTERS} />
        )}
      </div>
    </BuilderContext>
  )
}

function AddFirstLine() {
  const { edit, focus } = useBuilder()
  function add() {
    const first = blankFilter()
    edit((tree) => addGroup(tree, [], first))
    focus({ line: keyOf(first), open: true })
  }
  return (
    <div className="flex flex-col items-start gap-3 rounded-lg border border-line border-dashed p-4">
      <p className="text-muted text-ui">No lines yet. A line is a field, a comparison and a value, such as “plan is pro”.</p>
      <Button data-add-line="" onClick={add}>
        <Plus aria-hidden="true" />
        Add a line
      </Button>
    </div>
  )
}

/** Moves the focus after the next rendering. Without it, removing a line would leave the focus nowhere. */
function useFocusAfterEdit(root: RefObject<HTMLElement | null>) {
  const wanted = useRef<FocusTarget | undefined>(undefined)
  useEffect(() => {
    const target = wanted.current
    wanted.current = undefined
    if (!target) return
    const selector = target === 'add' ? '[data-add-line]' : `[data-line="${target.line}"] button`
    const found = root.current?.querySelector<HTMLElement>(selector)
    found?.focus()
    if (target !== 'add' && target.open) found?.click()
  })
  return useCallback((target: FocusTarget) => {
    wanted.current = target
  }, [])
}
